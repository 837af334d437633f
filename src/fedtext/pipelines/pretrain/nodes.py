"""How the bundled language models are made, from public text only."""

from pathlib import Path
from typing import Any

import pandas as pd

from fedtext.corpora.public import public_records
from fedtext.corpora.samples import sample_records
from fedtext.corpora.splits import split_of
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking, Corpus
from fedtext.params.training import Pretraining, Recipe
from fedtext.reporting.model_card import model_card
from fedtext.training.bundle import ModelBundle
from fedtext.training.causal_lm import train_causal_lm
from fedtext.training.pretraining import new_llama, recipe_rows, train_tokenizer


def read_pretraining_text(corpus: Corpus, pretrain: Pretraining) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All public docstrings, capped a package, split by a hash of their name into training and held-out text."""
    records = public_records(
        corpus.model_copy(update={"public_chars_per_package": pretrain.public_chars_per_package, "public_path": None})
    )
    held_out = [
        split_of(name, validation_share=pretrain.held_out_share, test_share=0.0, seed=0) == "validation"
        for name in records["client_id"]
    ]
    return records[[not h for h in held_out]].reset_index(drop=True), records[held_out].reset_index(drop=True)


def train_bundled_tokenizer(pretraining_text: pd.DataFrame, pretrain: Pretraining) -> Any:
    """The byte-level BPE tokenizer that both models share."""
    return train_tokenizer(pretraining_text["text"].tolist(), pretrain.vocab_size)


def train_generator(
    pretraining_text: pd.DataFrame,
    held_out_text: pd.DataFrame,
    tokenizer: Path,
    pretrain: Pretraining,
    chunking: Chunking,
) -> ModelBundle:
    """The language model that POPri tunes: few-shot lists and plain documents."""
    return _train(pretraining_text, held_out_text, tokenizer, pretrain.generator, chunking, "generator")


def train_on_device(
    pretraining_text: pd.DataFrame,
    held_out_text: pd.DataFrame,
    tokenizer: Path,
    pretrain: Pretraining,
    chunking: Chunking,
) -> ModelBundle:
    """The small downstream model, honestly small: few parameters and little public text."""
    return _train(pretraining_text, held_out_text, tokenizer, pretrain.on_device, chunking, "on-device model")


def _train(
    text: pd.DataFrame, held_out: pd.DataFrame, tokenizer_files: Path, recipe: Recipe, chunking: Chunking, name: str
) -> ModelBundle:
    tokenizer = LanguageModel(str(tokenizer_files)).tokenizer()
    samples = sample_records(text, tokenizer, chunking)
    rows = recipe_rows(samples["text"].tolist(), samples["label"].tolist(), text["text"].tolist(), tokenizer, recipe)
    model = new_llama(recipe.shape, tokenizer, recipe.seed)
    history = train_causal_lm(
        model, rows, recipe.training, seed=recipe.seed, compiled=recipe.compiled, label=f"pretraining the {name}"
    )
    held_out_samples = sample_records(held_out, tokenizer, chunking)["text"].tolist()
    card = model_card(name, model, tokenizer, recipe, rows.size, history, held_out_samples, chunking.length)
    return ModelBundle(model, tokenizer, card)
