"""From private pairs to the released scorer: what is asked of them, in which order (Algorithm 1, lines 2 to 12).

Nothing exact decides anything, but in the `published` form, which says so to gate and ledger.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from fedtext.algorithms.dpprefsyn import published
from fedtext.algorithms.dpprefsyn.budget import HEADS, MOMENT, Plan
from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.clusters import Clusters, nearest_centre, noised_clusters
from fedtext.algorithms.dpprefsyn.door import Door, unit_means
from fedtext.algorithms.dpprefsyn.heads import trained_heads
from fedtext.algorithms.dpprefsyn.scorer import Scorer
from fedtext.embedding.exact_product import exact_product
from fedtext.embedding.similarity import nearest
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.pca import main_directions, second_moment, triangle_size, upper_triangles
from fedtext.privacy.plan import expected_units
from fedtext.seeding import stream

Directions = Float[np.ndarray, "dim part"] | None


def learned_scorer(
    pairs: PrivateSamples,
    middles: Float[np.ndarray, "pair dim"],
    public: Candidates,
    params: Dpprefsyn,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Scorer, Ledger]:
    """The scorer that private pairs say, and the ledger that paid for it. Without private pairs nothing is asked.

    Args:
        pairs: `features` are differences; who holds them.
        middles: Middle of each pair, by which a topic is found.
        public: Candidates.
        params: Which form.
        ledger: Opened by `budget.planned_ledger` for these parameters.
        key: The run's secret.

    Raises:
        BudgetExceeded: the ledger or the gate refuses; nothing has been read.
    """
    dim = pairs.features.shape[1]
    plan = Plan.of(params, ledger.declaration, ledger.population, dim)
    door, units = Door(plan, ledger, key, params.model_dump_json()), expected_units(ledger)
    door.show(public.embeddings)  # radius, public directions, topics and first centres follow from them
    radius = public.radius(params.radius_quantile)
    if params.form == "published":
        pairs, door.ledger = published.centred(pairs, door.ledger)
    clipped = replace(pairs, features=clip_rows(pairs.features, radius))
    directions = _directions(clipped, public, params, radius, door)
    if directions is not None:
        door.show(directions)
    parts = clipped if directions is None else replace(clipped, features=_projected(clipped.features, directions))
    if params.form == "published":
        parts, radius = replace(parts, features=published.of_length_one(parts.features)), 1.0
    scored = replace(parts, features=clip_rows(parts.features, radius))
    if params.clusters_privately:
        start = _starting_centres(public, directions, params, radius)
        clusters = noised_clusters(scored, start, radius, units, door)
        if params.form == "published":
            clusters, door.ledger = published.counted(clusters, scored, door.ledger)
        heads = _cluster_heads(scored, clusters, params, radius, units, door)
        return Scorer(heads, clusters.mixture, directions), door.ledger
    topics = public.topics(params.heads, params.seed) if params.heads_by == "prompt" else None
    assigned = replace(scored, label=_topic(middles, topics))
    expected = np.full(params.heads, units / params.heads)
    heads = _sums_or_trained(assigned, expected, params, radius, door)
    return Scorer(heads, np.full(params.heads, 1 / params.heads), directions, topics), door.ledger


def _directions(
    clipped: PrivateSamples, public: Candidates, params: Dpprefsyn, radius: float, door: Door
) -> Directions:
    """P (line 5): of public differences, of the noised second moment of private ones, or none."""
    if params.projection == "none":
        return None
    if params.projection == "public":
        return public.directions(params.dimensions)
    dim = clipped.features.shape[1]
    blocks = partial(unit_means, contribution=upper_triangles, width=triangle_size(dim))
    total = door.sum(
        MOMENT, 1, replace(clipped, label=np.zeros(len(clipped.unit), dtype=np.int64)), blocks,
        clip_norm=radius**2,
    )  # fmt: skip
    return main_directions(second_moment(total, dim), params.dimensions)


def _projected(rows: Float[np.ndarray, "row dim"], directions: Float[np.ndarray, "dim part"]) -> np.ndarray:
    return exact_product(rows.astype(np.float64), directions)


def _topic(
    middles: Float[np.ndarray, "pair dim"], topics: Float[np.ndarray, "topic dim"] | None
) -> Int[np.ndarray, " pair"]:
    """Each pair's topic; -1 of one without a direction."""
    if topics is None:
        return np.zeros(len(middles), dtype=np.int64)
    found = nearest(middles.astype(np.float32), topics.astype(np.float32))[0]
    return np.asarray(np.where(middles.any(axis=1), found, -1))


def _starting_centres(
    public: Candidates, directions: Directions, params: Dpprefsyn, radius: float
) -> Float[np.ndarray, "cluster part"]:
    """Public differences, of either sign."""
    rng, rows = stream(params.seed, "centres"), public.differences
    drawn = rows[rng.choice(len(rows), params.heads, replace=len(rows) < params.heads)]
    signed = drawn * rng.choice([-1.0, 1.0], params.heads)[:, None]
    parts = signed if directions is None else signed @ directions
    return clip_rows(parts, radius)


def _cluster_heads(
    scored: PrivateSamples, clusters: Clusters, params: Dpprefsyn, radius: float, units: float, door: Door
) -> Float[np.ndarray, "head part"]:
    """theta_k: the mean of a cluster's differences, which the last tally has, or trained."""
    fewest = units / (params.heads + 4)
    expected = np.maximum(clusters.counts, fewest)
    if not params.trains_heads:
        return np.asarray(clusters.sums / expected[:, None])
    door.show(clusters.centres, expected)
    assigned = replace(scored, label=nearest_centre(scored.features, clusters.centres))
    return _sums_or_trained(assigned, expected, params, radius, door)


def _sums_or_trained(
    assigned: PrivateSamples,
    expected: Float[np.ndarray, " head"],
    params: Dpprefsyn,
    radius: float,
    door: Door,
) -> Float[np.ndarray, "head part"]:
    """Heads of pairs whose labels are their heads; `expected` units have each."""
    if params.scorer == "bradley_terry":
        return trained_heads(assigned, expected, params.training, radius, door)
    heads, part = len(expected), assigned.features.shape[1]
    blocks = partial(unit_means, heads=heads, width=heads * part)
    total = door.sum(HEADS, 1, assigned, blocks, clip_norm=radius)
    return np.asarray(total.reshape(heads, part) / expected[:, None])
