"""Entities of real text that each head finds: `python -m benchmarks.entities` prints F1 and CPU seconds.

Docstrings of the standard library, up to 40 tokens long and an object a text; the rules tag them. Each seed draws other
lessons and other held-out texts, the same for both heads. F1 of a kind is that of all seeds' entities together.
`--seeds` says how many seeds, `--epochs` how long the encoder is fine-tuned.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence

import numpy as np

from fedtext.corpora.public import stdlib_records
from fedtext.evaluation.entities import HEADS, entity_scores
from fedtext.evaluation.measures.downstream import ENTITIES_GIVEN, ENTITIES_RIGHT, ENTITIES_TRUE, ENTITY_F1
from fedtext.models.encoder import load_encoder
from fedtext.models.rule_tagger import RuleTagger
from fedtext.models.tagger import tokens_of
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Entities, EntityHead
from tests.parameters import conf_base

LESSONS, HELD_OUT, LONGEST = 350, 300, 40
KINDS = ("identifier", "number", "name")  # the others are rare


def row(head: EntityHead, texts: np.ndarray, seeds: int, fine_tuning: Mapping[str, float]) -> str:
    """Return a head's row: macro-F1 of each seed, F1 of each kind, CPU seconds of a training with its reading."""
    encoder, tagger = load_encoder("offline"), RuleTagger()
    entities = conf_base(Entities, head=head, fine_tuning=fine_tuning)
    scored, began = [], time.process_time()
    for seed in range(seeds):
        drawn = np.random.default_rng(seed).permutation(texts)[: LESSONS + HELD_OUT].tolist()
        lessons, held_out = drawn[:LESSONS], drawn[LESSONS:]
        scored.append(entity_scores(lessons, held_out, tagger, encoder, entities, seed=seed, label="texts"))
    spent = (time.process_time() - began) / seeds
    macro = ", ".join(f"{100 * ENTITY_F1.ratio(one).estimate:.1f}" for one in scored)
    kinds = (f"{100 * f1_of(scored, tagger.kinds.index(kind)):.0f}" for kind in KINDS)
    return f"| `{head}` | {macro} | {' | '.join(kinds)} | {spent:.1f} |"


def f1_of(scored: Sequence[Mapping[str, np.ndarray]], kind: int) -> float:
    """Compute F1 of a kind over the entities of all seeds."""
    right, true, given = (
        sum(int(one[name][:, kind].sum()) for one in scored) for name in (ENTITIES_RIGHT, ENTITIES_TRUE, ENTITIES_GIVEN)
    )
    return 2 * right / (true + given)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=float)
    asked = parser.parse_args()
    changed = {} if asked.epochs is None else {"epochs": asked.epochs}
    every = stdlib_records(conf_base(Corpus))["text"].tolist()
    short = np.asarray([text for text in every if len(tokens_of(text)) <= LONGEST], dtype=object)
    print(f"| head | macro-F1 of {asked.seeds} seeds | {' | '.join(f'{kind}s' for kind in KINDS)} | CPU seconds |")
    print("|---|---|---:|---:|---:|---:|")
    for head in HEADS:
        print(row(head, short, asked.seeds, changed), flush=True)
