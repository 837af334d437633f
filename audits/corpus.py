"""A corpus for audits, its neighbours, and models small enough to train some thousand times."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.corpora.splits import splits_of
from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.language_model import LanguageModel, Tokenizer, bundled
from fedtext.params.training import LlamaShape
from fedtext.seeding import stream
from fedtext.training.pretraining import new_llama, train_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

CLIENTS = 40
ASKED = "why"  # of a client without text: a pair has a prompt
SHARES = {"validation_share": 0.1, "test_share": 0.15}
WORDS = (
    *("harbour", "ferry", "gull", "rope", "tide", "anchor", "pilot", "storm", "lamp", "chart", "soup", "market"),
    *("baker", "flour", "oven", "bread", "queue", "coin", "apron", "salt", "garden", "bean", "spade", "frost"),
    *("hedge", "pond", "moss", "beetle", "swallow", "ladder", "engine", "valve", "piston", "rail", "signal", "guard"),
    *("whistle", "tunnel", "steam", "driver", "letter", "stamp", "clerk", "drawer", "ribbon", "ink", "seal", "window"),
)
LOUD = 200.0  # times the weights that new models have
PLACES = ("first", "middle", "last")


def private_records() -> pd.DataFrame:
    """Return forty clients with two to four records each.

    The first and the last client to train have one record, so that no mean shortens their features and their
    contribution is as long as the clip norm. The one in the middle has four, whose votes exceed the clip norm.
    """
    rng = stream(0, "audit", "records")
    ids = [f"client {number:02d}" for number in range(CLIENTS)]
    chosen = dict(zip((training_client(ids, place) for place in PLACES), (1, 4, 1), strict=True))
    held = {one: chosen.get(one, int(drawn)) for one, drawn in zip(ids, rng.integers(2, 5, CLIENTS), strict=True)}
    rows = [(one, _sentence(rng), "sea" if number % 2 else "land", None) for one in ids for number in range(held[one])]
    return pd.DataFrame(rows, columns=list(RECORD_COLUMNS))


def public_records(texts: int = 2, spellings: int = 6) -> pd.DataFrame:
    """Return `texts` in some spellings each, which differ in spaces.

    Their embeddings differ in the last bits only, so a vote between them depends on these bits.
    """
    rng = stream(0, "audit", "public")
    written = [_sentence(rng) for _ in range(texts)]
    twins = [text.replace(" ", "  ", spaces) for spaces in range(spellings) for text in written]
    rows = [(f"public {number}", text, "sea", None) for number, text in enumerate(twins)]
    return pd.DataFrame(rows, columns=list(RECORD_COLUMNS))


def paired(records: pd.DataFrame) -> pd.DataFrame:
    """Add the pairs that preference jobs read, each made of the record's own text alone.

    The prompt is its first word, so that the two halves, which are the answers, are dissimilar.
    """
    halves = [
        (text.partition(" ")[0] or ASKED, text[: len(text) // 2], text[len(text) // 2 :]) for text in records["text"]
    ]
    return records.assign(**dict(zip(("prompt", "chosen", "rejected"), zip(*halves, strict=True), strict=True)))


def training_client(ids: Iterable[str], place: str) -> str:
    """Return the first, the middle or the last training client, by id."""
    splits = splits_of(ids, **SHARES, seed=0)
    trained = sorted(one for one, split in splits.items() if split == "train")
    return trained[{"first": 0, "middle": len(trained) // 2, "last": -1}[place]]


def without(records: pd.DataFrame, client: str) -> pd.DataFrame:
    """Return the records without the client."""
    return records[records["client_id"] != client].reset_index(drop=True)


def zeroed(records: pd.DataFrame, client: str) -> pd.DataFrame:
    """Return the records with the client's texts empty."""
    return records.assign(text=records["text"].where(records["client_id"] != client, ""))


def replaced(records: pd.DataFrame, client: str) -> pd.DataFrame:
    """Return the records with other texts for the client, one more of them."""
    rng = stream(0, "audit", "replaced", client)
    own = records[records["client_id"] == client]
    others = pd.concat([own, own.iloc[:1]]).assign(text=[_sentence(rng) for _ in range(len(own) + 1)])
    return pd.concat([others, without(records, client)], ignore_index=True)


@dataclass(frozen=True)
class InMemory(LocalGenerator):
    """A generator that is read from its directory once; each load returns a copy."""

    def load(self, merge_adapter: bool = True) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Load as `LanguageModel.load` does."""
        if self.adapter is not None:
            return super().load(merge_adapter)
        model, tokenizer = _read(self.source)
        return copy.deepcopy(model), tokenizer


@cache
def _read(source: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    return LanguageModel(source).load()


def small_models(directory: Path) -> dict[str, LanguageModel | Tokenizer]:
    """Return `generator`, with the bundled tokenizer, and `on_device` of three thousand weights; both untrained.

    `loud_generator` is the first with large weights: its next token depends on what stands before, so that what a
    client's text says of it is longer than any clip.
    """
    shape = LlamaShape(hidden_size=8, layers=1, heads=1, feed_forward=16, max_positions=512)
    own = train_tokenizer([" ".join(WORDS)], 300)
    theirs = LanguageModel(bundled("generator")).tokenizer()
    for name, tokenizer in (("generator", theirs), ("on_device", own)):
        new_llama(shape, tokenizer, seed=0).save_pretrained(directory / name)
        tokenizer.save_pretrained(directory / name)
    loud = new_llama(shape, theirs, seed=0)
    for name, weights in loud.named_parameters():
        if name.endswith(("v_proj.weight", "o_proj.weight")) or weights is loud.get_output_embeddings().weight:
            weights.data *= LOUD
    loud.save_pretrained(directory / "loud_generator")
    theirs.save_pretrained(directory / "loud_generator")
    models = {name: InMemory(str(directory / name)) for name in ("generator", "loud_generator", "on_device")}
    return {**models, "chunk_tokenizer": Tokenizer(models["generator"].source)}


def _sentence(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, size=rng.integers(9, 15)))
