"""The door of DP-SGD: sums of secret draws, noise of each step's own, one price before the first step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fedtext.federation import charged_release, mechanism
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.noisy_steps import NoisyStep, release_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.budget_guard import NoBudgetGuard, guarding
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Release
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.privacy.plan import planned_multiplier
from tests.parameters import conf_base
from tests.refusals import refuses

UNITS, BATCH, STEPS, DIM, CLIP_NORM, MULTIPLIER = 40, 10, 12, 6, 0.5, 1.5
KEY = new_noise_key(5)
Rows = Callable[[PrivateSamples, int], np.ndarray]


def declared(**changes: Any) -> Privacy:
    """Noise is declared, since to find it takes seconds."""
    base = {"epsilon": 8.0, "delta": 1e-4, "noise_seed": 5, "unit": "record", "noise_multiplier": MULTIPLIER}
    return conf_base(Privacy, base | changes)


def query(privacy: Privacy, **changes: Any) -> Query:
    asked = {"batch": BATCH, "steps": STEPS, **changes}
    noise = planned_multiplier(privacy, UNITS, asked["steps"], batch=asked["batch"])
    return Query("sgd", 0, DIM, CLIP_NORM, **{"noise_multiplier": noise, **asked})


def holding(units: np.ndarray) -> PrivateSamples:
    """Unit u holds features that are its own."""
    return PrivateSamples.of_one_class(np.array([np.random.default_rng(u).normal(size=DIM) for u in units]), units)


def nobody() -> PrivateSamples:
    """All are enrolled, and nobody holds a sample."""
    return PrivateSamples(np.zeros((0, DIM)), np.array([], int), np.array([], int), np.arange(UNITS))


def training(rows: Rows, steps: int = STEPS, seen: list[np.ndarray] | None = None) -> Callable[[NoisyStep], np.ndarray]:
    """All answers; what units send of their features may depend on the step. Who was drawn is put into `seen`."""

    def trained(ask: NoisyStep) -> np.ndarray:
        answers = []
        for step in range(steps):

            def sent(held: PrivateSamples, step: int = step) -> Iterator[Block]:
                if seen is not None:
                    seen.append(held.unit)
                yield Block(held.unit, rows(held, step))

            answers.append(ask(sent, "public"))
        return np.array(answers)

    return trained


def features(held: PrivateSamples, step: int) -> np.ndarray:
    return held.features


def run(
    samples: PrivateSamples | None = None,
    key: NoiseKey = KEY,
    seed: int = 5,
    adjacency: str = "zero_out",
    **changes: Any,
) -> tuple[np.ndarray, Ledger, list[np.ndarray]]:
    privacy, seen = declared(noise_seed=seed, adjacency=adjacency), list[np.ndarray]()
    asked = query(privacy, **changes)
    opened = opened_ledger([asked], privacy, UNITS)
    held = holding(np.arange(UNITS)) if samples is None else samples
    answers, ledger = release_noisy_steps(asked, training(features, asked.steps, seen), held, opened, key)
    return answers, ledger, seen


def silent(key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


def test_without_noise_each_step_is_the_clipped_sum_of_its_own_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charged_release, "discrete_gaussian", silent)
    answers, _, seen = run()
    rows = holding(np.arange(UNITS)).features
    clipped = rows * np.minimum(1, CLIP_NORM / np.linalg.norm(rows, axis=1))[:, None]
    for answer, drawn in zip(answers, seen, strict=True):
        np.testing.assert_allclose(answer, clipped[drawn].sum(axis=0), atol=UNITS * 2.0**-12)
    assert len({tuple(drawn) for drawn in seen}) == STEPS


def test_draws_are_poisson_and_a_unit_s_own() -> None:
    sizes = np.array([len(drawn) for seed in range(15) for drawn in run(key=new_noise_key(seed), seed=seed)[2]])
    assert sizes.mean() == pytest.approx(BATCH, abs=0.8)
    assert sizes.std() == pytest.approx(np.sqrt(BATCH * (1 - BATCH / UNITS)), rel=0.2)  # of a fixed size it is 0
    every, fewer = run()[2], run(holding(np.arange(1, UNITS)))[2]
    assert all(np.array_equal(a[a > 0], b) for a, b in zip(every, fewer, strict=True))


@pytest.mark.parametrize("changes", [{"noise_multiplier": 2.5}, {"draw": ("another rate",)}, {"steps": STEPS + 1}])
def test_trainings_that_are_not_one_release_share_no_draw(changes: dict[str, Any]) -> None:
    """Of one key and declaration, from one start: a draw that two of them shared would be priced as two."""
    first, again, other = run()[2], run()[2], run(**changes)[2]
    assert all(map(np.array_equal, first, again))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other, strict=False))


def test_coins_and_noise_of_a_training_are_told_apart_by_what_it_is_told() -> None:
    """All units in every draw, so that the sums are the same and nothing but the stream could tell them apart."""
    one, other = (run(batch=UNITS, noise_multiplier=3.0, draw=draw)[0] for draw in ((), ("another rate",)))
    assert (one != other).mean() > 0.9


def test_two_trainings_of_empty_draws_share_no_noise() -> None:
    """Equal bytes would say for certain that nobody whom one of them asked had anything to say."""

    def answers(delta: float) -> np.ndarray:
        privacy = declared(delta=delta)
        opened = opened_ledger([query(privacy)], privacy, UNITS)
        return release_noisy_steps(query(privacy), training(features), nobody(), opened, KEY)[0]

    first, again, other = map(answers, (1e-4, 1e-4, 2e-4))
    assert first.tobytes() == again.tobytes()
    assert not np.isclose(first, other).any()


def test_an_empty_draw_gives_pure_noise_and_nobody_need_hold_anything() -> None:
    answers, ledger, seen = run(batch=1, steps=30)
    assert ledger.releases[0].steps == 30
    empty = answers[[len(drawn) == 0 for drawn in seen]]
    assert len(empty) > 0
    assert (empty != 0).all()
    assert (run(nobody())[0] != 0).all()


@pytest.mark.parametrize("adjacency", ["zero_out", "add_remove", "replace_one"])
def test_one_release_pays_for_all_steps_at_the_price_of_the_sampled_gaussian(adjacency: Any) -> None:
    (release,) = (ledger := run(adjacency=adjacency)[1]).releases
    assert (release.steps, release.sampling, release.rate) == (STEPS, "poisson", BATCH / UNITS)
    price = epsilon(
        noise_multiplier=MULTIPLIER,
        delta=1e-4,
        rounds=STEPS,
        adjacency=adjacency,
        sampling="poisson",
        rate=release.rate,
    )
    assert ledger.epsilon() == pytest.approx(price, abs=1e-6)


@pytest.mark.parametrize(
    ("steps", "rate", "multiplier", "delta", "published"),
    [  # Opacus 1.6.0, PRVAccountant: the upper end of epsilon at its default error of 0.01
        (400, 0.05, 1.5, 1e-5, 3.37064),
        (50, 0.25, 2.0, 1e-4, 3.80270),
    ],
)
def test_the_price_is_that_of_a_published_accountant(
    steps: int, rate: float, multiplier: float, delta: float, published: float
) -> None:
    release = Release(
        name="sgd", round=0, mechanism="", sensitivity=1.0, noise_stddev=multiplier, sampling="poisson", rate=rate,
        unit="record", steps=steps,
    )  # fmt: skip
    ledger = Ledger(declaration=declared(epsilon=20.0, delta=delta, adjacency="add_remove"), population=5000)
    assert published - 0.0105 < ledger.charge(release).epsilon() < published
    fixed = release.model_copy(update={"sampling": "full", "rate": 1.0})
    assert ledger.model_copy(update={"releases": (fixed,)}).epsilon() > 2 * published


def test_the_multiplier_is_the_smallest_that_keeps_the_budget() -> None:
    privacy = declared(epsilon=4.0, noise_multiplier=None)
    found = query(privacy).noise_multiplier
    priced = {"delta": 1e-4, "rounds": STEPS, "sampling": "poisson", "rate": BATCH / UNITS}
    assert epsilon(noise_multiplier=found, **priced) <= 4.0  # type: ignore[arg-type]
    assert epsilon(noise_multiplier=found * (1 - 1e-5), **priced) > 4.0  # type: ignore[arg-type]


def test_noise_is_of_the_planned_deviation_and_each_step_s_own() -> None:
    noise = np.array([run(nobody(), new_noise_key(seed), seed)[0] for seed in range(20)])
    assert stats.kstest(noise.ravel() / (MULTIPLIER * CLIP_NORM), "norm").pvalue > 1e-3
    between = np.corrcoef(noise.transpose(1, 0, 2).reshape(STEPS, -1))
    assert np.abs(between - np.eye(STEPS)).max() < 0.4


def test_the_same_call_repeats_its_bytes_and_other_inputs_share_no_noise() -> None:
    first, again, other = run(), run(), run(steps=STEPS + 1)
    assert first[0].tobytes() == again[0].tobytes()
    assert first[1] == again[1]
    assert not np.any(first[0] == other[0][:STEPS])


class Notebook(NoBudgetGuard):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Release, str]] = []
        self.draws: list[str] = []

    def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
        self.told.append(("admit", release, ""))
        self.draws.append(draw)

    def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
        self.told.append(("confirm", release, receipt))
        self.draws.append(draw)


def test_the_gate_is_asked_first_and_told_once_before_anything_leaves() -> None:
    gate = Notebook()
    with guarding(gate):
        run(), run()
        run(holding(np.arange(1, UNITS)))
    assert [what for what, *_ in gate.told] == ["admit", "confirm"] * 3
    first, again, other = (receipt for what, _, receipt in gate.told if what == "confirm")
    assert first == again != other


def test_the_gate_is_told_one_name_for_one_draw_and_another_for_another() -> None:
    """Of one plan: the history prices answers of two names as independent, so no two of their steps share a draw."""
    gate = Notebook()
    with guarding(gate):
        first, fewer, other = run(), run(holding(np.arange(1, UNITS))), run(draw=("another rate",))
    one, *same, another, confirmed = gate.draws
    assert same == [one] * 3
    assert another == confirmed != one
    assert all(np.array_equal(a[a > 0], b) for a, b in zip(first[2], fewer[2], strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(first[2], other[2], strict=True))


def test_what_dies_before_its_end_has_released_nothing() -> None:
    gate, privacy = Notebook(), declared()
    asked = query(privacy)

    def dies(ask: NoisyStep) -> None:
        training(features, 3)(ask)
        raise KeyboardInterrupt

    with guarding(gate), pytest.raises(KeyboardInterrupt):
        release_noisy_steps(asked, dies, holding(np.arange(UNITS)), opened_ledger([asked], privacy, UNITS), KEY)
    assert [what for what, *_ in gate.told] == ["admit"]


def test_one_step_more_than_was_paid_is_refused() -> None:
    privacy = declared()
    asked = query(privacy)
    opened = opened_ledger([asked], privacy, UNITS)
    with refuses("step-beyond-charge", value=13):
        release_noisy_steps(asked, training(features, STEPS + 1), holding(np.arange(UNITS)), opened, KEY)


def test_too_many_steps_for_the_budget_read_nothing() -> None:
    privacy, seen = declared(epsilon=3.0), list[np.ndarray]()
    asked = query(privacy)
    opened = Ledger(declaration=privacy, population=UNITS)
    more = Query(**{**vars(asked), "steps": 2 * STEPS})
    with pytest.raises(BudgetExceeded):
        release_noisy_steps(more, training(features, STEPS, seen), holding(np.arange(UNITS)), opened, KEY)
    assert seen == []


@pytest.mark.parametrize(
    ("changes", "batch", "code"),
    [
        ({"sampling": "poisson", "clients_per_round": 3}, 10, "batches-need-full-sampling"),
        ({"aggregation": "local"}, 10, "batches-need-full-sampling"),
        ({}, UNITS + 1, "batch-above-population"),
        ({}, 0, "batch-above-population"),
    ],
)
def test_draws_that_hide_nobody_are_refused(changes: dict[str, Any], batch: int, code: str) -> None:
    privacy = declared(**changes)
    with refuses(code):
        opened_ledger([query(privacy, batch=batch)], privacy, UNITS)


def test_a_unit_moves_nothing_but_its_own_message(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = mechanism.client_messages
    every: list[dict[tuple[int, int], bytes]] = []

    def noted(blocks: Any, plan: Any, asked: Any, key: Any, stream: tuple[str, ...]) -> Iterator[Any]:
        step = int(stream[2].removeprefix("step "))
        for unit, message in sent(blocks, plan, asked, key, stream):
            every[-1][step, unit] = message.tobytes()
            yield unit, message

    monkeypatch.setattr(mechanism, "client_messages", noted)
    for gone in (None, 3):
        every.append({})
        run(holding(np.array([u for u in range(UNITS) if u != gone])))
    with_it, without = every
    assert {place: m for place, m in with_it.items() if place[1] != 3} == {
        place: m for place, m in without.items() if place[1] < UNITS
    }
    assert any(unit == 3 for _, unit in with_it)
