from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.records import chunk_texts
from fedtext.evaluation.measures.next_token_accuracy import ACCURACY
from fedtext.evaluation.next_token import (
    PADDING,
    count_by_text,
    count_next_tokens,
    next_token_accuracy,
    padded,
    text_windows,
)
from fedtext.models.language_model import LanguageModel
from fedtext.params.training import CausalTraining
from fedtext.training.causal_lm import train_causal_lm
from fedtext.training.windows import Windows
from tests.evaluation.conftest import Successor, sentence
from tests.parameters import conf_base
from tests.refusals import refuses

LENGTH = 12


def test_known_model_has_the_accuracy_it_must_have():
    rows = [[0, 1, 2, 3], [5, 7, 8], [9, 9]]  # steps +1 +1 +1, +2 +1, and 9 -> 9, which Successor ranks last of 20
    counts = count_next_tokens(Successor(20), rows, top=(1, 2, 20))
    assert counts.tokens.tolist() == [3, 2, 1]
    assert counts.correct.tolist() == [[3, 3, 3], [1, 2, 2], [0, 0, 1]]
    summary = counts.summary()
    assert summary["top_1"] == pytest.approx(4 / 6)
    assert summary["top_2"] == pytest.approx(5 / 6)
    assert summary["tokens"] == 6


def test_cross_entropy_is_in_nats_per_token():
    summary = count_next_tokens(Successor(20, knows=False), [[0, 1, 2], [4, 4]]).summary()
    assert summary["cross_entropy"] == pytest.approx(np.log(20), rel=1e-6)


def test_model_that_knows_nothing_is_not_called_right():
    counts = count_next_tokens(Successor(20, knows=False), [[0, *range(1, 20)]], top=(1, 5))
    assert counts.correct.tolist() == [[0, 4]]  # equal logits rank by token id: 0 is the only first guess


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), min_size=1, max_size=12), st.integers(1, 13))
def test_batches_padding_and_order_change_nothing(rows, batch_size):
    if all(len(row) == 1 for row in rows):
        rows.append([1, 2])
    together = count_next_tokens(Successor(10), rows, batch_size=batch_size)
    for i, row in enumerate(rows):
        alone = count_next_tokens(Successor(10), [row], batch_size=1)
        assert alone.correct[0].tolist() == together.correct[i].tolist()
        assert alone.tokens[0] == together.tokens[i] == len(row) - 1


def test_padding_changes_nothing_for_a_real_model(llama):
    model, tokenizer = llama.load()
    rng = np.random.default_rng(1)
    texts = [sentence(rng, int(words)) for words in rng.integers(1, 15, size=24)]
    alone = next_token_accuracy(model, tokenizer, texts, length=LENGTH, batch_size=1)
    together = next_token_accuracy(model, tokenizer, texts, length=LENGTH, batch_size=24)
    assert together == pytest.approx(alone, rel=1e-5)


def test_texts_start_with_bos_and_never_end_with_eos(tokenizer):
    windows = text_windows(tokenizer, ["return the sorted list of items", "", "the " * 50], LENGTH)
    rows = windows.rows
    assert windows.samples == 3
    assert [row[0] == tokenizer.bos_token_id for row in rows] == [True, True, True, *[False] * (len(rows) - 3)]
    assert rows[1] == [tokenizer.bos_token_id]
    assert len(rows[2]) == LENGTH + 1
    assert all(tokenizer.eos_token_id not in row for row in rows)
    assert tokenizer.decode(rows[0][1:]) == "return the sorted list of items"
    assert text_windows(tokenizer, [], LENGTH).rows == []


SCRIPTS = {
    "English": "Returns the widget's preferred geometry; raises ValueError if the option is unknown to it. ",
    "Chinese": "\u8be5\u51fd\u6570\u8fd4\u56de\u4e00\u4e2a\u65b0\u7684\u5217\u8868\uff0c\u5e76\u4e14\u4e0d\u4f1a\u4fee\u6539\u539f\u6765\u7684\u5185\u5bb9\u3002",
    "Russian": "\u0424\u0443\u043d\u043a\u0446\u0438\u044f \u0432\u043e\u0437\u0432\u0440\u0430\u0449\u0430\u0435\u0442 \u043d\u043e\u0432\u044b\u0439 \u0441\u043f\u0438\u0441\u043e\u043a \u0438 \u043d\u0435 \u043c\u0435\u043d\u044f\u0435\u0442 \u0438\u0441\u0445\u043e\u0434\u043d\u044b\u0439. ",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_no_token_of_a_chunk_is_lost_in_any_script(script: str) -> None:
    """Chunks of the generator's tokens, as a run cuts them; the on-device model needs more than its window for them."""
    on_device, length = LanguageModel("bundled:on_device"), 24
    document = SCRIPTS[script] * 8
    (chunks,) = chunk_texts([document], LanguageModel("bundled:generator").tokenizer(), length=32, min_tokens=1)
    samples = [document[chunk.start : chunk.end] for chunk in chunks]
    model, tokenizer = on_device.load()
    needed = [len(tokenizer(sample, add_special_tokens=False)["input_ids"]) for sample in samples]
    assert max(needed) > length
    windows = text_windows(tokenizer, samples, length)
    assert max(map(len, windows.rows)) <= length + 1
    counts = count_by_text(model, windows, top=(1,))
    assert counts.tokens.tolist() == needed
    assert (counts.nats > 0).all()


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=30), min_size=1, max_size=6), st.integers(1, 9))
def test_a_text_s_counts_are_the_sum_of_its_windows_and_its_own(texts, length):
    texts.append([1, 2])
    together = count_by_text(Successor(10), Windows.of(texts, length))
    assert together.tokens.tolist() == [len(text) - 1 for text in texts]
    for i, text in enumerate(texts):
        alone = count_by_text(Successor(10), Windows.of([text], length))
        whole = count_next_tokens(Successor(10), [text])  # a successor needs no more context than a window has
        assert together.correct[i].tolist() == alone.correct[0].tolist() == whole.correct[0].tolist()


def test_gpt2_like_tokenizer_starts_with_its_eos(tokenizer):
    class OnlyEos:
        bos_token_id, eos_token_id = None, 7

        def __call__(self, texts, **options):
            assert options["add_special_tokens"] is False
            return {"input_ids": [[1, 2]] * len(texts)}

    assert text_windows(OnlyEos(), ["a"], LENGTH).rows == [[7, 1, 2]]
    OnlyEos.eos_token_id = None
    with refuses("no-start-token"):
        text_windows(OnlyEos(), ["a"], LENGTH)


def test_padding_is_no_token():
    assert padded([[0, 1], [2]]).tolist() == [[0, 1], [2, PADDING]]
    assert PADDING < 0


def test_nothing_to_score_is_an_error(llama):
    model, tokenizer = llama.load()
    with refuses("no-token-to-score"):
        next_token_accuracy(model, tokenizer, ["", ""], length=LENGTH)


def test_scoring_leaves_the_model_in_its_mode(llama):
    model, tokenizer = llama.load()
    model.train()
    next_token_accuracy(model, tokenizer, ["return the list"], length=LENGTH)
    assert model.training


def test_the_interval_counts_clients_not_tokens():
    rng = np.random.default_rng(2)
    rows = [[0, *rng.integers(0, 2, size=10).tolist()] for _ in range(40)]
    counts = count_next_tokens(Successor(2), rows, top=(1,))
    doubled = count_next_tokens(Successor(2), rows * 2, top=(1,))
    clients = np.tile(np.arange(40), 2)

    def width(counts, clients=None):
        ratio = ACCURACY.ratio(counts.arrays(), clients)
        return ratio.high - ratio.low

    assert width(doubled, clients) == pytest.approx(width(counts))
    assert width(doubled) < 0.75 * width(counts)


def test_logits_that_are_no_numbers_are_not_called_right(llama):
    model, _ = llama.load()
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    with refuses("logits-not-finite"):
        count_next_tokens(model, [[0, 1, 2]])


def test_padding_teaches_nothing(llama):
    """Wider padding, the same training: short texts are neither diluted nor taught their padding."""
    model, tokenizer = llama.load()
    wide, _ = llama.load()
    rows = padded(
        text_windows(tokenizer, ["return the list", "a given pattern that match", "raise an error"], LENGTH).rows
    )
    recipe = conf_base(CausalTraining, epochs=3, batch_size=3, learning_rate=1e-2)
    widened = np.pad(rows, ((0, 0), (0, 20)), constant_values=PADDING)
    narrow_history = train_causal_lm(model, rows, recipe, seed=0, pad_token_id=PADDING)
    wide_history = train_causal_lm(wide, widened, recipe, seed=0, pad_token_id=PADDING)
    assert wide_history[-1]["loss"] == pytest.approx(narrow_history[-1]["loss"], rel=1e-3)


def test_a_text_s_counts_are_its_own_to_the_last_bit_in_any_company():
    model, tokenizer = LanguageModel("bundled:on_device").load()
    rng = np.random.default_rng(0)
    words = [token for token in tokenizer.get_vocab() if token.isalpha()]
    texts = [" ".join(rng.choice(words, size=rng.integers(1, 40))) for _ in range(70)]
    rows = text_windows(tokenizer, texts, 480).rows
    together = count_next_tokens(model.float(), rows, batch_size=8)
    for kept in (rng.permutation(70)[:33], np.array([5]), np.arange(69, -1, -1)):
        some = count_next_tokens(model, [rows[i] for i in kept], batch_size=8)
        assert np.array_equal(some.nats, together.nats[kept])
        assert np.array_equal(some.correct, together.correct[kept])
