from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedtext.embedding.exact_product import TILE
from fedtext.embedding.similarity import nearest, without_near_duplicates
from tests.refusals import refuses


def units(rows: int, dim: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(
    queries=st.integers(0, 40) | st.sampled_from([TILE - 1, TILE, TILE + 1, 2 * TILE]),
    targets=st.integers(1, 30),
    seed=st.integers(0, 99),
)
def test_nearest_is_the_argmax_of_all_cosines(queries, targets, seed):
    a, b = units(queries, 6, seed), units(targets, 6, seed + 1000)
    index, cosine = nearest(a, b)
    products = a.astype(np.float64) @ b.T.astype(np.float64)
    assert index.shape == (queries,)
    assert np.allclose(cosine, products.max(axis=1, initial=-2), atol=1e-6)
    assert np.allclose(products[np.arange(queries), index], cosine, atol=1e-6)


def test_equals_go_to_the_first():
    target = units(1, 5, 0)
    index, _ = nearest(target.repeat(3, 0), np.concatenate([-target, target, target]))
    assert index.tolist() == [1, 1, 1]


def near_ties(targets: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries whose two best targets are equally far but for rounding, and the targets."""
    pairs = units(targets, dim, 3)
    middle = pairs[0::2] + pairs[1::2]
    return (middle / np.linalg.norm(middle, axis=1, keepdims=True)).astype(np.float32), pairs


def answers(queries: np.ndarray, targets: np.ndarray) -> list[bytes]:
    index, cosine = nearest(queries, targets)
    return [i.tobytes() + c.tobytes() for i, c in zip(index, cosine, strict=True)]


def test_a_query_s_answer_does_not_depend_on_company_or_place():
    """Alone, in any company, at any place: the same neighbour and the same bits, near ties among them."""
    queries, targets = near_ties(600, 96)
    alone = [answers(one[None], targets)[0] for one in queries]
    assert answers(queries, targets) == alone
    order = np.random.default_rng(0).permutation(len(queries))
    assert answers(queries[order], targets) == [alone[i] for i in order]
    for size in (1, 3, 17, 255, 257):
        assert answers(queries[-size:], targets) == alone[-size:]


def test_a_plain_product_does_move_near_ties():
    """So the test above can fail: the same argmax over `queries @ targets.T`, alone and in company."""
    queries, targets = near_ties(600, 96)
    together = (queries @ targets.T).argmax(axis=1)
    alone = [int((one[None] @ targets.T).argmax()) for one in queries]
    assert (together != alone).any()


def test_memory_is_a_block_not_the_whole_product():
    a, b = units(20_000, 8, 0), units(10_000, 8, 1)  # 800 MB of products
    tracemalloc.start()
    nearest(a, b)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6


def test_bad_shapes_are_named():
    with refuses("dimensions-differ"):  # ours, or a shape check
        nearest(units(2, 4, 0), units(2, 5, 0))
    with refuses("no-targets"):
        nearest(units(2, 4, 0), np.zeros((0, 4), dtype=np.float32))


@given(rows=st.integers(0, 40), similarity=st.floats(0.05, 0.99), seed=st.integers(0, 99))
def test_no_two_kept_are_alike_and_each_one_left_out_is_like_an_earlier_kept(rows, similarity, seed):
    vectors = units(rows, 3, seed)
    kept = without_near_duplicates(vectors, similarity)
    cosines = vectors @ vectors.T
    among = cosines[np.ix_(kept, kept)] - 2 * np.eye(len(kept))
    assert (among < similarity + 1e-6).all()
    for row in set(range(rows)) - set(kept):
        assert cosines[row, kept[kept < row]].max() >= similarity - 1e-6
    assert kept.tolist() == sorted(kept)


def test_the_first_of_equals_stays() -> None:
    one, other = np.eye(2, dtype=np.float32)
    assert without_near_duplicates(np.stack([one, other, one, other]), 0.9).tolist() == [0, 1]
    assert without_near_duplicates(np.zeros((0, 2), dtype=np.float32), 0.9).tolist() == []
