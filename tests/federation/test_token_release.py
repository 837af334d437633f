"""The door of private prediction: the right law, one unit moves its group alone by its clip at most, one price before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.federation import charged_release
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.token_release import (
    GRID,
    Candidates,
    PlannedTokens,
    group_of,
    on_grid,
    planned_tokens,
    release_texts,
)
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy
from fedtext.privacy.budget_guard import NoBudgetGuard, guarding
from fedtext.privacy.dominating_pairs import gaussian_shift
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Release, open_ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base
from tests.refusals import refuses

KEY = new_noise_key(5)
WORDS, UNITS = 4, 40
PUBLIC = np.array([0.3, -0.2, 0.0, 0.1])


def declared(**changes: Any) -> Privacy:
    base = {"epsilon": 1.0, "delta": 1e-4, "noise_seed": 5, "aggregation": "trusted", "population": UNITS}
    return conf_base(Privacy, base | changes)


def planned(privacy: Privacy | None = None, **changes: Any) -> PlannedTokens:
    sizes: dict[str, Any] = {"group_size": 10, "groups": 4, "texts": 1, "tokens": 3, "temperature": 1.0, **changes}
    shift = sizes.pop("shift", gaussian_shift(1.0, 1e-4))
    return planned_tokens("test.tokens", privacy or declared(), shift=shift, **sizes)


def held(count: int = UNITS) -> PrivateSamples:
    return PrivateSamples.of_one_class(np.eye(WORDS)[np.arange(count) % WORDS], np.arange(count))


class Fixed:
    """A reader whose units each want their own word, by `loud` nats."""

    def __init__(self, own: PrivateSamples, loud: float = 100.0, ends_after: int = 99) -> None:
        self.own, self.loud, self.ends_after = own, loud, ends_after

    def candidates(self, written: Sequence[int]) -> Candidates | None:
        return None if len(written) >= self.ends_after else Candidates(np.arange(10, 10 + WORDS), PUBLIC)

    def contributions(self, candidates: Candidates) -> Block:
        return Block(self.own.unit, self.loud * self.own.features)


def written(
    plan: PlannedTokens,
    samples: PrivateSamples,
    reader: Callable[[PrivateSamples], Any] = Fixed,
    epsilon: float = 1.0,
) -> tuple[list[list[int]], Ledger]:
    ledger = open_ledger(declared(epsilon=epsilon), UNITS, [plan.release])
    return release_texts(plan, lambda own, *_: reader(own), samples, ledger, KEY)


def test_tokens_are_drawn_by_public_odds_and_the_mean_over_the_declared_group() -> None:
    """A group of nobody has the public odds; one of ten, declared as ten, those that its clipped mean adds."""
    plan = planned(groups=1, texts=100, tokens=4, shift=3.0)
    clip = plan.query.clip_norm
    for count in (0, 8):
        samples = PrivateSamples(
            np.tile(np.eye(WORDS)[0], (count, 1)), np.arange(count), np.zeros(count, int), np.arange(UNITS)
        )
        texts, _ = written(plan, samples, epsilon=20.0)
        counts = np.bincount(np.ravel(texts) - 10, minlength=WORDS)
        weights = np.exp(PUBLIC + np.array([count * clip / 10, 0, 0, 0]))
        assert stats.chisquare(counts, counts.sum() * weights / weights.sum()).pvalue > 1e-4
        other = np.exp(PUBLIC + np.array([(count + 4) * clip / 10 + 0.5, 0, 0, 0]))
        assert stats.chisquare(counts, counts.sum() * other / other.sum()).pvalue < 1e-4


def scores_of(monkeypatch: pytest.MonkeyPatch, plan: PlannedTokens, samples: PrivateSamples) -> dict[str, np.ndarray]:
    """The scores of each token by its place; whatever they are, the first candidate is chosen."""
    seen: dict[str, np.ndarray] = {}

    def noted(_: object, scores: np.ndarray, *, scale: float, stream: tuple[str, ...]) -> int:
        seen[" ".join(stream[-4:-1])] = scores
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(charged_release, "exponential_choice", noted)
        written(plan, samples)
    return seen


@pytest.mark.parametrize("gone", [0, 17, 39])
def test_a_unit_moves_its_own_group_alone_by_its_clip_at_most(monkeypatch: pytest.MonkeyPatch, gone: int) -> None:
    plan, samples = planned(), held()
    all_of_them = scores_of(monkeypatch, plan, samples)
    without = scores_of(monkeypatch, plan, samples.of_units(np.delete(np.arange(UNITS), gone)))
    (own,) = group_of(np.array([gone]), plan, KEY)
    for place, scores in all_of_them.items():
        moved = np.abs(scores - without[place])
        assert moved.max() == (GRID if place.startswith(f"group {own} ") else 0)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=3, max_size=3), st.floats(1e-6, 1e6))
@settings(max_examples=200)
def test_whatever_a_unit_says_is_within_the_grid(row: list[float], clip: float) -> None:
    points = on_grid(np.array([row]), clip)
    assert np.abs(points).max() <= GRID
    assert points.any() <= np.isfinite(row).all()


def test_the_scale_gives_each_token_the_planned_range_and_the_release_its_price() -> None:
    plan = planned()
    range_of_a_token = 2 * GRID / plan.scale
    assert plan.query.clip_norm == pytest.approx(range_of_a_token * 10 / 2)
    ledger = open_ledger(declared(), UNITS, [plan.release]).charge(plan.release)
    assert 0.99 < ledger.epsilon() <= 1.0
    colder = planned(temperature=0.5)
    assert colder.scale == plan.scale  # a draw is as private,
    assert colder.query.clip_norm == pytest.approx(plan.query.clip_norm / 2)  # for half the clip


def test_replace_one_is_charged_for_both_texts() -> None:
    plan = planned()
    twice = open_ledger(declared(adjacency="replace_one", epsilon=3.0), UNITS, [plan.release]).charge(plan.release)
    assert twice.epsilon() > 1.9


def test_all_is_charged_before_a_text_is_read_and_short_texts_cost_as_much() -> None:
    plan, read = planned(), []

    class Guard(NoBudgetGuard):
        def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
            assert not read

    def reader(own: PrivateSamples) -> Fixed:
        read.append(len(own.unit))
        return Fixed(own, ends_after=1)

    with guarding(Guard()):
        texts, charged = written(plan, held(), reader)
    assert [len(text) for text in texts] == [1, 1, 1, 1]
    assert sum(read) == UNITS
    assert charged.releases == (plan.release,)


def test_a_plan_beyond_the_budget_reads_nothing() -> None:
    plan = planned(shift=gaussian_shift(1.2, 1e-4))
    with pytest.raises(BudgetExceeded):
        written(plan, held(), lambda own: pytest.fail("it was read"))


def test_the_same_call_writes_the_same_and_another_name_other_texts() -> None:
    plan = planned(tokens=12)
    first, _ = written(plan, held())
    assert first == written(plan, held())[0]
    assert first != written(replace(plan, query=plan.query.about("", "other settings")), held())[0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (lambda own: Block(own.unit, np.zeros((len(own.unit), WORDS + 1))), "contribution-of-another-width"),
        (lambda own: Block(np.array([10**6]), np.zeros((1, WORDS))), "contribution-of-another-group"),
        (lambda own: Block(np.repeat(own.unit[:1], 2), np.zeros((2, WORDS))), "contribution-of-another-group"),
    ],
)
def test_a_malformed_contribution_is_refused(rows: Callable[[PrivateSamples], Block], said: str) -> None:
    class Wrong(Fixed):
        def contributions(self, candidates: Candidates) -> Block:
            return rows(self.own)

    with refuses(said):
        written(planned(), held(), Wrong)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"aggregation": "secure"}, "aggregation-not-trusted"),
        ({"aggregation": "local"}, "aggregation-not-trusted"),
        ({"sampling": "poisson", "clients_per_round": 5}, "units-are-left-out"),
        ({"unit": "record", "adjacency": "replace_one"}, "replaced-record-changes-groups"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(changes: dict[str, Any], said: str) -> None:
    with refuses(said):
        planned(declared(**changes))
