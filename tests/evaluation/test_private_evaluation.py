"""Which test clients are asked, with which samples, under which promise.

- What test clients say of accuracy: bounded, a function of themselves, and unbiased once it is noised.
- Mean features: bounded for every text, and distances that are right on average whatever the noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedtext.evaluation import private_evaluation
from fedtext.evaluation.distribution import frechet_distance, unbiased_mean_gap
from fedtext.evaluation.measures.next_token_accuracy import ACCURACY
from fedtext.evaluation.private_evaluation import (
    FEATURES,
    PRESENT,
    EvaluationQuery,
    FeatureMap,
    ReleasedCounts,
    ReleasedMean,
    accuracy_blocks,
    accuracy_release,
    compare_released,
    evaluation_ledger,
    evenly_spaced_by_unit,
    joint_clip_norm,
    mean_feature_blocks,
    samples_per_unit,
)
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block, unit_codes
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import new_noise_key
from fedtext.reporting.headline import accuracy_sentence
from tests.parameters import conf_base
from tests.refusals import refuses

PRIVACY = conf_base(
    Privacy, epsilon=2.0, delta=1e-5, noise_seed=1, sampling="poisson", clients_per_round=5, aggregation="trusted"
)
TWO = (EvaluationQuery(FEATURES, 2, 1.0), EvaluationQuery("evaluation.popri.accuracy", 9, 13.4))


def test_whose_samples_are_chosen_depends_on_their_owner_alone() -> None:
    rng = np.random.default_rng(0)
    unit = rng.permutation(np.repeat(np.arange(40), np.arange(40) % 9 + 1))
    for most in (1, 3, 100):
        kept = evenly_spaced_by_unit(unit, most)
        assert np.array_equal(np.bincount(unit[kept]), np.minimum(np.bincount(unit), most))
        there = np.flatnonzero(unit % 4 != 1)
        alone = there[evenly_spaced_by_unit(unit[there], most)]
        assert np.array_equal(alone, kept[unit[kept] % 4 != 1])


def test_samples_are_spread_over_what_a_client_holds() -> None:
    assert evenly_spaced_by_unit(np.zeros(10, dtype=np.int64), 3).tolist() == [0, 4, 7]
    assert samples_per_unit(conf_base(Evaluation, max_eval_samples=2000), 484) == 4
    assert samples_per_unit(conf_base(Evaluation, max_eval_samples=20), 484) == 1


def test_the_ledger_is_the_test_clients_own_and_asks_all_of_them() -> None:
    ledger = evaluation_ledger(PRIVACY, conf_base(Evaluation, epsilon=0.5), 300, TWO)
    assert (ledger.part, ledger.population, ledger.declaration.epsilon) == ("test", 300, 0.5)
    assert ledger.declaration.sampling == "full"
    assert [plan.name for plan in ledger.planned] == [asked.name for asked in TWO]
    assert [plan.sensitivity for plan in ledger.planned] == [pytest.approx(one.clip_norm, rel=1e-3) for one in TWO]
    both = ledger.charge(ledger.planned[0]).charge(ledger.planned[1])
    assert 0.499 < both.spent() <= 0.5 * (1 + 1e-9)
    alone = evaluation_ledger(PRIVACY, conf_base(Evaluation), 300, TWO[1:])
    assert alone.charge(alone.planned[0]).spent() == pytest.approx(2.0, rel=1e-6)


def test_no_test_client_is_an_error_with_a_remedy() -> None:
    with refuses("too-few-test-units"):
        evaluation_ledger(PRIVACY, conf_base(Evaluation), 0, TWO)


def test_a_release_is_charged_at_its_planned_noise_and_asks_silent_clients_too() -> None:
    ledger = evaluation_ledger(PRIVACY, conf_base(Evaluation, epsilon=1e5), 30, TWO)
    unit = unit_codes([f"c{i // 2}" for i in range(20)])
    block = Block(np.unique(unit), np.ones((10, 2)) / 2)
    held = PrivateSamples.of_one_class(np.zeros((20, 0)), unit)
    total, charged = release_noisy_sum(TWO[0].query_of(ledger), lambda _: [block], held, ledger, new_noise_key(1))
    assert total == pytest.approx([5, 5], abs=0.1)
    assert charged.releases == ledger.planned[:1]


@pytest.mark.parametrize(
    ("corpus", "asked", "dp", "control"),
    [
        (conf_base(Corpus), {}, False, True),
        (conf_base(Corpus, source="table", path="x.csv"), {}, True, False),
        (conf_base(Corpus, source="table", path="x.csv", declared_public=True), {}, False, True),
        (conf_base(Corpus, source="table", path="x.csv"), {"dp": False, "private_control": True}, False, True),
        (conf_base(Corpus), {"dp": True, "private_control": False}, True, False),
    ],
)
def test_private_text_is_evaluated_with_dp_and_has_no_unprotected_control_unless_asked(
    corpus, asked, dp, control
) -> None:
    evaluation = conf_base(Evaluation, asked)
    assert (evaluation.is_dp(corpus), evaluation.has_private_control(corpus)) == (dp, control)


CLIP, GUESS = 12.0, 0.1
NAMES = ("eps0", "public_control", "synthetic")
LEVELS = {"eps0": 0.10, "public_control": 0.11, "synthetic": 0.14}
RELEASE = accuracy_release("popri")
Said = tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]


def clients(count: int, seed: int = 0, **levels: float) -> Said:
    """Two texts of 40 tokens a client; a model is right where a common difficulty lets it, so conditions pair up."""
    rng = np.random.default_rng(seed)
    luck = rng.random((2 * count, 40))
    correct = {name: (luck < level).sum(axis=1) for name, level in {**LEVELS, **levels}.items()}
    return correct, np.full(2 * count, 40), np.repeat(rng.permutation(10**6)[:count].astype(np.int64), 2)


def rows(said: Said, clip_norm: float = CLIP) -> dict[int, np.ndarray]:
    blocks = list(accuracy_blocks(*said, guess=GUESS, clip_norm=clip_norm))
    return {int(unit): row for block in blocks for unit, row in zip(block.unit, block.rows, strict=True)}


def released(said: Said, seed: int, *, epsilon: float = 1.0, clip_norm: float = CLIP) -> ReleasedCounts:
    correct, tokens, unit = said
    privacy = conf_base(Privacy, epsilon=epsilon, delta=1e-5, noise_seed=seed, aggregation="trusted")
    asked = EvaluationQuery(RELEASE, 1 + 2 * len(correct), joint_clip_norm(clip_norm))
    ledger = evaluation_ledger(privacy, conf_base(Evaluation), len(np.unique(unit)), [asked])
    total, charged = release_noisy_sum(
        asked.query_of(ledger),
        lambda _: accuracy_blocks(correct, tokens, unit, guess=GUESS, clip_norm=clip_norm),
        PrivateSamples.of_one_class(tokens[:, None], unit),
        ledger,
        new_noise_key(seed),
    )
    known = {"guess": GUESS, "noise": summed_stddev(charged), "clip_norm": clip_norm}
    return ReleasedCounts.of(total, tuple(correct), **known)


def wild(client: int, said: Said) -> Said:
    """One client holds texts that no other does: as long and as different between conditions as can be."""
    correct, tokens, unit = ({k: v.copy() for k, v in said[0].items()}, said[1].copy(), said[2])
    mine = unit == unit[client]
    tokens[mine] = 100_000
    for sign, counts in zip((0, 1, 0), correct.values(), strict=True):
        counts[mine] = 100_000 * sign
    return correct, tokens, unit


@pytest.mark.parametrize("client", [0, 7, 39])
def test_whatever_one_client_holds_moves_the_sum_by_the_clip_at_most_and_nobody_else(client: int) -> None:
    said = clients(20)
    before, after = rows(said), rows(wild(client, said))
    code = int(said[2][client])
    assert np.linalg.norm(after[code]) > 0.9 * CLIP  # it does say much
    assert np.linalg.norm(after[code]) <= joint_clip_norm(CLIP)
    assert all(np.array_equal(before[unit], after[unit]) for unit in before if unit != code)
    without = rows(({k: v[said[2] != code] for k, v in said[0].items()}, *(x[said[2] != code] for x in said[1:])))
    assert all(np.array_equal(before[unit], without[unit]) for unit in without)


def test_squares_never_make_the_door_s_clip_bite() -> None:
    rng = np.random.default_rng(3)
    correct = {name: rng.integers(0, 10 ** rng.integers(1, 6), 4000) for name in NAMES}
    norms = [np.linalg.norm(row) for row in rows((correct, rng.integers(1, 10**5, 4000), np.arange(4000))).values()]
    assert 1.05 * CLIP < max(norms) <= joint_clip_norm(CLIP)


@pytest.mark.slow
def test_released_gains_and_levels_are_right_on_average_and_their_intervals_as_wide_as_they_say() -> None:
    errors: dict[str, list[float]] = {"gain": [], "level": []}
    covered: dict[str, list[bool]] = {"gain": [], "level": []}
    for seed in range(150):  # fresh clients and fresh noise every time
        found = released(clients(300, seed), seed, clip_norm=20.0)
        for name, one, truth in (
            ("gain", found.gain("synthetic", "public_control"), 0.03),
            ("level", found.accuracy("synthetic"), 0.14),
        ):
            errors[name].append(one["estimate"] - truth)
            covered[name].append(one["low"] <= truth <= one["high"])
    for name in errors:
        spread = np.std(errors[name]) / np.sqrt(150)
        assert abs(np.mean(errors[name])) < 3.5 * spread + 0.0005, name
        assert np.mean(covered[name]) >= 0.92, name


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("wrong", [0.25, 4.0])
def test_noise_that_is_not_what_was_declared_shows_in_the_intervals(wrong: float) -> None:
    """At a small epsilon noise is all there is: intervals of a wrong deviation cover too rarely, or are too wide."""
    covered, widths = [], []
    for seed in range(40):
        found = released(clients(300, seed), seed, epsilon=0.3)
        mistaken = ReleasedCounts(**{**vars(found), "noise": wrong * found.noise})
        one = mistaken.gain("synthetic", "eps0")
        covered.append(one["low"] <= 0.04 <= one["high"])
        widths.append((one["high"] - one["low"]) / (2 * 1.96 * found.noise / found.tokens))
    assert np.mean(covered) < 0.85 if wrong < 1 else np.mean(widths) > 3


def test_a_gain_is_the_difference_of_two_levels_either_way_round() -> None:
    found = released(clients(200), 1)
    for name, reference in (("synthetic", "eps0"), ("public_control", "eps0"), ("synthetic", "public_control")):
        gain = found.gain(name, reference)["estimate"]
        assert gain == pytest.approx(found.accuracy(name)["estimate"] - found.accuracy(reference)["estimate"])
        assert gain == pytest.approx(-found.gain(reference, name)["estimate"])


def test_without_noise_and_clip_the_counts_come_out_again() -> None:
    correct, tokens, _ = said = clients(200)
    found = released(said, 1, epsilon=1e6, clip_norm=80.0)
    for name, counts in correct.items():
        assert found.accuracy(name)["estimate"] == pytest.approx(counts.sum() / tokens.sum(), abs=2e-4)


def test_the_share_of_the_gap_is_there_only_with_a_control_on_the_private_text() -> None:
    assert compare_released(released(clients(300), 1), {}, ACCURACY)["gap_closed"] == {}
    told = released(clients(2000, private=0.22), 1, clip_norm=40.0)
    closed = compare_released(told, {}, ACCURACY)["gap_closed"]["synthetic"]
    assert closed["low"] < 4 / 12 < closed["high"]
    assert closed["high"] - closed["low"] < 0.3
    none = compare_released(released(clients(300, private=0.05), 1), {}, ACCURACY)["gap_closed"]["synthetic"]
    assert none["share"] is None
    assert "no gap" in none["reason"]


def test_the_report_reads_it_as_it_reads_exact_counts() -> None:
    found = compare_released(released(clients(1500), 2, clip_norm=20.0), {"synthetic": 60, "eps0": 0}, ACCURACY)
    assert list(found["conditions"]) == list(NAMES)
    assert found["judged"] == "synthetic"
    assert found["conditions"]["public_control"]["texts"] is None
    assert "rose from" in accuracy_sentence(found)


def test_tokens_lost_in_the_noise_claim_nothing() -> None:
    empty: dict[str, Any] = {"guess": GUESS, "noise": 60.0, "clip_norm": CLIP}
    found = compare_released(
        ReleasedCounts.of(np.array([-80.0, 50, 90, -70, 10, 10, 10]), NAMES, **empty), {}, ACCURACY
    )
    assert not any(gain["measurable"] for gain in found["gains"]["synthetic"].values())
    assert all(0 <= level["low"] <= level["top_1"] <= level["high"] <= 1 for level in found["conditions"].values())


def test_wrong_conditions_are_refused() -> None:
    with refuses("condition-not-compared"):
        private_evaluation.released_order(("eps0", "public_control"))
    with refuses("released-numbers-do-not-fit"):
        ReleasedCounts.of(np.zeros(5), NAMES, guess=GUESS, noise=1.0, clip_norm=CLIP)


DIM = 24


def cloud(texts: int, seed: int, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(texts, DIM)) * np.linspace(2, 0.3, DIM) + shift * np.eye(DIM)[0]
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


PUBLIC, PRIVATE, SYNTHETIC = cloud(600, 0), cloud(3000, 1, 1.0), cloud(500, 2, 0.5)
PHI = FeatureMap.of(PUBLIC, features=64, axes=4, seed=5)
UNIT = np.arange(3000, dtype=np.int64)


def total(embeddings: np.ndarray = PRIVATE, unit: np.ndarray = UNIT) -> np.ndarray:
    return np.sum([block.rows.sum(axis=0) for block in mean_feature_blocks(embeddings, unit, PHI)], axis=0)


TOTAL = total()


def test_no_text_and_no_client_is_longer_than_the_clip() -> None:
    odd = np.concatenate([PRIVATE, np.eye(DIM), PHI.plane.axes, -PHI.plane.axes])
    lengths = np.linalg.norm(PHI(odd), axis=1)
    assert lengths.max() <= 1 + 1e-9
    assert lengths.max() > 0.95  # little of the clip is wasted
    means = [np.linalg.norm(b.rows, axis=1) for b in mean_feature_blocks(odd, np.arange(len(odd)) // 3, PHI)]
    assert np.concatenate(means).max() <= 1 + 1e-9


def test_a_client_s_features_are_its_own_in_any_company() -> None:
    unit = np.random.default_rng(0).permutation(np.repeat(np.arange(1000), 3)).astype(np.int64)
    everyone = {int(u): r for b in mean_feature_blocks(PRIVATE, unit, PHI) for u, r in zip(b.unit, b.rows, strict=True)}
    kept = (unit % 7 != 3) & (unit != 0)
    fewer = mean_feature_blocks(PRIVATE[kept], unit[kept], PHI)
    assert all(np.array_equal(r, everyone[int(u)]) for b in fewer for u, r in zip(b.unit, b.rows, strict=True))


def test_without_noise_the_distances_are_those_of_the_texts() -> None:
    found = ReleasedMean.of(PHI, TOTAL, 1e-12).compare(SYNTHETIC)
    drawn = PRIVATE.var(axis=0, ddof=1).sum() / len(PRIVATE)  # the draw of the clients, which stays in
    assert found["mean_gap"] == pytest.approx(unbiased_mean_gap(SYNTHETIC, PRIVATE) + drawn, abs=1e-9)
    axes = PHI.plane.axes.T
    assert found["frechet_main_axes"] == pytest.approx(frechet_distance(SYNTHETIC @ axes, PRIVATE @ axes), rel=0.02)
    assert found["fid"] is None


@pytest.mark.parametrize(("declared", "right"), [(1.0, True), (0.0, False), (1.5, False)])
def test_noise_leaves_no_bias_if_it_is_what_was_declared(declared: float, right: bool) -> None:
    rng, noise = np.random.default_rng(4), 40.0
    exact = ReleasedMean.of(PHI, TOTAL, 1e-12).compare(SYNTHETIC)
    for key in ("mean_gap", "mmd_squared"):
        rows = [
            ReleasedMean.of(PHI, TOTAL + noise * rng.standard_normal(PHI.dim), max(declared * noise, 1e-12)).compare(
                SYNTHETIC
            )
            for _ in range(120)
        ]
        errors = np.array([row[key] - exact[key] for row in rows])
        off = abs(errors.mean()) / (errors.std() / np.sqrt(len(errors)))
        assert off < 4 if right else off > 6
        if right:
            assert np.mean([row[f"{key}_stddev"] for row in rows]) == pytest.approx(errors.std(), rel=0.25)


def test_who_is_nearer_is_known_better_than_how_near() -> None:
    rng = np.random.default_rng(5)
    rows = [ReleasedMean.of(PHI, TOTAL + 60 * rng.standard_normal(PHI.dim), 60.0) for _ in range(60)]
    nearer = [one.compare(PUBLIC)["mean_gap"] - one.compare(SYNTHETIC)["mean_gap"] for one in rows]
    assert np.std(nearer) < 0.8 * np.std([one.compare(PUBLIC)["mean_gap"] for one in rows])
    assert np.mean(nearer) > 0


def test_silent_clients_change_no_mean() -> None:
    assert TOTAL[-1] / PRESENT == pytest.approx(3000)
    many = ReleasedMean.of(PHI, TOTAL, 1e-12)  # however many were enrolled beside the 3,000
    assert np.linalg.norm(many.mean) <= 1


def test_the_floor_says_what_noise_makes_of_nothing() -> None:
    known = total(PUBLIC, np.arange(len(PUBLIC), dtype=np.int64))
    quiet, loud = (ReleasedMean.of(PHI, known, noise).floor(PUBLIC) for noise in (0.5, 20.0))
    assert quiet["mean"] < 0.01 < loud["mean"]
    assert loud["stddev"] > quiet["stddev"] > 0
    assert loud == ReleasedMean.of(PHI, known, 20.0).floor(PUBLIC)


def test_clients_lost_in_the_noise_crash_nothing() -> None:
    found = ReleasedMean.of(PHI, -np.abs(TOTAL) / 1e4, 50.0).compare(SYNTHETIC)
    assert np.isfinite([value for value in found.values() if value is not None]).all()
