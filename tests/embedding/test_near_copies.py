from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedtext.embedding.near_copies import without_near_copies
from tests.embedding.test_similarity import units


@given(rows=st.integers(0, 40), similarity=st.floats(0.05, 0.99), seed=st.integers(0, 99))
def test_no_two_kept_are_alike_and_each_one_left_out_is_like_an_earlier_kept(rows, similarity, seed):
    vectors = units(rows, 3, seed)
    kept = without_near_copies(vectors, similarity)
    cosines = vectors @ vectors.T
    among = cosines[np.ix_(kept, kept)] - 2 * np.eye(len(kept))
    assert (among < similarity + 1e-6).all()
    for row in set(range(rows)) - set(kept):
        assert cosines[row, kept[kept < row]].max() >= similarity - 1e-6
    assert kept.tolist() == sorted(kept)


def test_the_first_of_equals_stays() -> None:
    one, other = np.eye(2, dtype=np.float32)
    assert without_near_copies(np.stack([one, other, one, other]), 0.9).tolist() == [0, 1]
    assert without_near_copies(np.zeros((0, 2), dtype=np.float32), 0.9).tolist() == []
