"""Recovery rate: how many preference pairs keep, after the noise of epsilon = 1, the order they had without it.

    python -m benchmarks.recovery [--prompts 1800] [--responses 10] [--documents 5000] [--seeds 5] [--out build/benchmarks/recovery.json]

POPri's Figure 6, right: of each prompt's chosen and rejected (rank 5) response, how often has the chosen one the higher
score without noise and clip? Such a rate compares noised with un-noised scores, so on private text it would itself be
a release; it is measured here on a public stand-in: third-party docstrings play the clients, one document each, drawn
with replacement until there are as many clients as asked for. Other documents give the prompts, the bundled generator
the candidates. Seeds vary the draw of clients and the noise; the candidates are the same throughout. Three settings:

- 10,000 and 1,000 clients, all asked in each of 20 rounds, epsilon = 1, delta = 3e-6; `as published` has the paper's
  multiplier (19.3), every other row the exact one for what it releases (20 releases, or one).
- 1,000 of 72,000 clients asked each round, the paper's multiplier 1.14 for every ballot (App. C, v1).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedtext.corpora.public import public_records
from fedtext.corpora.records import sample_records
from fedtext.embedding.nonempty import encode_nonempty, nonempty_mask
from fedtext.evaluation.intervals import mean_interval
from fedtext.generation.few_shot import draw_prompts, sampled_texts
from fedtext.generation.generators.local import LocalGenerator
from fedtext.generation.prompt_forms import SampleList
from fedtext.models.encoder import load_encoder
from fedtext.params.corpus import Chunking, Corpus
from fedtext.params.generation import Sampler
from fedtext.privacy.calibration import noise_multiplier
from fedtext.seeding import stream
from fedtext.voting.ballots import client_means, nearest_histogram_blocks
from fedtext.voting.choice import choose_pairs
from fedtext.voting.projection import project_scores
from fedtext.voting.witness import random_features, witness_scores
from tests.parameters import conf_base
from tests.voting.oracles import summed_scores

ROOT = Path(__file__).parents[1]
EPSILON, DELTA, ROUNDS, REJECTED = 1.0, 3e-6, 20, 5
PUBLISHED = {"all": 19.3, "sampled": 1.14}
PUBLIC_TEXTS = 800
FEATURES, BANDWIDTH = 1024, 1.0


class StandIn(NamedTuple):
    """Public text in the roles of a run: candidates by prompt, and one row of means, features and votes a document."""

    candidates: np.ndarray
    means: np.ndarray
    feature_means: np.ndarray
    samples: np.ndarray
    document: np.ndarray


class Setting(NamedTuple):
    """Number of sampled clients, and the noise multiplier of a ballot of each round and of a single release."""

    name: str
    clients: int
    published: float
    each_round: float
    single: float


def stand_in(prompts: int, responses: int, documents: int, cache: Path) -> StandIn:
    """Return embeddings of candidates and of the stand-in clients' samples, from `cache` if they are there."""
    if not cache.exists():
        cache.parent.mkdir(parents=True, exist_ok=True)
        np.savez(cache, **_embedded(prompts, responses, documents))
    stored = np.load(cache, allow_pickle=False)
    samples, document = stored["samples"], stored["document"]
    count = int(document.max()) + 1
    phi = random_features(samples, features=FEATURES, bandwidth=BANDWIDTH, seed=0)
    means = client_means(samples, document, count)
    return StandIn(stored["candidates"], means, client_means(phi, document, count), samples, document)


def _embedded(prompts: int, responses: int, documents: int) -> dict[str, np.ndarray]:
    generator, encoder, chunking = LocalGenerator("bundled:generator"), load_encoder("offline"), conf_base(Chunking)
    records = public_records(conf_base(Corpus), max_texts=PUBLIC_TEXTS + documents)
    public = sample_records(records.iloc[:PUBLIC_TEXTS], generator.tokenizer(), chunking)
    clients = sample_records(records.iloc[PUBLIC_TEXTS:], generator.tokenizer(), chunking)
    shown = draw_prompts(
        public,
        np.arange(len(public)),
        count=prompts,
        classes=(None,),
        form=SampleList(),
        rng=stream(0, "recovery", "prompts"),
    )
    sampler = conf_base(Sampler, temperature=1.0, top_p=1.0, max_new_tokens=72, batch_size=256)
    texts = sampled_texts(
        generator, shown, responses=responses, sampler=sampler, length=chunking.length, seed=0, label="candidates"
    )
    return {
        "candidates": encode_nonempty(encoder, texts["text"].tolist(), label="candidates"),
        "samples": encoder.encode(clients["text"].tolist(), label="stand-in clients"),
        "document": np.unique(clients["client_id"], return_inverse=True)[1],
    }


def settings() -> list[Setting]:
    """Return the three settings of the module's docstring."""
    exact = noise_multiplier(epsilon=EPSILON, delta=DELTA, rounds=ROUNDS)
    single = noise_multiplier(epsilon=EPSILON, delta=DELTA, rounds=1)
    published = PUBLISHED["sampled"]
    sampled = noise_multiplier(epsilon=EPSILON, delta=DELTA, rounds=1, sampling="poisson", rate=1000 / 72000)
    return [
        Setting("10,000 clients", 10_000, PUBLISHED["all"], exact, single),
        Setting("1,000 clients", 1_000, PUBLISHED["all"], exact, single),
        Setting("1,000 of 72,000 clients", 1_000, published, published, sampled),
    ]


def rates(data: StandIn, setting: Setting, responses: int, seed: int) -> dict[str, float]:
    """Return the recovery rate of each scoring for one sample of clients and one of noise."""
    rng = stream(seed, "recovery", setting.name)
    drawn = rng.integers(len(data.means), size=setting.clients)
    means, full = data.means[drawn], nonempty_mask(data.candidates)
    true_mean = means.mean(axis=0, dtype=np.float64)
    cosine = data.candidates @ true_mean

    def noised(scores: np.ndarray, multiplier: float) -> np.ndarray:
        return scores + rng.normal(scale=multiplier, size=scores.shape)

    def recovered(noisy: np.ndarray, true: np.ndarray) -> float:
        chosen, rejected = choose_pairs(noisy, responses, min(REJECTED, responses), valid=full)
        return float(np.mean(true[chosen] > true[rejected]))

    found = {}
    for centre, name in (("none", "mean cosine"), ("all", "standardised"), ("prompt", "centred per prompt")):
        clipped = summed_scores(means, data.candidates, centre=centre, responses_per_prompt=responses)
        if centre == "none":
            found["mean cosine, as published"] = recovered(noised(clipped, setting.published), cosine)
        noisy = noised(clipped, setting.each_round)
        found[name] = recovered(noisy, cosine)
        projected = project_scores(noisy, data.candidates, centre=centre, responses_per_prompt=responses)
        found[f"{name}, projected"] = recovered(projected, cosine)
    released = noised(means.sum(axis=0, dtype=np.float64), setting.single) / setting.clients
    found["single release, mean embedding"] = recovered(data.candidates @ released, cosine)
    found["single release, linear witness"] = recovered(
        witness_scores(data.candidates, released, full), witness_scores(data.candidates, true_mean, full)
    )
    phi = random_features(data.candidates, features=FEATURES, bandwidth=BANDWIDTH, seed=0)
    true_features = data.feature_means[drawn].sum(axis=0, dtype=np.float64)
    released = noised(true_features, setting.single) / setting.clients
    found["single release, RFF witness"] = recovered(
        witness_scores(phi, released, full), witness_scores(phi, true_features / setting.clients, full)
    )
    clipped, votes = histograms(data, drawn)
    found["nearest histogram"] = recovered(noised(clipped, setting.each_round), votes)
    return found


def histograms(data: StandIn, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Private Evolution's votes of the sampled clients, each clipped to norm 1, and unclipped."""
    times = np.bincount(drawn, minlength=len(data.means)).astype(np.float64)
    full = np.flatnonzero(nonempty_mask(data.candidates))
    totals = []
    for clip_norm in (1.0, float(np.finfo(np.float32).max)):
        total, first = np.zeros(len(data.candidates)), 0
        for block in nearest_histogram_blocks(
            data.samples, data.document, len(data.means), data.candidates[full], clip_norm=clip_norm
        ):
            total[full] += times[first : first + len(block)] @ block
            first += len(block)
        totals.append(total)
    return totals[0], totals[1]


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Return Markdown: a row a scoring, a column a setting, means in percent with 95% intervals over the seeds."""

    def cell(values: list[float]) -> str:
        interval = mean_interval(values)
        if interval.low is None or interval.high is None:
            return f"{100 * interval.mean:.1f}"
        return f"{100 * interval.mean:.1f} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"

    names = list(results)
    lines = ["| scoring | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for row in results[names[0]]:
        lines.append(f"| {row} | " + " | ".join(cell(results[name][row]) for name in names) + " |")
    return "\n".join(lines)


def over_seeds(measure: Callable[[int], dict[str, float]], seeds: int) -> dict[str, list[float]]:
    found = [measure(seed) for seed in range(1, seeds + 1)]
    return {name: [each[name] for each in found] for name in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=1800)
    parser.add_argument("--responses", type=int, default=10)
    parser.add_argument("--documents", type=int, default=5000, help="public documents that play the clients")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "benchmarks" / "recovery.json")
    chosen = parser.parse_args()
    cache = chosen.out.with_name(f"recovery_{chosen.prompts}x{chosen.responses}_{chosen.documents}.npz")
    data = stand_in(chosen.prompts, chosen.responses, chosen.documents, cache)
    results = {}
    for setting in settings():
        results[setting.name] = over_seeds(lambda seed: rates(data, setting, chosen.responses, seed), chosen.seeds)  # noqa: B023
    chosen.out.write_text(json.dumps({"candidates": list(data.candidates.shape), "rates": results}, indent=2))
    print(f"{len(data.candidates):,} candidates, {len(data.means):,} stand-in documents, {chosen.seeds} seeds\n")
    print(table(results))


if __name__ == "__main__":
    main()
