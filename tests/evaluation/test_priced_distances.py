"""Mean features: bounded for every text, and distances that are right on average whatever the noise."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.distribution import frechet_distance, unbiased_mean_gap
from fedtext.evaluation.priced_distances import PRESENT, FeatureMap, ReleasedMean, mean_feature_blocks

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
