"""Three silos with tables of their own, and the questions of all algorithms."""

from __future__ import annotations

import numpy as np

from fedtext.algorithms.flexible.profile import Profile
from fedtext.algorithms.flexible.selection import NearestVotes
from fedtext.algorithms.pe.histogram import NearestHistogram
from fedtext.algorithms.popri.release import CandidateScores, MeanFeatures
from fedtext.algorithms.wasp.judging import ModelSums, TopQVotes
from fedtext.federation.question import Question
from fedtext.params.flexible import Flexible
from fedtext.params.pe import Pe
from fedtext.params.popri import Popri
from fedtext.params.wasp import Wasp
from fedtext.voting.class_means import ClassMeans
from tests.parameters import conf_base

CODES = ("a", "b")
CANDIDATES, DIM = 12, 384


def unit_rows(seed: int, rows: int, dim: int = DIM) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, dim)).astype(np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def popri(scoring: str, labels: tuple[str, ...] = CODES) -> Popri:
    small = {"rounds": 2, "prompts": 4, "responses": 3, "rejected_rank": 2, "prompt_pool": "random", "oversample": 1.0}
    return conf_base(Popri, {**small, "labels": labels, "scoring": scoring, "random_features": 32, "word_buckets": 64})


def every_question(dim: int = DIM) -> list[Question]:
    """One question of each kind."""
    vote = {"embeddings": unit_rows(3, CANDIDATES, dim), "label": np.arange(CANDIDATES) % len(CODES)}
    wasp, flexible = conf_base(Wasp, rounds=3, labels=CODES), conf_base(Flexible, labels=CODES)
    return [
        MeanFeatures(popri=popri("witness_words")),
        CandidateScores(popri=popri("mean_cosine"), **vote),
        NearestHistogram(pe=conf_base(Pe, labels=CODES), **vote),
        TopQVotes(wasp=wasp, **vote),
        ModelSums(wasp=wasp, model=np.arange(CANDIDATES) % 3, models=3, **vote),
        ClassMeans(labels=CODES),
        Profile(labels=CODES),
        NearestVotes(flexible=flexible, **vote),
    ]
