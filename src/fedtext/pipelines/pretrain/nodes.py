"""Training of the bundled language models, from public text only."""

from pathlib import Path
from typing import Any

import pandas as pd

from fedtext.corpora.public import public_records
from fedtext.corpora.records import RECORD_COLUMNS, sample_records
from fedtext.corpora.splits import split_of
from fedtext.generation.described import described_texts, proposed_topics
from fedtext.models.encoder import Encoder
from fedtext.models.generator import ChatGenerator
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking, Corpus
from fedtext.params.training import Pretraining, Recipe
from fedtext.reporting.model_card import Reading, model_card
from fedtext.seeding import derived_seed
from fedtext.training.causal_lm import train_causal_lm
from fedtext.training.pretraining import ModelBundle, new_llama, recipe_rows, train_tokenizer

DOCSTRINGS = Reading(
    "docstrings of the installed third-party packages, parsed, never imported; copies of the standard library left out "
    "by package name",
    "the prose of Python docstrings",
)


def read_pretraining_text(corpus: Corpus, pretrain: Pretraining) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read all public docstrings, capped a package, split into training and held-out text."""
    records = public_records(
        corpus.model_copy(update={"public_chars_per_package": pretrain.public_chars_per_package, "public_path": None})
    )
    return _held_out(records, pretrain)


def write_general_text(
    generator: ChatGenerator, encoder: Encoder, pretrain: Pretraining
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write texts of a chat model, of every kind in `pretrain.general`, split into training and held-out text."""
    written = [_of_kind(kind, generator, encoder, pretrain) for kind in pretrain.general.kinds]
    return _held_out(pd.concat(written, ignore_index=True), pretrain)


def _of_kind(kind: str, generator: ChatGenerator, encoder: Encoder, pretrain: Pretraining) -> pd.DataFrame:
    """Write records of one kind of text; the label is the kind."""
    general = pretrain.general
    described, seed = general.described, derived_seed(general.described.seed, kind)
    topics = proposed_topics(generator, encoder, kind, described.topics, seed=seed)
    texts = described_texts(generator, encoder, kind, topics, described.texts, count=general.texts, seed=seed)
    names = [f"{kind} {number}" for number in range(1, len(texts) + 1)]
    return texts.assign(client_id=names, label=kind, date=None)[list(RECORD_COLUMNS)]


def _held_out(records: pd.DataFrame, pretrain: Pretraining) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split into training and held-out text, by a hash of the records' names."""
    held_out = [
        split_of(name, validation_share=pretrain.held_out_share, test_share=0.0, seed=0) == "validation"
        for name in records["client_id"]
    ]
    return records[[not h for h in held_out]].reset_index(drop=True), records[held_out].reset_index(drop=True)


def train_bundled_tokenizer(text: pd.DataFrame, pretrain: Pretraining) -> Any:
    """Train a model's byte-level BPE tokenizer, on the text that the model will read."""
    return train_tokenizer(text["text"].tolist(), pretrain.vocab_size)


def train_generator(
    text: pd.DataFrame, held_out: pd.DataFrame, tokenizer: Path, pretrain: Pretraining, chunking: Chunking
) -> ModelBundle:
    """Train the language model that the tests tune, on few-shot lists and plain documents."""
    return _train(text, held_out, tokenizer, pretrain.generator, chunking, "generator", DOCSTRINGS)


def train_on_device(
    text: pd.DataFrame,
    held_out: pd.DataFrame,
    tokenizer: Path,
    generator: ChatGenerator,
    pretrain: Pretraining,
    chunking: Chunking,
) -> ModelBundle:
    """Train the small downstream model: few parameters and little public text, of no domain."""
    kinds = ", ".join(pretrain.general.kinds)
    read = Reading(f"written for this by {generator.identity}, topics first: {kinds}", "everyday English")
    return _train(text, held_out, tokenizer, pretrain.on_device, chunking, "on-device model", read)


def _train(
    text: pd.DataFrame,
    held_out: pd.DataFrame,
    tokenizer_files: Path,
    recipe: Recipe,
    chunking: Chunking,
    name: str,
    read: Reading,
) -> ModelBundle:
    tokenizer = LanguageModel(str(tokenizer_files)).tokenizer()
    samples = sample_records(text, tokenizer, chunking)
    rows = recipe_rows(samples["text"].tolist(), samples["label"].tolist(), text["text"].tolist(), tokenizer, recipe)
    model = new_llama(recipe.shape, tokenizer, recipe.seed)
    history = train_causal_lm(
        model, rows, recipe.training, seed=recipe.seed, compiled=recipe.compiled, label=f"pretraining the {name}"
    )
    held_out_samples = sample_records(held_out, tokenizer, chunking)["text"].tolist()
    card = model_card(name, read, model, tokenizer, recipe, rows.size, history, held_out_samples, chunking.length)
    return ModelBundle(model, tokenizer, card)
