"""Products of which every row is computed as if it were alone: its bits are a function of the row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from fedtext.embedding.exact_product import TILE, exact_product

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]
SHAPES = [(16, 40), (384, 1024), (384, 18_000)]


def matrix(rows: int, columns: int, seed: int, dtype: str) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(dtype)


def moved_rows(product: Product, dim: int, columns: int, dtype: str) -> int:
    """In how many companies and places one row's result differs from what it is alone."""
    row, other = matrix(1, dim, 0, dtype), matrix(dim, columns, 1, dtype)
    alone = product(row, other)[0].tobytes()
    moved = 0
    for company in (1, 2, 7, 31, TILE - 1, TILE, TILE + 1):
        for place in sorted({0, company // 2, company}):
            rows = matrix(company + 1, dim, company, dtype)
            rows[place] = row
            moved += product(rows, other)[place].tobytes() != alone
    return moved


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("dim", "columns"), SHAPES)
def test_a_row_s_bits_do_not_depend_on_company_or_place(threads: int, dtype: str, dim: int, columns: int) -> None:
    with threadpool_limits(threads, user_api="blas"):
        assert moved_rows(exact_product, dim, columns, dtype) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_plain_product_moves_with_company_so_the_test_above_can_fail(dtype: str) -> None:
    """A single row is a product of a matrix and a vector, which adds up in another order."""
    with threadpool_limits(1, user_api="blas"):
        assert moved_rows(np.matmul, 384, 1024, dtype) > 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_of_threads_changes_no_bit(dtype: str) -> None:
    rows, other = matrix(TILE + 9, 384, 2, dtype), matrix(384, 1024, 3, dtype)
    products = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            products.append(exact_product(rows, other).tobytes())
    assert products[0] == products[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dim", [1, 16, 384, 768, 1024])
def test_no_order_of_adding_up_changes_a_bit(dtype: str, dim: int) -> None:
    """What holds for any order holds for any kernel, on any processor."""
    rows, columns = matrix(5, dim, 4, dtype) * 3, matrix(dim, 30, 5, dtype)
    product = exact_product(rows, columns).tobytes()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(dim)
        assert exact_product(rows[:, order], columns[order]).tobytes() == product


def test_a_plain_product_depends_on_the_order_so_the_test_above_can_fail() -> None:
    rows, columns = matrix(5, 384, 4, "float32"), matrix(384, 30, 5, "float32")
    order = np.random.default_rng(0).permutation(384)
    assert (rows[:, order] @ columns[order]).tobytes() != (rows @ columns).tobytes()


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_it_is_as_precise_as_float32_is_at_any_size(size: float) -> None:
    rows, columns = matrix(50, 384, 6, "float64") * size, matrix(384, 40, 7, "float64")
    true = rows @ columns
    error = np.abs(exact_product(rows.astype(np.float32), columns.astype(np.float32)) - true)
    bound = np.linalg.norm(rows, axis=1)[:, None] * np.linalg.norm(columns, axis=0)
    assert (error / bound).max() < 1e-6


@settings(max_examples=40)
@given(rows=st.integers(0, 3 * TILE), columns=st.integers(0, 20), seed=st.integers(0, 99))
def test_it_is_the_product(rows: int, columns: int, seed: int) -> None:
    left, right = matrix(rows, 5, seed, "float64"), matrix(5, columns, seed + 1, "float64")
    product = exact_product(left, right)
    assert product.shape == (rows, columns)
    np.testing.assert_allclose(product, np.einsum("nd,dc->nc", left, right), atol=1e-12)


@pytest.mark.parametrize(
    ("left", "right", "found"), [("float32", "float32", "float32"), ("float32", "float64", "float64")]
)
def test_the_result_is_as_precise_as_the_preciser_factor(left: str, right: str, found: str) -> None:
    assert exact_product(matrix(3, 4, 0, left), matrix(4, 5, 1, right)).dtype == found


def test_a_row_that_is_not_a_number_spoils_no_other() -> None:
    rows, other = matrix(20, 16, 0, "float32"), matrix(16, 40, 1, "float32")
    whole = exact_product(rows, other)
    rows[7] = np.nan
    assert np.array_equal(np.delete(exact_product(rows, other), 7, axis=0), np.delete(whole, 7, axis=0))


def test_it_does_not_write_into_its_factors() -> None:
    rows, other = matrix(TILE + 5, 16, 0, "float32"), matrix(16, 40, 1, "float32")
    before = rows.copy(), other.copy()
    exact_product(rows, other)
    assert np.array_equal(rows, before[0])
    assert np.array_equal(other, before[1])
