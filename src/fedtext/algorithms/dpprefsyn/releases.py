"""From private pairs to the released scorer: the queries in their order (Algorithm 1, lines 2 to 12).

A unit contributes the mean over its pairs. All queries are planned, and each charges the ledger.

Clusters: k-means on private differences with noisy counts and sums (line 7).

Heads: Bradley-Terry models trained by noisy gradients, all heads in one release per step (line 9). Heads of disjoint
clusters do not compose in parallel: a replaced unit may move from one cluster to another. So a step's gradients of all
heads are one vector per unit, under one clip.

The `published` form reads without a mechanism, for comparison, and reports that to budget guard and ledger. A cluster
that is dropped by its exact size reveals whether one pair was there: epsilon is infinite. Centring removes the mean of
all differences, which is the common preference. Scaling to length 1 gives a pair that hardly differs the weight of any
other. The released code does both. Its projection and clusters may be the `cited` ones
(`fedtext.algorithms.dpprefsyn.cited`), which are reads of this kind too. No other form depends on an exact private
value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.cited import OF_DIRECTIONS, noised_lloyd, sampled_directions
from fedtext.algorithms.dpprefsyn.plan import CLUSTERS, HEADS, MOMENT, TALLIES, Plan
from fedtext.algorithms.dpprefsyn.scorer import Scorer
from fedtext.embedding.exact_product import exact_product
from fedtext.embedding.similarity import nearest, unit_length
from fedtext.federation.mechanism import summed_stddev
from fedtext.federation.messages import BlocksOf
from fedtext.federation.noisy_steps import NoisyStep, release_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block, digest
from fedtext.params.dpprefsyn import Dpprefsyn, HeadTraining
from fedtext.privacy.budget_guard import current
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.kmeans import mixture, moved_centres
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey
from fedtext.privacy.pca import main_directions, second_moment, triangle_size, upper_triangles
from fedtext.privacy.plan import expected_units
from fedtext.seeding import stream
from fedtext.training.bradley_terry import descents
from fedtext.voting.ballots import client_mean_blocks

CELLS = 2**22  # numbers in a block of contributions: 32 MB
Contribution = Callable[[Float[np.ndarray, "pair dim"]], Float[np.ndarray, "pair part"]]


def unit_means(
    held: PrivateSamples, contribution: Contribution | None = None, *, heads: int = 1, width: int
) -> Iterator[Block]:
    """Yield each unit's unclipped contribution: the mean over its pairs, each in the block of its head.

    A mean is no longer than the longest of its vectors. `held.label` is a pair's head; a pair of head -1 adds nothing,
    and counts among its unit's pairs.

    Args:
        held: Pairs; `features` as they are or as `contribution` maps them.
        contribution: Maps rows of features, each by itself.
        heads: Number of blocks per row.
        width: Width of the whole row.
    """
    units, index = np.unique(held.unit, return_inverse=True)
    block = max(1, min(256, CELLS // width))
    first = 0
    for rows in client_mean_blocks(
        held.features, index, len(units), features=contribution, label=held.label, classes=heads, block=block
    ):
        if len(rows):
            yield Block(units[first : first + len(rows)], np.asarray(rows, dtype=np.float64))
        first += len(rows)


class NoisySumReleaser:
    """Release mechanism for planned sums, with the ledger that each of them charges.

    All parameters and all public arrays so far seed every sample (docs/decisions/0010): two runs with one key that
    differ in any of them sample units independently.

    Attributes:
        ledger: The ledger after the last release.
    """

    def __init__(self, plan: Plan, ledger: Ledger, key: NoiseKey, settings: str) -> None:
        self.plan, self.ledger, self._key, self._settings, self._shown = plan, ledger, key, settings, ""

    def show(self, *arrays: Shaped[np.ndarray, " ..."]) -> None:
        """Add public arrays on which all later contributions depend."""
        self._shown = self.named(*arrays)

    def named(self, *arrays: Shaped[np.ndarray, " ..."]) -> str:
        """Return a digest of all public arrays so far, and these."""
        return f"{self._shown} {digest(*arrays)}"

    def sum(
        self,
        name: str,
        number: int,
        samples: PrivateSamples,
        blocks_of: BlocksOf,
        *,
        clip_norm: float,
    ) -> Float[np.ndarray, " dim"]:
        """Release one noisy sum.

        Raises:
            BudgetExceeded: the ledger or the budget guard refuses; no private value has been read.
        """
        query = self.plan.query(name, number, clip_norm).about(self._shown, self._settings)
        found = release_noisy_sum(query, blocks_of, samples, self.ledger, self._key)
        self.ledger = found.ledger
        return found.sum

    def steps(
        self,
        name: str,
        samples: PrivateSamples,
        training: Callable[[NoisyStep], Float[np.ndarray, "head part"]],
        *,
        clip_norm: float,
    ) -> Float[np.ndarray, "head part"]:
        """Run a training on planned Poisson-sampled steps, each identified by `named`, and return its heads."""
        query = self.plan.query(name, 1, clip_norm).about(self._shown, self._settings)
        made, self.ledger = release_noisy_steps(query, training, samples, self.ledger, self._key)
        return made


Heads = Float[np.ndarray, "head part"]


def trained_heads(
    assigned: PrivateSamples,
    expected: Float[np.ndarray, " head"],
    training: HeadTraining,
    radius: float,
    releaser: NoisySumReleaser,
) -> Heads:
    """Train heads from zero by steps on the sums of clipped gradients.

    Args:
        assigned: `features` are projected differences, clipped to the radius; `label` is each pair's head.
        expected: Number of units of each head, public or released.
        training: Steps of all units, or of Poisson samples.
        radius: R; a pair's gradient is shorter, and clipped to `training.clip_share` of it.
        releaser: The release mechanism.
    """
    heads = np.zeros((len(expected), assigned.features.shape[1]))
    clip_norm = training.clip_share * radius
    if training.batch is None:
        for number in range(1, training.steps + 1):
            blocks = partial(gradient_blocks, heads=heads, clip_norm=clip_norm)
            releaser.show(heads)
            total = releaser.sum(HEADS, number, assigned, blocks, clip_norm=clip_norm)
            heads = heads + training.learning_rate * total.reshape(heads.shape) / expected[:, None]
        return heads
    share = training.batch / releaser.ledger.population

    def stepped(ask: NoisyStep) -> Heads:
        moved = heads
        for _ in range(releaser.plan.kinds[HEADS].count):
            total = ask(partial(gradient_blocks, heads=moved, clip_norm=clip_norm), releaser.named(moved))
            moved = moved + training.learning_rate * total.reshape(moved.shape) / (share * expected[:, None])
        return moved

    return releaser.steps(HEADS, assigned, stepped, clip_norm=clip_norm)


def gradient_blocks(held: PrivateSamples, *, heads: Heads, clip_norm: float) -> list[Block]:
    """Compute each unit's mean of its pairs' clipped descents, in the block of each pair's head."""
    rows = clip_rows(descents(heads, held.features, held.label), clip_norm)
    return list(unit_means(replace(held, features=rows), heads=len(heads), width=heads.size))


Rows = Float[np.ndarray, "row part"]


@dataclass(frozen=True)
class Clusters:
    """Clusters with the results of the last k-means release.

    Attributes:
        centres: Centres to which pairs were assigned.
        counts: Noisy number of pairs of each cluster, in units.
        sums: Noisy sum of their projected differences.
        kept: Mask of the clusters with at least n / (K + 4) by the noisy count (appendix B).
    """

    centres: Float[np.ndarray, "cluster part"]
    counts: Float[np.ndarray, " cluster"]
    sums: Float[np.ndarray, "cluster part"]
    kept: Bool[np.ndarray, " cluster"]

    @property
    def mixture(self) -> Float[np.ndarray, " cluster"]:
        """Return the shares of the kept clusters."""
        return mixture(self.counts, self.kept)


def noised_clusters(
    samples: PrivateSamples, start: Rows, radius: float, units: float, releaser: NoisySumReleaser
) -> Clusters:
    """Run noisy k-means with `TALLIES` releases; each pair contributes (R, z), of norm sqrt(2) R, to its cluster.

    Between releases the centres move. The last release counts the returned clusters, so it also gives their mixture
    and, as means, their heads, without further privacy cost.

    Args:
        samples: `features` are projected differences, clipped to the radius.
        start: Public initial centres.
        radius: R.
        units: Expected number of queried units, which is public.
        releaser: The release mechanism.
    """
    centres, part = np.asarray(start, dtype=np.float64), start.shape[1]
    for number in range(1, TALLIES + 1):
        own = replace(samples, label=nearest_centre(samples.features, centres))
        blocks = partial(
            unit_means,
            contribution=partial(_with_count, radius=radius),
            heads=len(centres),
            width=len(centres) * (part + 1),
        )
        releaser.show(centres)
        total = releaser.sum(CLUSTERS, number, own, blocks, clip_norm=np.sqrt(2.0) * radius)
        total = total.reshape(len(centres), part + 1)
        counts, sums = total[:, 0] / radius, total[:, 1:]
        if number < TALLIES:
            stddev = summed_stddev(releaser.ledger) / radius
            centres = moved_centres(centres, counts, sums, stddev=stddev, radius=radius)
    return Clusters(centres, counts, sums, large_enough(counts, units))


def large_enough(counts: Float[np.ndarray, " cluster"], units: float) -> Bool[np.ndarray, " cluster"]:
    """Return a mask of the clusters with at least a (K + 4)th of all units (appendix B)."""
    return np.asarray(counts >= units / (len(counts) + 4))


def nearest_centre(rows: Rows, centres: Rows) -> Int[np.ndarray, " row"]:
    """Return the nearest centre of every row, the first of equals; -1 for a row of zeros, which is no preference.

    It depends on that row and the centres alone, bit for bit.
    """
    products = exact_product(rows.astype(np.float64), centres.T.astype(np.float64))
    found = ((centres**2).sum(axis=1) - 2.0 * products).argmin(axis=1)
    return np.asarray(np.where(rows.any(axis=1), found, -1))


def _with_count(rows: Rows, radius: float) -> Rows:
    """Return (R, z): the count has the length of the longest difference, so that neither dominates the norm."""
    return np.concatenate([np.full((len(rows), 1), radius), rows], axis=1)


MEAN, SIZES = "dpprefsyn.mean", "dpprefsyn.sizes"


def centred(pairs: PrivateSamples, ledger: Ledger) -> tuple[PrivateSamples, Ledger]:
    """Subtract the exact mean of the differences; also return the charged ledger."""
    charged = _read(MEAN, "the exact mean of all differences was taken from each", ledger)
    rows = pairs.features.astype(np.float64)
    return replace(pairs, features=rows - rows.mean(axis=0)), charged


def of_length_one(rows: Float[np.ndarray, "row part"]) -> Float[np.ndarray, "row part"]:
    """Scale each projected difference to length 1."""
    return unit_length(rows)


def counted(clusters: Clusters, scored: PrivateSamples, ledger: Ledger) -> tuple[Clusters, Ledger]:
    """Return the clusters with exact sizes, by which they are dropped and mixed (lines 11 and 12), and the ledger."""
    charged = _read(SIZES, "clusters were dropped and mixed by their exact sizes", ledger)
    own = nearest_centre(scored.features, clusters.centres)
    sizes = np.bincount(own[own >= 0], minlength=len(clusters.centres)).astype(np.float64)
    return replace(clusters, counts=sizes, kept=large_enough(sizes, len(own))), charged


PCA, KMEANS = "dpprefsyn.cited_pca", "dpprefsyn.cited_kmeans"


def cited_directions(
    clipped: PrivateSamples, params: Dpprefsyn, radius: float, ledger: Ledger
) -> tuple[Float[np.ndarray, "dim part"], Ledger]:
    """Draw the projection by DP-PCA as cited (line 5), of rows no longer than the radius; also return the ledger."""
    charged = _read(PCA, "directions were drawn of the exact second moment, by DP-PCA as the paper cites it", ledger)
    rows = clipped.features.astype(np.float64) / radius
    epsilon = ledger.declaration.epsilon * params.projection_share * OF_DIRECTIONS
    rng = stream(params.seed, "cited directions")
    return sampled_directions(exact_product(rows.T, rows), params.dimensions, epsilon, rng), charged


def cited_clusters(scored: PrivateSamples, params: Dpprefsyn, ledger: Ledger) -> tuple[Clusters, Ledger]:
    """Cluster projected differences by DP-KMeans as cited (line 7); also return the ledger."""
    charged = _read(KMEANS, "centres were moved by the exact pairs, by DP-KMeans as the paper cites it", ledger)
    rows = scored.features.astype(np.float64)
    epsilon = ledger.declaration.epsilon * params.cluster_share
    centres = noised_lloyd(rows[rows.any(axis=1)], params.heads, epsilon, stream(params.seed, "cited clusters"))
    none = np.zeros(params.heads)
    return Clusters(centres, none, np.zeros_like(centres), none.astype(bool)), charged


def _read(name: str, reason: str, ledger: Ledger) -> Ledger:
    current().unaccounted(name, reason, ledger)
    return ledger.unaccounted_read(name, f"{reason}, by no mechanism")


Directions = Float[np.ndarray, "dim part"] | None


def learned_scorer(
    pairs: PrivateSamples,
    middles: Float[np.ndarray, "pair dim"],
    public: Candidates,
    params: Dpprefsyn,
    ledger: Ledger,
    key: NoiseKey,
) -> tuple[Scorer, Ledger]:
    """Learn the scorer from private pairs under the plan; without private pairs nothing is released.

    Args:
        pairs: Private pairs; `features` are differences.
        middles: Mean embedding of each pair, by which its topic is found.
        public: Candidates.
        params: Form and sizes.
        ledger: Ledger of `plan.planned_ledger` for these parameters.
        key: The run's secret.

    Returns:
        The scorer, and the charged ledger.

    Raises:
        BudgetExceeded: the ledger or the budget guard refuses; no private value has been read.
    """
    dim = pairs.features.shape[1]
    plan = Plan.of(params, ledger.declaration, ledger.population, dim)
    releaser, units = NoisySumReleaser(plan, ledger, key, params.model_dump_json()), expected_units(ledger)
    releaser.show(public.embeddings)  # radius, public directions, topics and first centres follow from them
    radius = public.radius(params.radius_quantile)
    if params.form == "published":
        pairs, releaser.ledger = centred(pairs, releaser.ledger)
    clipped = replace(pairs, features=clip_rows(pairs.features, radius))
    directions = _directions(clipped, public, params, radius, releaser)
    if directions is not None:
        releaser.show(directions)
    parts = clipped if directions is None else replace(clipped, features=_projected(clipped.features, directions))
    if params.form == "published":
        parts, radius = replace(parts, features=of_length_one(parts.features)), 1.0
    scored = replace(parts, features=clip_rows(parts.features, radius))
    if params.clusters_privately:
        if params.parts == "cited":
            clusters, releaser.ledger = cited_clusters(scored, params, releaser.ledger)
        else:
            start = _starting_centres(public, directions, params, radius)
            clusters = noised_clusters(scored, start, radius, units, releaser)
        if params.form == "published":
            clusters, releaser.ledger = counted(clusters, scored, releaser.ledger)
        heads = _cluster_heads(scored, clusters, params, radius, units, releaser)
        return Scorer(heads, clusters.mixture, directions, centres=clusters.centres), releaser.ledger
    topics = public.topics(params.heads, params.seed) if params.heads_by == "prompt" else None
    assigned = replace(scored, label=_topic(middles, topics))
    expected = np.full(params.heads, units / params.heads)
    heads = _sums_or_trained(assigned, expected, params, radius, releaser)
    return Scorer(heads, np.full(params.heads, 1 / params.heads), directions, topics), releaser.ledger


def _directions(
    clipped: PrivateSamples, public: Candidates, params: Dpprefsyn, radius: float, releaser: NoisySumReleaser
) -> Directions:
    """Return P (line 5): of public differences, of the noisy second moment of private ones, or None."""
    if params.projection == "none":
        return None
    if params.projection == "public":
        return public.directions(params.dimensions)
    if params.parts == "cited":
        found, releaser.ledger = cited_directions(clipped, params, radius, releaser.ledger)
        return found
    dim = clipped.features.shape[1]
    blocks = partial(unit_means, contribution=upper_triangles, width=triangle_size(dim))
    total = releaser.sum(
        MOMENT, 1, replace(clipped, label=np.zeros(len(clipped.unit), dtype=np.int64)), blocks,
        clip_norm=radius**2,
    )  # fmt: skip
    return main_directions(second_moment(total, dim), params.dimensions)


def _projected(rows: Float[np.ndarray, "row dim"], directions: Float[np.ndarray, "dim part"]) -> np.ndarray:
    return exact_product(rows.astype(np.float64), directions)


def _topic(
    middles: Float[np.ndarray, "pair dim"], topics: Float[np.ndarray, "topic dim"] | None
) -> Int[np.ndarray, " pair"]:
    """Return each pair's topic; -1 for a pair without a direction."""
    if topics is None:
        return np.zeros(len(middles), dtype=np.int64)
    found = nearest(middles.astype(np.float32), topics.astype(np.float32))[0]
    return np.asarray(np.where(middles.any(axis=1), found, -1))


def _starting_centres(
    public: Candidates, directions: Directions, params: Dpprefsyn, radius: float
) -> Float[np.ndarray, "cluster part"]:
    """Sample public differences, of either sign, as initial centres."""
    rng, rows = stream(params.seed, "centres"), public.differences
    drawn = rows[rng.choice(len(rows), params.heads, replace=len(rows) < params.heads)]
    signed = drawn * rng.choice([-1.0, 1.0], params.heads)[:, None]
    parts = signed if directions is None else signed @ directions
    return clip_rows(parts, radius)


def _cluster_heads(
    scored: PrivateSamples,
    clusters: Clusters,
    params: Dpprefsyn,
    radius: float,
    units: float,
    releaser: NoisySumReleaser,
) -> Float[np.ndarray, "head part"]:
    """Return theta_k: the mean of a cluster's differences, from the last release, or a trained head."""
    fewest = units / (params.heads + 4)
    expected = np.maximum(clusters.counts, fewest)
    if not params.trains_heads:
        return np.asarray(clusters.sums / expected[:, None])
    releaser.show(clusters.centres, expected)
    assigned = replace(scored, label=nearest_centre(scored.features, clusters.centres))
    return _sums_or_trained(assigned, expected, params, radius, releaser)


def _sums_or_trained(
    assigned: PrivateSamples,
    expected: Float[np.ndarray, " head"],
    params: Dpprefsyn,
    radius: float,
    releaser: NoisySumReleaser,
) -> Float[np.ndarray, "head part"]:
    """Return the heads of pairs labelled with their head; `expected` is the number of units of each head."""
    if params.scorer == "bradley_terry":
        return trained_heads(assigned, expected, params.training, radius, releaser)
    heads, part = len(expected), assigned.features.shape[1]
    blocks = partial(unit_means, heads=heads, width=heads * part)
    total = releaser.sum(HEADS, 1, assigned, blocks, clip_norm=radius)
    return np.asarray(total.reshape(heads, part) / expected[:, None])
