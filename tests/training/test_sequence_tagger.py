"""Words and their first pieces: by hand, as the tokenizer's own library aligns them, and in windows; equal seeds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.models.encoder import Encoder, load_encoder
from fedtext.models.language_model import Tokenizer
from fedtext.models.tagger import tokens_of
from fedtext.params.training import CausalTraining
from fedtext.training.sequence_tagger import NONE, UNREAD, SequenceTagger, first_pieces, train_sequence_tagger
from tests.parameters import conf_base
from tests.refusals import refuses

STEPS = {"epochs": 1.0, "batch_size": 4, "learning_rate": 1e-3}
TEXTS = ["Pay 20.50 to a.b@bank.org, in 3 days.", "It's naïve: run my_function(x) — 5%!", "漢字 and ﬁles…", ""]
UNSEEN = "one\u200btwo"  # a mark without width is a word, and has no piece


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("offline", device="cpu")


def words_of(text: str) -> list[str]:
    return [text[start:end] for start, end in tokens_of(text)]


def test_a_word_s_first_piece_by_hand() -> None:
    pieces = np.asarray([(0, 2), (2, 5), (6, 7), (11, 13)])  # of "hello , x yes", without a piece for "x"
    assert first_pieces(["hello", ",", "x", "yes"], pieces).tolist() == [0, 2, NONE, 3]
    assert first_pieces(["hello", ",", "x", "yes", "no"], pieces).tolist() == [0, 2, NONE, 3, NONE]
    assert first_pieces([], pieces[:0]).tolist() == []
    assert first_pieces(["x"], pieces[:0]).tolist() == [NONE]
    with_space = np.asarray([(0, 5), (5, 7), (7, 9), (9, 13)])  # a piece may begin at the space before its word
    assert first_pieces(["hello", ",", "x", "yes"], with_space).tolist() == [0, 1, 2, 3]


@given(st.lists(st.lists(st.integers(1, 4), max_size=3), max_size=8), st.booleans())
def test_first_pieces_are_those_of_a_count(words: list[list[int]], spaces: bool) -> None:
    """Each word as the lengths of its pieces; one without pieces is a mark."""
    pieces, expected, begin = [], [], 0
    for number, lengths in enumerate(words):
        expected.append(len(pieces) if lengths else NONE)
        for place, length in enumerate(lengths):
            before = int(spaces and place == 0 and number > 0)
            pieces.append((begin - before, begin + length))
            begin += length
        begin += (not lengths) + 1
    spelled = ["x" * (sum(lengths) or 1) for lengths in words]
    assert first_pieces(spelled, np.asarray(pieces, dtype=np.int64).reshape(-1, 2)).tolist() == expected


def test_words_and_pieces_are_aligned_as_the_tokenizer_s_library_aligns_them(encoder: Encoder) -> None:
    tokens, firsts = SequenceTagger(encoder, 3).windows(TEXTS)
    width = tokens["input_ids"].shape[1]
    for row, (text, own) in enumerate(zip(TEXTS, firsts, strict=True)):
        theirs = encoder.model.tokenizer(words_of(text), is_split_into_words=True).word_ids() if text else []
        assert own.tolist() == [row * width + theirs.index(word) for word in range(len(words_of(text)))]


def test_no_piece_of_a_byte_level_tokenizer_is_part_of_two_words() -> None:
    """Of RoBERTa's kind: in "run(): it's" a piece of "():" would be part of three words."""
    words = words_of("run(): it's 5%... see https://x.org/a_b!")
    told = Tokenizer("smollm2").load()(" ".join(words), return_offsets_mapping=True, add_special_tokens=False)
    firsts = first_pieces(words, np.asarray(told["offset_mapping"]))
    text = " ".join(words)
    begun = [text[slice(*told["offset_mapping"][first])].strip() for first in firsts]
    assert all(piece and word.startswith(piece) for word, piece in zip(words, begun, strict=True))
    assert (np.diff(firsts) > 0).all()


def test_a_long_text_is_read_in_windows_and_no_word_is_left_out(encoder: Encoder) -> None:
    texts = ["short", " ".join(f"word{i}, and" for i in range(300))]
    tokens, firsts = SequenceTagger(encoder, 3).windows(texts)
    assert tokens["input_ids"].shape[1] == encoder.limit
    assert len(tokens["input_ids"]) > 3
    pieces = encoder.model.tokenizer.convert_ids_to_tokens(tokens["input_ids"].flatten()[np.concatenate(firsts)])
    words = [word for text in texts for word in words_of(text)]
    assert all(word.startswith(piece) for word, piece in zip(words, pieces, strict=True))
    assert (np.diff(np.concatenate(firsts)) > 0).all()


def test_a_word_without_pieces_teaches_nothing_and_is_not_read(encoder: Encoder) -> None:
    codes = [np.asarray([1, 1, 1]), np.asarray([1])]
    recipe = conf_base(CausalTraining, STEPS)
    tagger = train_sequence_tagger(encoder, [UNSEEN, "\u200b"], codes, 3, recipe, seed=1, label="test")
    first, only = tagger.codes([UNSEEN, "\u200b"])
    assert first.tolist()[1] == only.tolist()[0] == UNREAD
    assert all(np.isfinite(weight.detach().numpy()).all() for weight in tagger.modules.parameters())


def test_the_same_seed_gives_the_same_bytes_and_the_encoder_stays_as_it_is(encoder: Encoder) -> None:
    before = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    codes = [np.arange(len(words_of(text))) % 3 for text in TEXTS]
    first, again, other = (
        train_sequence_tagger(encoder, TEXTS, codes, 3, conf_base(CausalTraining, STEPS), seed=seed, label="test")
        for seed in (1, 1, 2)
    )
    weights = [[w.detach().numpy().tobytes() for w in one.modules.parameters()] for one in (first, again, other)]
    assert weights[0] == weights[1] != weights[2]
    assert [own.tolist() for own in first.codes(TEXTS)] == [own.tolist() for own in again.codes(TEXTS)]
    assert first.codes([]) == []
    assert all((weight == before[name]).all() for name, weight in encoder.model.state_dict().items())


def test_an_encoder_without_a_transformer_is_refused(encoder: Encoder) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding

    words = SentenceTransformer(modules=[StaticEmbedding(encoder.model.tokenizer, embedding_dim=8)], device="cpu")
    with refuses("encoder-without-token-head", parameter="models.classifier", value="words"):
        SequenceTagger(dataclasses.replace(encoder, name="words", model=words), 3)
