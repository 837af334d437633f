"""What test clients say of accuracy: bounded, a function of themselves, and unbiased once it is noised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedtext.evaluation import priced_accuracy as priced
from fedtext.evaluation.measures.next_token_accuracy import ACCURACY
from fedtext.evaluation.priced_accuracy import ReleasedCounts, accuracy_blocks, compare_released, joint_clip_norm
from fedtext.evaluation.tested import Asked, accuracy_release, evaluation_ledger
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import answer
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import new_noise_key
from fedtext.reporting.wording import accuracy_sentence

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
    privacy = Privacy(epsilon=epsilon, delta=1e-5, noise_seed=seed, aggregation="trusted")
    asked = Asked(RELEASE, 1 + 2 * len(correct), joint_clip_norm(clip_norm))
    ledger = evaluation_ledger(privacy, Evaluation(), len(np.unique(unit)), [asked])
    total, charged = answer(
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


@pytest.mark.parametrize("wrong", [0.25, 4.0])
def test_noise_that_is_not_what_was_declared_shows_in_the_intervals(wrong: float) -> None:
    """At a small epsilon noise is all there is: intervals of a wrong deviation cover too rarely, or are too wide."""
    covered, widths = [], []
    for seed in range(80):
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
    with pytest.raises(ValueError, match="compares what an algorithm made"):
        priced.ordered(("eps0", "public_control"))
    with pytest.raises(ValueError, match="7 are wanted"):
        ReleasedCounts.of(np.zeros(5), NAMES, guess=GUESS, noise=1.0, clip_norm=CLIP)
