"""Private samples: units, label codes that any declaration can be matched to, and who is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.federation.private_samples import PrivateSamples, asked_units, class_index, label_codes
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key

ARRAYS = {
    "features": np.eye(4),
    "client": np.array([0, 0, 2, 2]),
    "label": label_codes(["b", None, "a", "z"]),
}


def ledger(population: int, **declared: object) -> Ledger:
    return Ledger(declaration=Privacy.model_validate({"epsilon": 1, "delta": 1e-6, **declared}), population=population)


def test_a_unit_is_a_client_or_a_record() -> None:
    by_client, by_record = (PrivateSamples.of(ARRAYS, ("a", "b"), unit) for unit in ("client", "record"))
    assert (by_client.unit.tolist(), by_client.units) == ([0, 0, 2, 2], 3)
    assert (by_record.unit.tolist(), by_record.units) == ([0, 1, 2, 3], 4)
    assert by_client.label.tolist() == by_record.label.tolist() == [1, -1, 0, -1]


def test_chosen_units_keep_their_numbers() -> None:
    kept = PrivateSamples.of(ARRAYS, (), "client").of_units(np.array([1, 2]))
    assert (kept.unit.tolist(), kept.units, kept.label.tolist()) == ([2, 2], 3, [0, 0])


@given(
    labels=st.lists(st.none() | st.text(max_size=4), max_size=12), classes=st.lists(st.text(max_size=4), unique=True)
)
def test_a_label_s_index_is_its_position_among_the_declared_classes(
    labels: list[str | None], classes: list[str]
) -> None:
    expected = [classes.index(label) if label in classes else -1 for label in labels] if classes else [0] * len(labels)
    found = class_index(label_codes(labels), classes)
    assert found.dtype == np.int64
    assert found.tolist() == expected


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_every_release_has_a_draw_of_its_own(sampling: str) -> None:
    """Composition takes the draws of two releases to be independent: whatever tells them apart must change the draw."""

    def drawn(key: int = 0, declared: Mapping[str, Any] | None = None, **changed: Any) -> tuple[int, ...]:
        opened = ledger(60, **{"sampling": sampling, "clients_per_round": 20, **(declared or {})})
        release = {"name": "a.sum", "round": 1, "settings": "{}", "input_digest": "ab", **changed}
        return tuple(asked_units(60, opened, new_noise_key(key), **release))

    others = [drawn(key=1), drawn(declared={"epsilon": 2}), drawn(declared={"clients_per_round": 21})]
    others += [drawn(name="b.sum"), drawn(round=2), drawn(settings='{"clip": 2}'), drawn(input_digest="cd")]
    assert drawn() == drawn()
    assert len({drawn(), *others}) == 1 + len(others)
    overlaps = [len(set(drawn()) & set(other)) for other in others]
    assert max(overlaps) < 15, "nor is one draw part of another"


def test_more_units_than_the_ledger_prices_are_refused() -> None:
    with pytest.raises(ValueError, match="opened for 5"):
        asked_units(6, ledger(5), new_noise_key(0), name="sum", round=1, settings="", input_digest="")
