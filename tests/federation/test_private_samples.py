"""Private samples: units, label codes that any declaration can be matched to, who is enrolled, and who is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.federation.private_samples import (
    PrivateSamples,
    asked_units,
    class_index,
    enrolled_units,
    label_codes,
)
from fedtext.federation.query import Query
from fedtext.federation.units import silent_codes, unit_codes
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

CLIENTS, RECORDS = np.array([7, 7, 2, 2]), np.array([11, 12, 13, 14])
ARRAYS = {
    "features": np.eye(4),
    "client": CLIENTS,
    "record": RECORDS,
    "label": label_codes(["b", None, "a", "z"]),
}
SIXTY = np.sort(unit_codes([f"client {i}" for i in range(60)]))


def ledger(population: int, **declared: object) -> Ledger:
    return Ledger(declaration=conf_base(Privacy, {"epsilon": 1, "delta": 1e-6, **declared}), population=population)


def holding(units: np.ndarray, enrolled: np.ndarray | None = None) -> PrivateSamples:
    """One sample a unit."""
    labels = np.zeros(len(units), dtype=np.int64)
    return PrivateSamples(np.ones((len(units), 2)), units, labels, units if enrolled is None else enrolled)


def test_a_unit_is_a_client_or_a_record() -> None:
    by_client = PrivateSamples.of(ARRAYS, ("a", "b"), "client", np.array([2, 7, 9]))
    by_record = PrivateSamples.of(ARRAYS, ("a", "b"), "record", RECORDS)
    assert (by_client.unit.tolist(), by_client.enrolled.tolist()) == ([7, 7, 2, 2], [2, 7, 9])
    assert (by_record.unit.tolist(), by_record.enrolled.tolist()) == ([11, 12, 13, 14], [11, 12, 13, 14])
    assert by_client.label.tolist() == by_record.label.tolist() == [1, -1, 0, -1]


def test_chosen_units_keep_their_codes_and_everybody_stays_enrolled() -> None:
    kept = PrivateSamples.of(ARRAYS, (), "client", np.array([2, 7, 9])).of_units(np.array([2, 9]))
    assert (kept.unit.tolist(), kept.enrolled.tolist(), kept.label.tolist()) == ([2, 2], [2, 7, 9], [0, 0])


def test_samples_are_told_apart_by_class() -> None:
    samples = PrivateSamples.of(ARRAYS, ("a", "b"), "client", np.array([2, 7]))
    assert [samples.of_class(c).unit.tolist() for c in (0, 1, -1)] == [[2], [7], [7, 2]]


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


_TOLD = ("settings", "public_digest")


def asked(samples: PrivateSamples, opened: Ledger, key: int = 0, **changed: Any) -> np.ndarray:
    told = {"settings": "{}", "public_digest": "ab"} | {k: changed.pop(k) for k in _TOLD if k in changed}
    query = Query(**{"name": "a.sum", "round": 1, "dim": 4, "clip_norm": 1.0, "noise_multiplier": 9.0, **changed})
    return asked_units(samples, opened, new_noise_key(key), query.about(**told))


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_every_release_has_a_draw_of_its_own(sampling: str) -> None:
    """Composition takes the draws of two releases to be independent: whatever tells them apart must change the draw."""

    def drawn(key: int = 0, declared: Mapping[str, Any] | None = None, **changed: Any) -> tuple[int, ...]:
        of = changed.pop("population", 60)
        opened = ledger(of, **{"sampling": sampling, "clients_per_round": 20, **(declared or {})})
        return tuple(asked(holding(SIXTY), opened, key, **changed))

    others = [drawn(key=1), drawn(declared={"epsilon": 2}), drawn(declared={"clients_per_round": 21})]
    others += [drawn(name="b.sum"), drawn(round=2), drawn(settings='{"clip": 2}'), drawn(public_digest="cd")]
    others += [drawn(noise_multiplier=9.1), drawn(clip_norm=2.0), drawn(dim=5), drawn(non_negative=True)]
    others += [drawn(population=61)]
    assert drawn() == drawn()
    assert len({drawn(), *others}) == 1 + len(others)
    overlaps = [len(set(drawn()) & set(other)) for other in others]
    assert max(overlaps) < 15, "nor is one draw part of another"


@pytest.mark.parametrize("sampling", ["full", "poisson", "fixed_size"])
def test_what_clients_hold_and_whether_they_hold_anything_decides_no_draw(sampling: str) -> None:
    opened = ledger(60, sampling=sampling, clients_per_round=None if sampling == "full" else 20)
    whole = holding(SIXTY)
    other_text = PrivateSamples(whole.features * 2, whole.unit, whole.label, whole.enrolled)
    silent = holding(SIXTY[:10], SIXTY)
    assert np.array_equal(asked(other_text, opened), asked(whole, opened))
    assert np.array_equal(asked(silent, opened), asked(whole, opened))


def test_a_client_that_goes_moves_no_other_s_poisson_lot() -> None:
    opened = ledger(60, sampling="poisson", clients_per_round=20)
    everybody, without = asked(holding(SIXTY), opened), asked(holding(np.delete(SIXTY, 5)), opened)
    assert np.array_equal(np.setdiff1d(everybody, SIXTY[5]), np.intersect1d(without, SIXTY))


def test_everybody_who_is_enrolled_may_be_asked_and_unknown_ones_have_made_up_codes() -> None:
    assert enrolled_units(holding(SIXTY[:2], SIXTY), ledger(60)).tolist() == SIXTY.tolist()
    filled = enrolled_units(holding(SIXTY[:3]), ledger(5))
    assert filled.tolist() == sorted([*SIXTY[:3].tolist(), *silent_codes(2).tolist()])
    assert len(asked(holding(SIXTY[:3]), ledger(5))) == 5, "silent ones are asked as well"


def test_more_units_than_the_ledger_prices_are_refused() -> None:
    with pytest.raises(ValueError, match=r"more clients hold samples than the 5 .*privacy\.population"):
        asked(holding(SIXTY[:6]), ledger(5))
    by_chance = Ledger(declaration=conf_base(Privacy, epsilon=1, delta=1e-6, population=8), population=5)
    assert len(asked(holding(SIXTY[:6]), by_chance)) == 6, "of a declared number a part is by chance"


def test_units_that_hold_samples_and_are_not_enrolled_are_refused() -> None:
    with pytest.raises(ValueError, match=r"some clients hold samples and are not enrolled: .*privacy\.enrolment"):
        asked(holding(SIXTY[:6], SIXTY[:5]), ledger(60))
    with pytest.raises(ValueError, match="some records hold samples"):
        asked(holding(SIXTY[:6], SIXTY[:5]), ledger(60, unit="record"))
