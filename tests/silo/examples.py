"""Three silos with tables of their own, and the questions of all algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

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
from fedtext.silo.handler import MessageHandler, own_key
from fedtext.silo.pairwise_masks import MaskKey
from fedtext.silo.settings import Silo
from fedtext.voting.class_means import ClassMeans
from fedtext.wiring.conf_files import deep_merge
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


NAMES = ("north", "south", "west")
PEOPLE = 8  # of a silo, two or three records each


def table(name: str) -> pd.DataFrame:
    """A silo's records: text, who it is about, and its class."""
    rng = np.random.default_rng(NAMES.index(name) if name in NAMES else [*name.encode()])
    rows = [
        (f"{name} {person}", f"{rng.choice(SUBJECTS)} of {name} {rng.choice(DEEDS)} number {person} {turn} times", code)
        for person in range(PEOPLE)
        for turn, code in enumerate(rng.choice([*CODES, "other"], 2 + person % 2))
    ]
    return pd.DataFrame(rows, columns=["client_id", "text", "label"])


SUBJECTS = ["the night nurse", "a patient", "the new doctor", "somebody", "the whole ward"]
DEEDS = ["asks for the report", "writes a long letter about tea", "looks for the lost key", "repairs the old lamp"]


def silo(name: str, **changes: Any) -> Silo:
    declared: dict[str, Any] = {
        "name": name,
        "table": {
            "path": f"{name}.csv", "text_column": "text", "client_column": "client_id", "client_ids": "exact",
            "label_column": "label", "code_columns": [], "date_column": "date",
        },
        "protection": {
            "unit": "client", "population": 10, "adjacency": "zero_out", "epsilon": 4.0, "delta": 1e-5,
        },
        "chunking": {"length": 64, "min_tokens": 4, "first_only": False},
        "models": {"encoder": "offline", "tokenizer": "bundled:generator", "generator": None},
        "secure_sums": {"minimum": 3, "honest_fraction": 0.7, "peers": {}},
        "link": {"superlink": "127.0.0.1:8000", "root_certificates": None, "private_key": None},
        "folder": f"{name}-own",
    }  # fmt: skip
    return Silo.model_validate(deep_merge(declared, changes))


def public_keys(folder: Path, names: Sequence[str] = NAMES) -> dict[str, str]:
    """The public keys of the silos whose folders are below this one, as `fedtext-silo key` prints them."""
    return {name: MaskKey(name, own_key(folder / f"{name}-own")).public for name in names}


def peers_of(name: str, folder: Path, names: Sequence[str] = NAMES) -> dict[str, str]:
    """What the silo knows of the others."""
    return {other: public for other, public in public_keys(folder, names).items() if other != name}


class InProcess:
    """A transport without a network: it hands each message to the very handlers that a silo's process has."""

    def __init__(self, *handlers: MessageHandler) -> None:
        self.handlers = handlers
        self.asked = 0

    def ask(self, message: bytes, wanted: int) -> list[bytes]:
        self.asked += 1
        return [handler.reply(message) for handler in self.handlers]
