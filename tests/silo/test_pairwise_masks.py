"""Masks: they cancel in the sum of all, and leave nothing to see in a sum of fewer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from fedtext.federation.masked_sum import unmasked, words_of
from fedtext.privacy.noise import new_noise_key
from fedtext.silo.pairwise_masks import MaskKey, masked

ASKED = hashlib.sha256(b"a message").hexdigest()


def mask_keys(silos: int, seed: int = 0) -> list[MaskKey]:
    return [MaskKey(f"silo {number}", new_noise_key(100 * seed + number)) for number in range(silos)]


def sent(keys: Sequence[MaskKey], vectors: Sequence[np.ndarray], bits: int, asked: str = ASKED) -> list[np.ndarray]:
    publics = {key.name: key.public for key in keys}
    return [
        masked(vector, key.pairs({name: public for name, public in publics.items() if name != key.name}), asked, bits)
        for key, vector in zip(keys, vectors, strict=True)
    ]


@settings(max_examples=40, deadline=None)
@given(silos=st.integers(2, 6), bits=st.sampled_from([8, 26, 32, 33, 40, 64]), seed=st.integers(0, 9), data=st.data())
def test_masks_cancel_in_the_sum_of_all(silos: int, bits: int, seed: int, data: st.DataObject) -> None:
    largest = (2 ** (bits - 1) - 1) // silos
    drawn = data.draw(st.lists(st.integers(-largest, largest), min_size=3 * silos, max_size=3 * silos))
    vectors = np.array(drawn, dtype=np.int64).reshape(silos, 3)
    words = sent(mask_keys(silos, seed), list(vectors), bits)
    assert {one.dtype for one in words} == {words_of(bits)}
    assert all(int(one.max()) < 2**bits for one in words)
    assert np.array_equal(unmasked(words, bits), vectors.sum(axis=0))


def uniform_p_value(words: np.ndarray, bits: int, cells: int = 4) -> float:
    """The p-value of the highest and of the lowest `cells` bits against chance, the smaller of the two times two."""
    found = []
    for shift in (bits - cells, 0):
        counts = np.bincount((words.astype(np.uint64) >> np.uint64(shift)).astype(int) % 2**cells, minlength=2**cells)
        expected = len(words) / 2**cells
        found.append(float(chi2.sf(((counts - expected) ** 2 / expected).sum(), 2**cells - 1)))
    return 2 * min(found)


def as_words(numbers: np.ndarray, bits: int) -> np.ndarray:
    return (numbers.astype(np.uint64) & np.uint64(2**bits - 1)).astype(words_of(bits))


@pytest.mark.parametrize("bits", [26, 40])
def test_what_one_silo_sends_looks_like_chance_and_so_does_a_sum_without_one_silo(bits: int) -> None:
    rng = np.random.default_rng(1)
    vectors = [np.rint(rng.normal(0, 2.0 ** (bits - 9), 20_000)).astype(np.int64) for _ in range(3)]
    words = sent(mask_keys(3), vectors, bits)
    pieces = [*words, as_words(unmasked(words[:2], bits), bits), as_words(unmasked(words[1:], bits), bits)]
    assert min(uniform_p_value(one, bits) for one in pieces) > 1e-4
    assert max(abs(np.corrcoef(one.astype(float), vectors[0])[0, 1]) for one in words) < 0.04
    for told in (vectors[0], unmasked(words, bits)):  # without masks, and where they have cancelled
        assert uniform_p_value(as_words(told, bits), bits) < 1e-50
    twice = as_words(2 * unmasked(words[:1], bits), bits)
    assert uniform_p_value(twice, bits) < 1e-50, "a mask that is even shows in the lowest bit"


def test_a_mask_is_of_its_message_of_both_silos_and_of_nobody_else() -> None:
    keys = mask_keys(3)
    zeros = [np.zeros(100, dtype=np.int64)] * 3
    other = hashlib.sha256(b"another message").hexdigest()
    first, again, another = sent(keys, zeros, 64), sent(keys, zeros, 64), sent(keys, zeros, 64, other)
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert not any((one == two).any() for one, two in zip(first, another, strict=True))
    stranger = [*keys[:2], MaskKey("silo 2", new_noise_key(77))]
    assert not (sent(stranger, zeros, 64)[0] == first[0]).any()
    with pytest.raises(ValueError, match="shared key"):
        keys[0].pairs({"silo 1": "00" * 32})  # a point of small order would give a secret that everybody knows


def test_marks_agree_where_secrets_do_and_show_none_of_the_mask() -> None:
    one, other, third = mask_keys(3)
    ((mine,), (theirs,)) = one.pairs({other.name: other.public}), other.pairs({one.name: one.public})
    assert mine.mark(ASKED) == theirs.mark(ASKED)
    assert (mine.adds, theirs.adds) == (True, False)
    assert mine.mark(ASKED) != one.pairs({other.name: third.public})[0].mark(ASKED)
    assert bytes.fromhex(mine.mark(ASKED)) not in mine.mask(ASKED, 1000).tobytes()
