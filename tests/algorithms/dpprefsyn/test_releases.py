"""The releases: sensitivities by search, invariants of the scorer, the clip's work, and what costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms.dpprefsyn import releases
from fedtext.algorithms.dpprefsyn.releases import gradient_blocks, learned_scorer, nearest_centre, unit_means
from fedtext.federation import mechanism
from fedtext.federation.private_samples import PrivateSamples
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.privacy.pca import main_directions, upper_triangles
from tests.algorithms.dpprefsyn.examples import (
    CLUSTERED,
    DIM,
    FORMS,
    KEY,
    compared,
    dpprefsyn,
    held,
    privacy,
    public,
    quiet,
)
from tests.refusals import refuses

R, HEADS = 0.7, 3
CENTRES = np.random.default_rng(1).normal(size=(HEADS, DIM)) * 0.4
WEIGHTS = np.random.default_rng(2).normal(size=(HEADS, DIM)) * 3
Sent = Callable[[np.ndarray], np.ndarray]


def sent_by(samples: PrivateSamples, **how: object) -> np.ndarray:
    """What the one unit of these samples sends."""
    (block,) = unit_means(samples, **how)  # type: ignore[arg-type]
    return np.asarray(block.rows[0])


def one_unit(rows: np.ndarray, label: np.ndarray | None = None) -> PrivateSamples:
    zeros = np.zeros(len(rows), dtype=np.int64)
    return PrivateSamples(clip_rows(rows, R), zeros, zeros if label is None else label, np.arange(1))


def tallied(rows: np.ndarray) -> np.ndarray:
    clipped = clip_rows(rows, R)
    counted = partial(np.insert, obj=0, values=R, axis=1)
    return sent_by(
        one_unit(clipped, nearest_centre(clipped, CENTRES)), contribution=counted, heads=HEADS, width=HEADS * (DIM + 1)
    )


def gradient(rows: np.ndarray, clip_norm: float = R / 2) -> np.ndarray:
    clipped = clip_rows(rows, R)
    (block,) = gradient_blocks(one_unit(clipped, nearest_centre(clipped, CENTRES)), heads=WEIGHTS, clip_norm=clip_norm)
    return np.asarray(block.rows[0])


RELEASES: dict[str, tuple[Sent, float, float]] = {  # zero_out and replace_one norms of the design's table
    "sum": (lambda rows: sent_by(one_unit(rows), width=DIM), R, 2 * R),
    "second moment": (
        lambda rows: sent_by(one_unit(rows), contribution=upper_triangles, width=DIM * (DIM + 1) // 2),
        R**2,
        np.sqrt(2) * R**2,
    ),
    "tally": (tallied, np.sqrt(2) * R, 2 * R),
    "gradient": (gradient, R / 2, R),
}


@pytest.mark.parametrize("name", RELEASES)
def test_no_unit_is_louder_than_the_table_says_and_some_are_as_loud(name: str) -> None:
    """Over units of one to three pairs of any length, and replacements that change the cluster."""
    send, alone, replaced = RELEASES[name]
    rng = np.random.default_rng(0)
    found, moved = 0.0, 0.0
    for number in range(150):
        pairs = rng.normal(size=(rng.integers(1, 4), DIM)) * 10.0 ** rng.integers(-1, 2)
        other = -pairs if number % 3 == 0 else CENTRES[[number % HEADS]] * rng.choice([-9.0, 9.0])
        orthogonal = np.eye(DIM)[[number % DIM]] * 9
        first = send(pairs)
        found = max(found, float(np.linalg.norm(first)))
        for second in (send(other), send(orthogonal), send(np.eye(DIM)[[(number + 1) % DIM]] * 9)):
            moved = max(moved, float(np.linalg.norm(first - second)), float(np.linalg.norm(send(orthogonal) - second)))
    assert found <= alone * (1 + 1e-9)
    assert moved <= replaced * (1 + 1e-9)
    assert found > 0.9 * alone
    assert moved > (0.85 if name != "gradient" else 0.7) * replaced


@given(st.integers(0, 500))
def test_a_pair_that_changes_cluster_moves_two_blocks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 1, DIM))
    assert np.linalg.norm(tallied(first) - tallied(second)) <= 2 * R * (1 + 1e-9)


def learned(changes: dict[str, object], features: np.ndarray, middles: np.ndarray, ledger: Ledger | None = None):
    return learned_scorer(
        held(features), middles, public(), dpprefsyn(**changes), ledger or quiet(len(features)), KEY
    )  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_held_out_pairs_are_ordered_as_their_makers_would(form: str) -> None:
    scorer, charged = learned(FORMS[form], *compared(1, 400))
    right = scorer.score(compared(2, 300)[0])
    assert np.mean(right > 0.5) > (0.85 if form.startswith("single") else 0.6)
    assert len(charged.releases) == {
        "private directions": 2, "single head": 4, "clustered": 3, "clustered heads": 6
    }.get(form, 1)  # fmt: skip


@pytest.mark.parametrize("form", ["single", "private directions", "single head", "topics"])
def test_flipped_labels_negate_the_heads_and_not_the_directions(form: str) -> None:
    features, middles = compared(1, 200)
    (scorer, _), (flipped, _) = learned(FORMS[form], features, middles), learned(FORMS[form], -features, middles)
    assert flipped.heads == pytest.approx(-scorer.heads, abs=1e-3)
    if scorer.directions is not None:
        assert flipped.directions == pytest.approx(scorer.directions, abs=1e-2)


def test_random_labels_are_ordered_by_chance() -> None:
    features, middles = compared(1, 600)
    flips = np.random.default_rng(0).choice([-1.0, 1.0], len(features))[:, None]
    found = [np.mean(learned({}, features * flips, middles)[0].score(compared(s, 500)[0]) > 0.5) for s in (7, 8, 9)]
    assert 0.1 < np.mean(found) < 0.9
    honest = np.mean(learned({}, features, middles)[0].score(compared(7, 500)[0]) > 0.5)
    assert honest > 0.8


def test_pairs_that_are_no_preference_say_nothing() -> None:
    features, middles = compared(1, 100)
    silent = np.zeros((20, DIM))
    for changes in ({}, CLUSTERED, {**CLUSTERED, "heads_by": "prompt"}):
        ledger = quiet(120)
        with_silent = learned(changes, np.concatenate([features, silent]), np.concatenate([middles, silent]), ledger)[0]
        without = learned_scorer(held(features), middles, public(), dpprefsyn(**changes), ledger, KEY)[0]
        assert with_silent.heads == pytest.approx(without.heads, abs=1e-4)
        assert with_silent.mixture == pytest.approx(without.mixture, abs=1e-4)


def test_a_greedy_client_is_as_loud_as_one_pair_and_louder_without_the_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A canary: an embedding of length 100, in a client of fifty pairs."""
    loud = np.tile(np.eye(DIM)[:1] * 100, (50, 1))
    pairs = PrivateSamples.of_one_class(loud, np.zeros(50, dtype=np.int64))

    def heard() -> float:
        found, _ = learned_scorer(pairs, loud, public(), dpprefsyn(), quiet(1, unit="client"), KEY)
        return float(np.linalg.norm(found.heads))

    limit = public().radius(0.9)
    assert heard() == pytest.approx(limit, rel=0.01)
    for module in (mechanism, releases):
        monkeypatch.setattr(module, "clip_rows", lambda rows, clip_norm: np.asarray(rows, dtype=np.float64))
    assert heard() > 50 * limit


def first_drawn(monkeypatch: pytest.MonkeyPatch, seed: int, changes: dict[str, Any]) -> tuple[int, ...]:
    """Who is drawn for the first step of a run's heads."""
    drawn: list[tuple[int, ...]] = []

    def recording(held: PrivateSamples, **how: Any) -> Any:
        drawn.append(tuple(sorted(held.unit.tolist())))
        return gradient_blocks(held, **how)

    monkeypatch.setattr(releases, "gradient_blocks", recording)
    params, (features, middles) = dpprefsyn(**changes), compared(1, 200)
    by_run = {"sampling": "poisson", "clients_per_round": 60} if params.training.batch is None else {}
    declared = privacy(noise_seed=0, noise_multiplier=1.0, epsilon=1e15, **by_run)
    ledger = Ledger(declaration=declared, population=200)
    learned_scorer(held(features), middles, public(seed), params, ledger, KEY)
    return drawn[0]


@pytest.mark.parametrize(
    ("form", "batch"),
    [("single head", None), ("topics", None), *((form, 60) for form in ("single head", "private directions",
     "clustered heads", "topics"))],
)  # fmt: skip
def test_runs_that_differ_in_a_parameter_or_a_candidate_draw_anew(
    monkeypatch: pytest.MonkeyPatch, form: str, batch: int | None
) -> None:
    """Their releases are priced as independent, the first step among them, whose heads are zeros in every run."""
    training = {"steps": 2, "batch": batch, "epochs": 0.6}
    base = {**FORMS[form], "scorer": "bradley_terry", "training": training}
    seen = [first_drawn(monkeypatch, 5, base), first_drawn(monkeypatch, 6, base)]
    for changes in (
        {"training": {**training, "clip_share": 0.4}},
        {"radius_quantile": 0.8},
        {"projection_share": 0.2},
        {"cluster_share": 0.2},
        {"seed": 1},
    ):
        seen.append(first_drawn(monkeypatch, 5, {**base, **changes}))
    assert len(set(seen)) == len(seen)
    assert first_drawn(monkeypatch, 5, base) == seen[0]


def test_empty_clusters_are_noised_and_have_no_share_of_their_own() -> None:
    """All pairs lie on one side: nobody can see from zeros which clusters are empty."""
    features = np.tile(np.eye(DIM)[:1] * 0.5, (200, 1))
    declared = privacy(noise_seed=0)
    _, charged = learned(CLUSTERED, features, features, Ledger(declaration=declared, population=200))
    assert [r.name for r in charged.releases] == ["dpprefsyn.clusters"] * 3
    for seed in range(3):
        ledger = Ledger(declaration=declared, population=200)
        params = dpprefsyn(**CLUSTERED)
        scorer, _ = learned_scorer(held(features), features, public(), params, ledger, new_noise_key(seed))
        assert (scorer.heads != 0).all()


def test_the_noise_has_the_stated_deviation_and_no_other() -> None:
    features, middles = compared(1, 300)
    declared, drawn = privacy(noise_seed=0), []
    plain = learned({}, features, middles)[0].heads
    for seed in range(40):
        ledger = Ledger(declaration=declared, population=300)
        scorer, charged = learned_scorer(held(features), middles, public(), dpprefsyn(), ledger, new_noise_key(seed))
        drawn.append((scorer.heads - plain) * 300)
    stddev = charged.releases[0].noise_stddev
    assert np.std(drawn) == pytest.approx(stddev, rel=0.1)
    assert np.std(drawn) != pytest.approx(0.8 * stddev, rel=0.1)


def test_the_published_form_says_that_it_protects_nobody() -> None:
    changes = {**CLUSTERED, "form": "published", "scorer": "bradley_terry", "projection": "private"}
    scorer, charged = learned(changes, *compared(1, 200), Ledger(declaration=privacy(noise_seed=0), population=200))
    assert charged.epsilon() == np.inf
    assert [entry.name for entry in charged.unaccounted] == ["dpprefsyn.mean", "dpprefsyn.sizes"]
    assert scorer.mixture * 200 == pytest.approx(np.round(scorer.mixture * 200))


CITED = {
    **CLUSTERED, "form": "published", "scorer": "bradley_terry", "projection": "private", "parts": "cited",
    "training": {"steps": 3},
}  # fmt: skip


def test_cited_parts_are_read_and_not_released_and_the_heads_have_what_they_leave() -> None:
    declared = privacy(noise_seed=0)
    scorer, charged = learned(CITED, *compared(1, 200), Ledger(declaration=declared, population=200))
    assert charged.epsilon() == np.inf
    assert [entry.name for entry in charged.unaccounted] == [
        "dpprefsyn.mean", "dpprefsyn.cited_pca", "dpprefsyn.cited_kmeans", "dpprefsyn.sizes",
    ]  # fmt: skip
    assert {release.name for release in charged.releases} == {"dpprefsyn.heads"}
    assert charged.spent() <= 0.75 * declared.epsilon + 1e-9  # "epsilon_0 = epsilon_1 = 0.125 epsilon" (4.2)
    assert charged.spent() > 0.74 * declared.epsilon
    assert scorer.directions is not None
    assert scorer.directions.T @ scorer.directions == pytest.approx(np.eye(4), abs=1e-9)


def test_cited_parts_without_noise_are_the_main_directions_of_the_pairs() -> None:
    features, middles = compared(1, 300)
    scorer, _ = learned(CITED, features, middles)
    rows = clip_rows(features - features.mean(axis=0), public().radius(dpprefsyn().radius_quantile))
    assert scorer.directions is not None
    main = main_directions(rows.T @ rows, 4)
    assert np.linalg.svd(main.T @ scorer.directions)[1] == pytest.approx(np.ones(4), abs=1e-3)


@pytest.mark.parametrize("changes", [{"form": "clustered"}, {"scorer": "mean_difference"}, {"projection": "public"}])
def test_cited_parts_are_those_of_the_published_form_alone(changes: dict[str, Any]) -> None:
    with refuses("cited-parts-are-published", parameter="dpprefsyn.parts"):
        dpprefsyn(**{**CITED, **changes})


def test_an_exact_size_at_the_threshold_tells_who_was_there_and_a_noised_one_does_not() -> None:
    """Two worlds of 70 pairs and 69: a cluster right at n / (K + 4) is kept in one of them alone."""
    from fedtext.algorithms.dpprefsyn.releases import large_enough

    counts = np.array([40.0, 20.0, 10.0])
    assert large_enough(counts, 70).tolist() == [True, True, True]
    assert large_enough(counts - np.array([0, 0, 1]), 70).tolist() == [True, True, False]
    stddev, rng = 25.0, np.random.default_rng(0)  # of a tally at epsilon 1 / 8
    kept = [np.mean(size + stddev * rng.normal(size=20_000) >= 10) for size in (10.0, 9.0)]
    assert abs(kept[0] - kept[1]) < 0.03
