"""The single release: sensitivity by search, classes that are never counted, and who takes part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.algorithms.popri import release
from fedtext.algorithms.popri.release import release_private_mean
from fedtext.algorithms.popri.scoring.by_name import single_release
from fedtext.federation.private_samples import PrivateSamples, asked_units
from fedtext.params.popri import SINGLE_RELEASE, Popri
from fedtext.privacy.noise import new_noise_key
from tests.algorithms.popri.examples import (
    DIM,
    KEY,
    QUIET,
    TEXTS,
    asked,
    ledger,
    popri,
    samples,
    seen,
    unit_rows,
    without,
)

CONDITIONAL = {"labels": ("a", "b", "c")}


def sent(held: PrivateSamples, parameters: Popri) -> np.ndarray:
    """What each unit hands to the mechanism; one without samples hands over nothing, which counts as zeros."""
    blocks = list(release.sent_blocks(held, parameters, block=5))
    rows = np.zeros((len(held.enrolled), blocks[0].rows.shape[1]))
    for block in blocks:
        rows[np.searchsorted(held.enrolled, block.unit)] = block.rows
    assert sum(len(block.unit) for block in blocks) == len(np.unique(held.unit))
    return rows


@pytest.mark.parametrize("scoring", sorted(SINGLE_RELEASE))
@pytest.mark.parametrize("labels", [(), ("a",), ("a", "b", "c")])
@pytest.mark.parametrize("unit", ["client", "record"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8)
def test_one_unit_moves_the_sum_by_at_most_the_clip_and_no_other_row(
    scoring: str, labels: tuple[str, ...], unit: str, seed: int
) -> None:
    parameters = popri(scoring=scoring, labels=labels)
    held = seen(samples(seed, clients=7, classes=len(labels) or 1, unit=unit), parameters)
    gone = seed % len(held.enrolled)
    before, after = sent(held, parameters), sent(without(held, gone), parameters)
    assert np.linalg.norm(before.sum(axis=0) - after.sum(axis=0)) <= 1 + 1e-6
    assert np.array_equal(np.delete(before, gone, axis=0), np.delete(after, gone, axis=0)), "bit by bit"


def test_the_bound_is_reached_so_the_search_could_fail() -> None:
    same = PrivateSamples(
        np.tile(unit_rows(0, 1), (4, 1)), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64), np.arange(2)
    )
    assert np.linalg.norm(sent(same, popri()), axis=1) == pytest.approx(np.ones(2), abs=1e-6)


def test_a_quiet_release_is_the_mean_over_units_of_the_mean_over_samples() -> None:
    held = samples(1)
    mean, charged = release_private_mean(asked(popri(), QUIET, 0), held, popri(), ledger(len(held.enrolled)), KEY)
    by_unit = [held.features[held.unit == u].mean(axis=0) for u in held.enrolled]
    assert np.allclose(mean, np.mean(by_unit, axis=0)[None], atol=1e-3)
    assert [(r.name, r.round) for r in charged.releases] == [("popri.mean_features", 0)]


def test_a_quiet_conditional_release_is_each_class_s_own_mean() -> None:
    held, parameters = samples(2, clients=30, classes=3), popri(**CONDITIONAL)
    mean, _ = release_private_mean(asked(parameters, QUIET, 0), held, parameters, ledger(len(held.enrolled)), KEY)
    counts = np.bincount(held.unit)[held.unit]
    for c in range(3):
        own = held.label == c
        assert np.allclose(mean[c], np.average(held.features[own], axis=0, weights=1 / counts[own]), atol=3e-3)


def test_one_class_that_holds_everything_equals_no_classes() -> None:
    held = samples(3)
    plain, _ = release_private_mean(asked(popri(), QUIET, 0), held, popri(), ledger(len(held.enrolled)), KEY)
    one, _ = release_private_mean(
        asked(popri(labels=("a",)), QUIET, 0), held, popri(labels=("a",)), ledger(len(held.enrolled)), KEY
    )
    assert np.allclose(plain, one, atol=1e-3)


def test_one_declared_class_among_others_is_not_shrunk_by_their_samples() -> None:
    features = np.repeat(unit_rows(4, 1), 10, axis=0)
    held = PrivateSamples(features, np.arange(10), np.array([0] * 3 + [-1] * 7), np.arange(10))
    mean, _ = release_private_mean(asked(popri(labels=("a",)), QUIET, 0), held, popri(labels=("a",)), ledger(10), KEY)
    assert np.allclose(mean[0], features[0], atol=1e-3)


def test_class_sizes_reach_the_outside_through_the_noised_sum_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the mechanism's output held fixed, other labels change nothing."""
    fixed = np.random.default_rng(0).normal(size=3 * (DIM + 1))

    def same_sum(query: Any, blocks_of: Any, samples: Any, ledger: Any, key: Any) -> Any:
        assert sum(len(block.rows) for block in blocks_of(samples)) == 12
        return fixed, ledger.model_copy(update={"releases": (example,)})

    _, charged = release_private_mean(asked(popri(), 1.0, 0), samples(5), popri(), ledger(12), KEY)
    example = charged.releases[0]
    monkeypatch.setattr(release, "answer", same_sum)
    held = samples(5, classes=3)
    relabelled = PrivateSamples(held.features, held.unit, np.zeros_like(held.label), held.enrolled)
    outputs = [
        release_private_mean(asked(popri(**CONDITIONAL), 1.0, 0), s, popri(**CONDITIONAL), ledger(12), KEY)[0]
        for s in (held, relabelled)
    ]
    assert np.array_equal(outputs[0], outputs[1])


def test_a_class_that_nobody_has_stays_finite_and_bounded() -> None:
    held = samples(6)
    mean, _ = release_private_mean(asked(popri(**CONDITIONAL), 2.0, 0), held, popri(**CONDITIONAL), ledger(12), KEY)
    assert np.isfinite(mean).all()
    assert np.abs(mean[1:]).max() < 40  # at most the noise over its own deviation


@pytest.mark.parametrize("sampling", ["poisson", "fixed_size"])
def test_sampled_means_are_scaled_by_the_rate(sampling: str) -> None:
    held = samples(8, clients=400)
    opened = ledger(400, sampling=sampling, clients_per_round=200)
    mean, charged = release_private_mean(asked(popri(), 1e-3, 0), held, popri(), opened, KEY)
    everybody, _ = release_private_mean(asked(popri(), 1e-3, 0), held, popri(), ledger(400), KEY)
    assert charged.releases[0].sampling == sampling
    assert charged.releases[0].rate == 0.5
    assert np.linalg.norm(mean - everybody) < 0.25 * np.linalg.norm(everybody)


def test_nobody_drawn_is_pure_noise() -> None:
    held, opened = samples(9, clients=3), ledger(3, sampling="poisson", clients_per_round=1)
    drawn = replace(asked(popri(), 1.0, 0), draw=(popri().model_dump_json(), ""))
    empty = next(k for k in map(new_noise_key, range(50)) if not len(asked_units(held, opened, k, drawn)))
    mean, charged = release_private_mean(asked(popri(), 1.0, 0), held, popri(), opened, empty)
    assert np.isfinite(mean).all()
    assert mean.any()
    assert len(charged.releases) == 1


def test_more_units_than_the_ledger_prices_are_refused() -> None:
    with pytest.raises(ValueError, match="more clients hold samples than the 5 that the ledger was opened for"):
        release_private_mean(asked(popri(), 1.0, 0), samples(0, clients=6), popri(), ledger(5), KEY)


def test_the_feature_map_has_norm_one() -> None:
    for scoring in ("witness_rff", "witness_words"):
        parameters = popri(scoring=scoring)
        made = single_release(parameters)
        phi = made.features(made.seen(TEXTS[:20], unit_rows(1, 20), parameters), parameters)
        assert np.linalg.norm(phi, axis=1) == pytest.approx(np.ones(20)), scoring
