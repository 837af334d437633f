from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.largefedbench.near_duplicates import PERMUTATIONS, MinHash, near_duplicates

LEXICON = [f"word{number}" for number in range(400)]


def text(seed: int, length: int = 200) -> list[str]:
    return np.random.default_rng(seed).choice(LEXICON, length).tolist()


def jaccard(a: list[str], b: list[str]) -> float:
    left, right = ({tuple(one[i : i + 5]) for i in range(len(one) - 4)} for one in (a, b))
    return len(left & right) / len(left | right)


def signatures(*texts: list[str]) -> np.ndarray:
    minhash = MinHash()
    return np.stack([minhash.signature(" ".join(one)) for one in texts])


@pytest.mark.parametrize("changed", [0, 4, 15, 40, 200])
def test_agreement_estimates_jaccard_similarity(changed: int) -> None:
    estimates, truths = [], []
    for seed in range(20):
        first = text(seed)
        second = first[: 200 - changed] + text(seed + 1000, changed) if changed else first
        a, b = signatures(first, second)
        estimates.append((a == b).mean())
        truths.append(jaccard(first, second))
    # the mean of 20 estimates from 64 permutations each: standard error at most 0.5 / sqrt(1280) = 0.014
    assert np.mean(estimates) == pytest.approx(np.mean(truths), abs=0.06)


def test_case_and_punctuation_do_not_matter() -> None:
    minhash = MinHash()
    a = minhash.signature("The quick, brown fox; jumps over the lazy dog!")
    assert (a == minhash.signature("the quick brown FOX jumps over the lazy dog")).all()
    assert not (a == minhash.signature("the quick brown fox jumps over the lazy cat")).all()


def test_duplicates_are_found_and_name_the_earlier_client() -> None:
    base, other = text(1), text(2)
    near = [*base[:195], *text(3, 5)]
    found = near_duplicates(signatures(base, other, near, base, text(4)), 0.8)
    assert [(one.client, one.original) for one in found] == [(2, 0), (3, 0)]
    assert found[1].similarity == 1.0
    assert found[0].similarity == pytest.approx(jaccard(base, near), abs=0.2)


def test_a_thousand_equal_texts_are_one_group() -> None:
    repeated = np.repeat(signatures(text(1)), 1000, axis=0)
    found = near_duplicates(repeated, 0.8)
    assert len(found) == 999
    assert {one.original for one in found} == {0}


def test_none_and_short_texts() -> None:
    assert near_duplicates(np.zeros((0, PERMUTATIONS), np.uint32), 0.8) == []
    minhash = MinHash()
    assert (minhash.signature("") == minhash.signature(" .,! ")).all()
    assert not (minhash.signature("yes") == minhash.signature("no")).all()


@settings(max_examples=60)
@given(st.lists(st.text(alphabet="abcé ñ.,", max_size=40), min_size=2, max_size=6))
def test_signatures_do_not_depend_on_what_came_before(texts: list[str]) -> None:
    used = MinHash()
    for one in texts:
        used.signature(one)
        assert (used.signature(one) == MinHash().signature(one)).all()


@pytest.mark.parametrize(("similarity", "found"), [(0.7, 0.988), (0.5, 0.644)])
def test_bands_find_the_documented_share_of_pairs(similarity: float, found: float) -> None:
    """Signatures of pairs that agree in each place with the probability `similarity`, as MinHash's do."""
    random = np.random.default_rng(0)
    pairs = 4000
    first = random.integers(0, 2**32, (pairs, PERMUTATIONS), dtype=np.uint32)
    second = np.where(random.random(first.shape) < similarity, first, first + np.uint32(1))
    duplicates = near_duplicates(np.concatenate([first, second]), 0.01)
    assert len(duplicates) / pairs == pytest.approx(found, abs=0.025)  # three standard errors at most
