"""Canaries: membership inference from the published synthetic text alone.

The setting of Meeus et al., "The Canary's Echo" (2025): the attacker sees the synthetic texts and nothing else. Records
of unlikely words, each a client of its own, are in the private text or not, by a fair coin flip. The attacker guesses
which were, by two signals: how much likelier a canary's letters are under a trigram model of the synthetic texts than
under one of the public texts, and the similarity of the nearest synthetic text.

Each run has its own coin flips. If units are included by independent fair coins, (epsilon, delta) privacy lets at most
a binomial of probability e^epsilon / (1 + e^epsilon) of the guesses be right, up to delta (Steinke, Nasr and Jagielski,
NeurIPS 2023, Theorem 5.2). So the number of right guesses gives a lower bound on epsilon.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from audits.corpus import CLIENTS, SHARES, private_records, public_records
from audits.jobs import models
from audits.statistics import ALPHA
from audits.worlds import Job, TwoWorlds
from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.corpora.splits import splits_of
from fedtext.embedding.similarity import nearest
from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.encoder import Encoder
from fedtext.seeding import stream

CANARIES = 60
SYLLABLES = tuple("bru vok zin qua tho plex gri dro nym wasp kel fjo ubba ryx morv sklee pho dwim jat hulm".split())  # noqa: SIM905
DELTA = 1e-7  # so small that it takes no guess off the bound
COPIES = "copies"
CHUNKING = {"length": 64, "min_tokens": 4}
SAMPLER = {"max_new_tokens": 40}
OWN: dict[str, dict[str, Any]] = {
    "popri": {"rounds": 1, "prompts": 6, "responses": 6, "random_features": 128, "pool_minimum": 10,
              "synthetic_texts": 48, "oversample": 2.0, "sampler": SAMPLER},
    "pe": {"rounds": 2, "population": 24, "synthetic_texts": 48, "sampler": SAMPLER},
}  # fmt: skip
Scores = np.ndarray  # one a canary: the larger, the likelier it was in


class Guesses(NamedTuple):
    """The result of a membership attack.

    Attributes:
        auc: AUC of the scores within a run, of canaries that were in against canaries that were not.
        low: Lower end of the 95% interval of `auc`, by bootstrap over canaries.
        high: Upper end.
        epsilon: Lower bound on epsilon.
    """

    auc: float
    low: float
    high: float
    epsilon: float


def canary_records() -> pd.DataFrame:
    """Return one text of unlikely words a canary, each by a client of its own that is trained on."""
    rng = stream(0, "audit", "canaries")
    splits = splits_of((f"canary {number}" for number in range(2 * CANARIES)), **SHARES, seed=0)
    trained = [one for one, split in splits.items() if split == "train"][:CANARIES]
    words = [["".join(rng.choice(SYLLABLES, size=rng.integers(2, 4))) for _ in range(10)] for _ in trained]
    rows = [(one, " ".join(own), "sea", None) for one, own in zip(trained, words, strict=True)]
    return pd.DataFrame(rows, columns=list(RECORD_COLUMNS))


def canary_attack(algorithm: str, runs: int) -> dict[str, Guesses]:
    """Run the membership attack on the synthetic texts of `runs` runs of `algorithm`, and return the result by signal.

    The best result has confidence `ALPHA`. `copies` plants the fault that the attack must find: the synthetic texts are
    the private ones.
    """
    coins = stream(0, "audit", "coins", algorithm).random((runs, CANARIES)) < 0.5
    found: dict[str, list[np.ndarray]] = {"trigrams": [], "similarity": []}
    canaries, public = canary_records(), public_records(texts=40, spellings=1)
    known = public["text"].tolist()
    for run, thrown in enumerate(coins):
        private = pd.concat([private_records(), canaries[thrown]], ignore_index=True)
        texts = private["text"].tolist() if algorithm == COPIES else _written(algorithm, private, public, run)
        found["trigrams"].append(by_trigrams(canaries["text"].tolist(), texts, known))
        found["similarity"].append(by_similarity(canaries["text"].tolist(), texts, models()["encoder"]))
    return {
        signal: guessed(np.stack(scores), coins, delta=DELTA, alpha=ALPHA / len(found))
        for signal, scores in found.items()
    }


def _written(algorithm: str, private: pd.DataFrame, public: pd.DataFrame, seed: int) -> list[str]:
    """Return the synthetic texts of one run, by the bundled generator."""
    privacy = {"epsilon": 1.0, "delta": DELTA, "population": CLIENTS + CANARIES, "noise_seed": 0}
    parameters = {"privacy": privacy, "partition": SHARES, "chunking": CHUNKING, algorithm: OWN[algorithm]}
    job = Job(algorithm, parameters, public, {**models(), "generator": LocalGenerator("bundled:generator")})
    table: pd.DataFrame = TwoWorlds(job, (private, private), target="synthetic").run(0, seed)[1]
    return table["text"].tolist()


def by_trigrams(canaries: Sequence[str], synthetic: Sequence[str], public: Sequence[str]) -> Scores:
    """Return how much likelier a canary is under the synthetic texts than under the public ones, in nats a letter."""
    scores: Scores = _mean_log_likelihood(canaries, synthetic) - _mean_log_likelihood(canaries, public)
    return scores


def by_similarity(canaries: Sequence[str], synthetic: Sequence[str], encoder: Encoder) -> Scores:
    """Return the cosine similarity of the nearest synthetic text."""
    cosines: np.ndarray = nearest(encoder.encode(list(canaries)), encoder.encode(list(synthetic)))[1]
    return cosines


def guessed(scores: np.ndarray, coins: np.ndarray, *, delta: float, alpha: float) -> Guesses:
    """Evaluate guesses from scores and coins of shape (run, canary).

    A third of each run's canaries is guessed, those with the highest and the lowest scores; the others are passed over.
    """
    auc = _auc(scores, coins)
    rng = stream(0, "audit", "bootstrap")
    drawn = [rng.integers(scores.shape[1], size=scores.shape[1]) for _ in range(500)]
    low, high = np.quantile([_auc(scores[:, rows], coins[:, rows]) for rows in drawn], [0.025, 0.975])
    return Guesses(auc, float(low), float(high), implied_epsilon(scores, coins, delta=delta, alpha=alpha))


def implied_epsilon(scores: np.ndarray, coins: np.ndarray, *, delta: float, alpha: float) -> float:
    """Return the smallest epsilon under which so many right guesses have a probability above `alpha`."""
    third = scores.shape[1] // 3
    order = np.argsort(scores, axis=1, kind="stable")
    right = int((~np.take_along_axis(coins, order[:, :third], 1)).sum())
    right += int(np.take_along_axis(coins, order[:, -third:], 1).sum())
    made, grid = 2 * third * len(scores), np.linspace(0, 12, 2401)
    plausible = stats.binom.sf(right - 1, made, 1 / (1 + np.exp(-grid))) + 2 * scores.size * delta > alpha
    return float(grid[plausible][0]) if plausible.any() else math.inf


def _auc(scores: np.ndarray, coins: np.ndarray) -> float:
    won = pairs = 0.0
    for row, coin in zip(scores, coins, strict=True):
        there, not_there = row[coin][:, None], row[~coin][None, :]
        won += float((there > not_there).sum() + 0.5 * (there == not_there).sum())
        pairs += there.size * not_there.size
    return won / pairs


def _mean_log_likelihood(canaries: Sequence[str], texts: Sequence[str], smoothing: float = 0.1) -> np.ndarray:
    counts, before = Counter[str](), Counter[str]()
    for text in texts:
        for start in range(len(text) - 2):
            counts[text[start : start + 3]] += 1
            before[text[start : start + 2]] += 1
    letters = 100

    def of_one(text: str) -> float:
        spans = [text[start : start + 3] for start in range(len(text) - 2)]
        return float(
            np.mean([math.log((counts[s] + smoothing) / (before[s[:2]] + smoothing * letters)) for s in spans])
        )

    return np.array([of_one(text) for text in canaries])
