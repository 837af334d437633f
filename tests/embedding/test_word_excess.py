"""What the release says of words: which are wanted more often, how much, and that noise alone says nothing."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.embedding.word_excess import MOST, SEEN, word_excess
from fedtext.embedding.words import bucket_features, word_grams
from fedtext.models.word_weights import WordWeights

BUCKETS, SEED = 1024, 5
WORDS = [f"w{number}" for number in range(60)]


def texts(chances: np.ndarray, count: int, seed: int, length: int = 12) -> list[str]:
    """Texts of words drawn with these chances."""
    drawn = np.random.default_rng(seed).choice(len(WORDS), size=(count, length), p=chances / chances.sum())
    return [" ".join(WORDS[word] for word in row) for row in drawn]


def mean_features(found: list[str]) -> np.ndarray:
    return bucket_features(word_grams(found, buckets=BUCKETS, seed=SEED), BUCKETS).mean(axis=0, dtype=np.float64)


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
        noise = np.random.default_rng(4).normal(0, stddev, BUCKETS)
        found = weights(same + noise, WRITTEN).anywhere
        assert np.mean(np.abs([found.get(word, 0.0) for word in WORDS])) < most, stddev


def test_noise_makes_a_weight_smaller() -> None:
    wanted = EVEN.copy()
    wanted[0] = 6.0
    released = mean_features(texts(wanted, 3000, seed=2))
    clear = weights(released, WRITTEN).anywhere["w0"]
    noise = np.random.default_rng(0).normal(0, 0.1, (40, BUCKETS))
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


def test_nothing_written_says_nothing() -> None:
    assert weights(mean_features(WRITTEN), []) == WordWeights()
