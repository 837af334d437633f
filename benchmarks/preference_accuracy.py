"""Accuracy of DPPrefSyn's scorers on held-out pairs of people's choices, by epsilon, beside length and chance.

    python -m benchmarks.preference_accuracy --corpus alpaca_eval
    python -m benchmarks.preference_accuracy --corpus hh --forms single clustered --epsilons 1 inf

Two corpora below FEDTEXT_SHARED: 2,303 pairs of Anthropic's harmlessness test set (it holds offensive text: nothing of
it is printed or written) and 9,110 pairs of AlpacaEval's helpfulness answers. Each is the public data of the other: its
differences say R and the projection, and its own pairs make the scorer `public`. Pairs are embedded once and kept below
--cache. For every seed the private corpus is split anew, 60% to train on, by conversation or prompt, and noise is anew.

Forms, each with the whole budget, a pair the unit, delta 1e-5:

- `single`: one noised sum of differences. `one head`: a Bradley-Terry head of 20 noised gradient steps, p = 20.
- `clustered`: 5 noised clusters and heads. `published`: as printed, centred, at length 1, with exact sizes: not
    private.
- `random`: a direction that says nothing. `public`: a head of the other corpus's pairs. `longer`, `shorter`:
    characters.

Forms of several heads are judged by a drawn head and by the mixture; never by a pair's own cluster
(benchmarks/scorers.py).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scorers import by_drawn_head, by_mixture, fitted
from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.plan import planned_ledger
from fedtext.algorithms.dpprefsyn.releases import learned_scorer
from fedtext.algorithms.dpprefsyn.scorer import Scorer
from fedtext.corpora.preferences import PairForm, read_pairs
from fedtext.corpora.splits import splits_of
from fedtext.embedding.similarity import differences_of
from fedtext.evaluation.intervals import Interval, mean_interval
from fedtext.evaluation.pairwise import correctly_ordered, length_baselines
from fedtext.federation.private_samples import PrivateSamples
from fedtext.generation.dialogue import Dialogue, embedded_answers
from fedtext.models.encoder import load_encoder
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

INFINITY = float("inf")
EPSILONS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, INFINITY)
DELTA, TEST_SHARE, SEEDS = 1e-5, 0.4, 5
PLACE = Path(os.environ.get("FEDTEXT_SHARED", "../shared")) / "data" / "preferences"
CORPORA: dict[str, tuple[str, PairForm]] = {
    "hh": ("hh_harmless_test.jsonl.gz", "hh"),
    "alpaca_eval": ("alpaca_eval_pairs.jsonl.gz", "table"),
}
FORMS: dict[str, dict[str, Any]] = {
    "single": {},
    "one head": {"scorer": "bradley_terry", "projection": "public"},
    "clustered": {
        "form": "clustered", "heads": 5, "heads_by": "difference", "scorer": "bradley_terry", "projection": "public",
    },
    "published": {
        "form": "published", "heads": 5, "heads_by": "difference", "scorer": "bradley_terry", "projection": "private",
    },
}  # fmt: skip
UNPROTECTED = {"published"}  # its budget decides little: at 1, and without noise
RESULT = Path("build/benchmarks/preference_accuracy.json")


@dataclass(frozen=True)
class Pairs:
    """A corpus: both embeddings of each pair, the group that a pair is split with, and the choice by length."""

    embeddings: np.ndarray
    group: list[str]
    lengths: dict[str, np.ndarray]


def loaded(name: str, cache: Path) -> Pairs:
    """Return the corpus with its embeddings, which are computed if the cache has none."""
    file, form = CORPORA[name]
    table = read_pairs(form, PLACE / file)
    stored = cache / f"{name}.npy"
    if not stored.is_file():
        answers = table[["chosen", "rejected"]].to_numpy().tolist()
        cache.mkdir(parents=True, exist_ok=True)
        made = embedded_answers(load_encoder("offline"), Dialogue(), table["prompt"].tolist(), answers, label=name)
        np.save(stored, made)
    group = table["client_id"] if form == "hh" else table["prompt"]  # hh's client is its conversation
    return Pairs(
        np.load(stored), group.tolist(), length_baselines(table["chosen"].tolist(), table["rejected"].tolist())
    )


def rights(private: Pairs, public: Pairs, form: str, epsilon: float, seed: int) -> dict[str, float]:
    """Return the accuracy on the test pairs of this seed's split, by each way of judging."""
    differences, middles = differences_of(private.embeddings)
    train, test = split(private, seed)
    params = conf_base(Dpprefsyn, FORMS[form], seed=seed)
    noise = {"epsilon": 1e15, "noise_multiplier": 1e-6} if epsilon == INFINITY else {"epsilon": epsilon}
    privacy = conf_base(Privacy, unit="record", aggregation="trusted", delta=DELTA, noise_seed=seed, **noise)
    samples = PrivateSamples.of_one_class(differences[train], np.arange(train.sum()))
    ledger = planned_ledger(int(train.sum()), params, privacy, embedding_dim=differences.shape[1])
    scorer, _ = learned_scorer(
        samples, middles[train], Candidates(public.embeddings), params, ledger, new_noise_key(seed)
    )
    return judged(scorer, differences[test])


def judged(scorer: Scorer, differences: np.ndarray) -> dict[str, float]:
    """Return the accuracy by a sampled head and by the mixture; they are equal for one head."""
    parts = differences if scorer.directions is None else differences @ scorer.directions
    found = {"mixed": float(by_mixture(scorer.heads, scorer.mixture, parts).mean())}
    if len(scorer.heads) > 1:
        found["drawn"] = float(by_drawn_head(scorer.heads, scorer.mixture, parts).mean())
    return found


def controls(private: Pairs, others: np.ndarray, seed: int) -> dict[str, float]:
    """Return baselines that read no private pair: lengths, a random direction, a head of the other corpus's pairs."""
    differences, _ = differences_of(private.embeddings)
    _, test = split(private, seed)
    drawn = Scorer.random(differences.shape[1], seed).heads
    told = {"random": drawn, "public": others}
    return {
        **{name: float(correctly_ordered(differences[test] @ heads[0]).mean()) for name, heads in told.items()},
        **{name: float(right[test].mean()) for name, right in private.lengths.items()},
    }


def split(private: Pairs, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training pairs and the held-out pairs, no conversation or prompt in both."""
    found = splits_of(private.group, validation_share=0.0, test_share=TEST_SHARE, seed=seed)
    train = np.array([found[one] == "train" for one in private.group])
    return train, ~train


def measured(
    private: Pairs, public: Pairs, forms: list[str], epsilons: list[float], seeds: int
) -> Iterator[tuple[str, Any, Any]]:
    """Yield form with its way of judging, epsilon (None: no private pair is read), values by seed."""
    training = conf_base(Dpprefsyn).training
    others = fitted(differences_of(public.embeddings)[0], steps=200, learning_rate=training.learning_rate)
    without = [controls(private, others, seed) for seed in range(seeds)]
    for name in without[0]:
        yield name, None, [found[name] for found in without]
    for form in forms:
        for epsilon in (one for one in epsilons if form not in UNPROTECTED or one in (1.0, INFINITY)):
            found = [rights(private, public, form, epsilon, seed) for seed in range(seeds)]
            for way in found[0]:
                yield f"{form}, {way}" if len(found[0]) > 1 else form, epsilon, [one[way] for one in found]


def cell(values: list[float]) -> str:
    """Format mean and interval over the seeds, in percent."""
    told: Interval = mean_interval(values)
    ends = "" if told.low is None or told.high is None else f" ({100 * told.low:.1f} to {100 * told.high:.1f})"
    return f"{100 * told.mean:.1f}{ends}"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--corpus", choices=sorted(CORPORA), required=True)
    asked.add_argument("--cache", type=Path, default=Path("build/benchmarks/preferences"))
    asked.add_argument("--forms", nargs="+", choices=sorted(FORMS), default=list(FORMS))
    asked.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    asked.add_argument("--seeds", type=int, default=SEEDS)
    given = asked.parse_args()
    other = next(name for name in CORPORA if name != given.corpus)
    private, public = loaded(given.corpus, given.cache), loaded(other, given.cache)
    result = RESULT.with_stem(f"{RESULT.stem}_{given.corpus}")  # other forms of an earlier call stay in it
    rows: dict[str, dict[str, list[float]]] = json.loads(result.read_text())["accuracy"] if result.is_file() else {}
    start = time.perf_counter()
    for name, epsilon, values in measured(private, public, given.forms, given.epsilons, given.seeds):
        rows.setdefault(name, {})["" if epsilon is None else f"{epsilon:g}"] = values
        print(f"{time.perf_counter() - start:6.0f} s  {name}, epsilon {epsilon}: {cell(values)}", flush=True)
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(json.dumps({"corpus": given.corpus, "pairs": len(private.group), "accuracy": rows}, indent=1))


if __name__ == "__main__":
    main()
