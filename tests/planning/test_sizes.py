"""Sizes that are read off an empty model are those of the model itself."""

from __future__ import annotations

import pytest

from fedtext.models.architecture import KNOWN, architecture_of
from fedtext.models.language_model import LanguageModel
from fedtext.params.training import Lora
from fedtext.planning.sizes import is_generative, sizes_of
from fedtext.training.federated_averaging import flat_weights
from fedtext.training.lora import adapted_model, adapter_weights
from tests.refusals import refuses

LORA = Lora(rank=4, alpha=8, dropout=0.0, targets="attention_and_mlp")
PUBLISHED = {  # weights, in millions, as the models' own pages and papers give them
    "meta-llama/Meta-Llama-3-8B": 8030,
    "meta-llama/Llama-2-7b-chat-hf": 6738,
    "openai-community/gpt2-xl": 1558,
    "distilbert/distilgpt2": 82,
    "EleutherAI/pythia-2.8b": 2775,
    "Qwen/Qwen3-4B-Base": 4022,
    "google/gemma-2-2b": 2614,
    "sentence-transformers/all-distilroberta-v1": 82,
    "HuggingFaceTB/SmolLM2-1.7B-Instruct": 1711,
    "smollm2": 135,
    "sentence-transformers/all-MiniLM-L6-v2": 23,
    "google-bert/bert-base-uncased": 109,
    "FacebookAI/roberta-large": 355,
}


@pytest.mark.parametrize("source", ["bundled:generator", "bundled:on_device"])
def test_weights_are_counted_as_the_model_has_them(source: str) -> None:
    model, _ = LanguageModel(source).load()
    assert sizes_of(architecture_of(source)).weights == sum(one.numel() for one in model.parameters())
    assert sizes_of(architecture_of(source), None, trained=True).trained == flat_weights(model).size


def test_an_adapter_is_counted_as_a_training_has_it() -> None:
    from fedtext.generation.generators.local import LocalGenerator

    model = adapted_model(LocalGenerator("bundled:generator"), LORA, seed=0)
    counted = sizes_of(architecture_of("bundled:generator"), LORA, trained=True)
    assert counted.trained == adapter_weights(model).size


@pytest.mark.parametrize("source", PUBLISHED)
def test_the_table_has_the_published_sizes(source: str) -> None:
    found = sizes_of(architecture_of(source)).weights / 1e6
    assert found == pytest.approx(PUBLISHED[source], rel=0.02)
    assert not architecture_of(source).read or source not in KNOWN


def test_encoders_do_not_write() -> None:
    kinds = {source: is_generative(architecture_of(source).config) for source in KNOWN}
    assert {source for source, writes in kinds.items() if not writes} == {
        "offline",
        "sentence-transformers/all-MiniLM-L6-v2",
        "BAAI/bge-large-en-v1.5",
        "sentence-transformers/all-mpnet-base-v2",
        "sentence-transformers/all-distilroberta-v1",
        "sentence-transformers/stsb-roberta-base-v2",
        "sentence-transformers/sentence-t5-base",
        "google-bert/bert-base-uncased",
        "FacebookAI/roberta-base",
        "FacebookAI/roberta-large",
    }


def test_what_nobody_knows_is_refused() -> None:
    with refuses("architecture-not-known"):
        architecture_of("somebody/something-9b")
