from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.embedding.similarity import nearest


def units(rows: int, dim: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@settings(deadline=None)
@given(
    queries=st.integers(0, 40),
    targets=st.integers(1, 30),
    block=st.integers(1, 50) | st.none(),
    seed=st.integers(0, 99),
)
def test_nearest_is_the_argmax_of_all_cosines(queries, targets, block, seed):
    a, b = units(queries, 6, seed), units(targets, 6, seed + 1000)
    index, cosine = nearest(a, b, block=block)
    products = a.astype(np.float64) @ b.T.astype(np.float64)
    assert index.shape == (queries,)
    assert np.allclose(cosine, products.max(axis=1, initial=-2), atol=1e-6)
    assert np.allclose(products[np.arange(queries), index], cosine, atol=1e-6)


def test_equals_go_to_the_first():
    target = units(1, 5, 0)
    index, _ = nearest(target.repeat(3, 0), np.concatenate([-target, target, target]))
    assert index.tolist() == [1, 1, 1]


def test_memory_is_a_block_not_the_whole_product():
    a, b = units(20_000, 8, 0), units(10_000, 8, 1)  # 800 MB of products
    tracemalloc.start()
    nearest(a, b)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6


def test_bad_shapes_are_named():
    with pytest.raises((ValueError, TypeError), match=r"4 dimensions, targets 5|dim=4"):  # ours, or a shape check
        nearest(units(2, 4, 0), units(2, 5, 0))
    with pytest.raises(ValueError, match="no targets"):
        nearest(units(2, 4, 0), np.zeros((0, 4), dtype=np.float32))
