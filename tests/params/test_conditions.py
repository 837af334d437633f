from __future__ import annotations

import pytest

from fedtext.params.compare import Claim, Compare
from fedtext.params.conditions import BESIDE, CONDITIONS, CONTROLS, JUDGED, Role
from tests.refusals import refuses


def test_every_condition_is_told_apart_in_words() -> None:
    for word in ("title", "label"):
        assert len({getattr(one, word) for one in CONDITIONS.values()}) == len(CONDITIONS)
    assert all(one.phrase for one in CONTROLS)
    assert all(one.made for one in JUDGED)
    assert all(name == one.name for name, one in CONDITIONS.items())


def test_what_is_scored_beside_an_entry_is_everything_but_what_an_algorithm_made() -> None:
    assert set(BESIDE) == set(CONDITIONS) - {one.name for one in JUDGED}
    assert {name for name, one in CONDITIONS.items() if one.role is Role.CEILING} == {"private", "neural_reward"}


@pytest.mark.parametrize(("name", "expected"), [("eps0", 0.0), ("matched_control", 2.0), ("private", None)])
def test_a_condition_costs_what_it_spends(name: str, expected: float | None) -> None:
    assert CONDITIONS[name].spent(2.0) == expected


@pytest.mark.parametrize("name", list(CONDITIONS))
def test_no_entry_is_called_like_a_condition(name: str) -> None:
    with refuses("unusable-entry-name"):
        Compare.model_validate(
            {"algorithms": name, "seeds": "1", "entries": {name: {"algorithm": "popri", "params": {}}}}
        )


@pytest.mark.parametrize("name", BESIDE)
def test_a_claim_may_name_any_condition_beside_an_entry(name: str) -> None:
    assert Claim(says="x", better=name, worse="popri", relation="more", measures=()).entry == "popri"
    assert Claim(says="x", better="popri", worse=name, relation="more", measures="top_1 fid").measures == (
        "top_1",
        "fid",
    )
