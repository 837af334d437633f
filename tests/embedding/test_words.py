"""Hashed words: what is kept of a text, that it is its own, and that products estimate what two texts share.

What the release says of words: which are wanted more often, how much, and that noise alone says nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.embedding.words import (
    MOST,
    NONE,
    SEEN,
    beginning_with,
    bucket_features,
    gram_counts,
    gram_places,
    word_excess,
    word_grams,
)
from fedtext.models.generator import WordWeights

TEXTS = st.lists(st.text(max_size=60), min_size=1, max_size=6)
BUCKETS = 64


def features(texts: list[str], buckets: int = BUCKETS, seed: int = 0) -> np.ndarray:
    return bucket_features(word_grams(texts, buckets=buckets, seed=seed), buckets)


@given(TEXTS, st.integers(0, 2**63 - 1))
def test_a_row_is_a_unit_vector_or_nothing(texts: list[str], seed: int) -> None:
    norms = np.linalg.norm(features(texts, seed=seed).astype(np.float64), axis=1)
    assert np.all((np.abs(norms - 1) < 1e-6) | (norms == 0))
    empty = np.array([not text.strip(" \t\r\x0b\x0c") for text in texts])
    assert not norms[empty].any()


@given(TEXTS, st.randoms())
def test_a_text_is_a_function_of_itself(texts: list[str], chance) -> None:
    order = list(range(len(texts)))
    chance.shuffle(order)
    together = features([texts[i] for i in order])
    for place, i in enumerate(order):
        assert together[place].tobytes() == features([texts[i]])[0].tobytes(), "bit by bit"


def test_grams_are_words_pairs_and_the_beginning() -> None:
    (row,) = word_grams(["Pay now, pay"], buckets=1 << 20, seed=0)
    assert (row != NONE).sum() == 4 + 4  # pay now , pay; start-pay pay-now now-, ,-pay
    (other,) = word_grams(["pay NOW, pay"], buckets=1 << 20, seed=0)
    assert np.array_equal(row, other), "letter case says nothing"
    (turned,) = word_grams(["now pay, pay"], buckets=1 << 20, seed=0)
    assert set(row[:4]) == set(turned[:4])
    assert set(row) != set(turned), "order does"


def test_a_long_text_is_kept_whole_and_codes_are_exact_floats() -> None:
    """400 tokens of a chunk are some 350 words: all of them and all pairs, the last as well as the first."""
    long = " ".join(map(str, range(500)))
    rows = word_grams([long, "short"], buckets=1 << 20, seed=3)
    assert (rows != NONE).sum(axis=1).tolist() == [1000, 2]
    assert rows.max() < 2**24
    assert np.array_equal(rows, rows.astype(np.int64))
    other = word_grams([f"{long[:-3]}end"], buckets=1 << 20, seed=3)
    assert (rows[0] != other[0]).sum() == 2, "its last word, and its last pair"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我想取消信用卡", 7),
        ("カードを止めたい", 8),
        ("ฉันทำบัตรหาย", 12),
        ("ខ្ញុំ", 5),
        ("카드를 정지해 주세요", 3),  # Korean has spaces, and Russian, and Hindi
        ("Я потерял карту.", 4),
        ("naïve café", 2),
        ("用Python写", 3),
    ],
)
def test_scripts_without_spaces_are_taken_by_the_character(text: str, words: int) -> None:
    assert gram_counts(text).total() == 2 * words


def test_a_shared_clause_shows_where_there_are_no_spaces() -> None:
    """Two sentences that differ in one character are near, and two that share none are not: by any seed's mean."""
    near, far = [], []
    for seed in range(100):
        first, second, third = features(["我想取消信用卡", "我想取消借用卡", "明天会下雨吗"], buckets=512, seed=seed)
        near.append(float(first @ second))
        far.append(float(first @ third))
    assert np.mean(near) > 0.6
    assert abs(np.mean(far)) < 0.05


def test_products_estimate_what_two_texts_share() -> None:
    """Over seeds the mean product of two texts is the share of grams that they have in common."""
    same, half, none = "a b c d e f g h", "a b c d x y z w", "k l m n o p q r"
    shared = {"same": 1.0, "half": 8 / 16, "none": 0.0}  # words and pairs: a b c d, start-a a-b b-c c-d
    found = {name: [] for name in shared}
    for seed in range(400):
        rows = features([same, half, none], buckets=512, seed=seed)
        for name, row in zip(shared, rows, strict=True):
            found[name].append(float(rows[0] @ row))
    for name, products in found.items():
        error = 4 * np.std(products) / np.sqrt(len(products)) + 1e-6
        assert np.mean(products) == pytest.approx(shared[name], abs=error + 0.01), name


def test_another_seed_has_other_buckets() -> None:
    one, other = (word_grams(["the same text"], buckets=BUCKETS, seed=seed) for seed in (1, 2))
    assert not np.array_equal(one, other)


@given(st.text(max_size=80), st.integers(0, 2**63 - 1))
def test_counts_and_places_say_what_the_row_of_grams_says(text: str, seed: int) -> None:
    counts = gram_counts(text)
    bucket, sign = gram_places(list(counts.elements()), buckets=BUCKETS, seed=seed)
    (row,) = word_grams([text], buckets=BUCKETS, seed=seed)
    codes = sorted((2 * bucket + (sign < 0)).tolist())
    assert codes == sorted(row[row != NONE].astype(int).tolist())


def test_a_beginning_is_a_gram() -> None:
    assert gram_counts("Pay now")[beginning_with("pay")] == 1
    assert beginning_with("now") not in gram_counts("Pay now")


BUCKETS_WORD_EXCESS, SEED = 1024, 5
WORDS = [f"w{number}" for number in range(60)]


def texts(chances: np.ndarray, count: int, seed: int, length: int = 12) -> list[str]:
    """Texts of words drawn with these chances."""
    drawn = np.random.default_rng(seed).choice(len(WORDS), size=(count, length), p=chances / chances.sum())
    return [" ".join(WORDS[word] for word in row) for row in drawn]


def mean_features(found: list[str]) -> np.ndarray:
    return bucket_features(word_grams(found, buckets=BUCKETS_WORD_EXCESS, seed=SEED), BUCKETS_WORD_EXCESS).mean(
        axis=0, dtype=np.float64
    )


def weights(released: np.ndarray, written: list[str], known: list[str] | None = None) -> WordWeights:
    return word_excess(released, written, known or [], seed=SEED)


EVEN = np.ones(len(WORDS))
WRITTEN = texts(EVEN, 1500, seed=1)


def test_a_word_is_wanted_as_many_times_as_often_as_private_texts_have_it() -> None:
    wanted = EVEN.copy()
    wanted[:3], wanted[3:6] = 2.0, 0.5
    found = weights(mean_features(texts(wanted, 3000, seed=2)), WRITTEN).anywhere
    scale = len(WORDS) / wanted.sum()
    for words, times in ((WORDS[:3], 2 * scale), (WORDS[3:6], 0.5 * scale)):
        measured = np.mean([found[word] for word in words])
        assert measured == pytest.approx(np.log(times), abs=0.25), words
    others = [found.get(word, 0.0) for word in WORDS[6:]]
    assert abs(np.mean(others)) < 0.15


def test_words_that_are_as_frequent_have_hardly_a_weight_whatever_the_noise() -> None:
    same = mean_features(texts(EVEN, 1500, seed=3))
    for stddev, most in ((0.0, 0.1), (0.01, 0.2), (0.05, 0.35), (1.0, 0.2)):
        noise = np.random.default_rng(4).normal(0, stddev, BUCKETS_WORD_EXCESS)
        found = weights(same + noise, WRITTEN).anywhere
        assert np.mean(np.abs([found.get(word, 0.0) for word in WORDS])) < most, stddev


@pytest.mark.slow
def test_noise_makes_a_weight_smaller() -> None:
    wanted = EVEN.copy()
    wanted[0] = 6.0
    released = mean_features(texts(wanted, 3000, seed=2))
    clear = weights(released, WRITTEN).anywhere["w0"]
    noise = np.random.default_rng(0).normal(0, 0.1, (40, BUCKETS_WORD_EXCESS))
    blurred = np.mean([weights(released + row, WRITTEN).anywhere["w0"] for row in noise])
    assert 0 < blurred < clear - 0.3


def test_a_weight_is_bounded_on_both_sides_and_at_a_text_s_beginning_two_are_added() -> None:
    beginning = [f"Return the {word}" for word in WORDS] * 20
    written = [f"This is the {word}" for word in WORDS] * 20
    found = weights(mean_features(beginning), written, known=beginning)
    assert found.anywhere["return"] == pytest.approx(MOST)
    assert found.first["return"] == pytest.approx(2 * MOST)
    assert found.anywhere["this"] == pytest.approx(-MOST)
    assert found.first["this"] == pytest.approx(-2 * MOST)
    assert all(abs(weight) <= MOST for weight in found.anywhere.values())


def test_words_of_few_texts_have_no_weight_and_known_texts_make_a_word_known() -> None:
    private = mean_features(["rare thing here"] * 50)
    assert "rare" not in weights(private, WRITTEN, known=["rare thing"] * (SEEN - 1)).anywhere
    assert weights(private, WRITTEN, known=["rare thing"] * SEEN).anywhere["rare"] > 1
    assert "rare thing" not in weights(private, WRITTEN, known=["rare thing"] * SEEN).anywhere, "a pair is no word"


def test_a_line_s_end_is_left_to_the_model() -> None:
    lines = ["one two\nthree four\nfive six"] * 50
    assert not {"\n", ""} & weights(mean_features(lines), WRITTEN, known=lines).anywhere.keys()


def test_a_pair_is_weighed_by_itself_and_known_if_enough_texts_have_it() -> None:
    written, private = ["the cup is full", "the pot is full"] * 40, ["the cup is empty", "the cup was full"] * 40
    found = weights(mean_features(private), written, known=private[:SEEN]).after
    assert found["the"]["cup"] > 0.3
    assert found["the"]["pot"] < -0.3
    assert found["is"]["full"] < -0.3
    assert "empty" not in found["is"], "in fewer texts than SEEN"
    assert "" not in found, "a text's beginning has weights of its own"
    assert "\n" not in {
        word for words in weights(mean_features(["a\nb"] * 9), ["a\nb"] * 9).after.values() for word in words
    }


def test_nothing_written_says_nothing() -> None:
    assert weights(mean_features(WRITTEN), []) == WordWeights()
