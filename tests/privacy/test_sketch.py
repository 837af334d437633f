"""A sketch finds the same people, tells nobody anything without the key, and does not say how many there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.privacy.sketch import SIZE, Sketch, sketch

KEY, OTHER = b"k" * 32, b"o" * 32


def texts(first: int, last: int) -> list[str]:
    return [f"what person number {i} wrote to somebody" for i in range(first, last)]


def of(clients: list[str] = (), written: list[str] = (), key: bytes = KEY) -> Sketch:  # type: ignore[assignment]
    return sketch(clients, written, key)[1]


def test_the_same_text_in_another_order_and_spelling_is_the_same_data_set() -> None:
    name, one = sketch(["a"], texts(0, 50), KEY)
    again, other = sketch(["a"], [text.upper().replace(" ", "\n ") for text in reversed(texts(0, 50))], KEY)
    assert name == again
    assert one.shares_units(other)
    assert not np.array_equal(one.texts, other.texts), "filled up by chance"
    assert sketch(["a"], texts(0, 49), KEY)[0] != name
    assert sketch([], texts(0, 50), KEY)[0] != name


@given(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1))
def test_of_two_small_data_sets_one_unit_in_common_is_found(mine: int, theirs: int) -> None:
    one, other = texts(0, mine), texts(SIZE, SIZE + theirs)
    assert not of(written=one).shares_units(of(written=other))
    assert of(written=[*one, "a text of nearly thirty letters"]).shares_units(
        of(written=[*other, "a text of nearly thirty letters"])
    )


def test_clients_are_found_whatever_they_wrote() -> None:
    assert of(["ann@example.org", "x"], texts(0, 9)).shares_units(of(["y", "ann@example.org"], texts(10, 19)))
    assert not of(["ann@example.org"], texts(0, 9)).shares_units(of(["bob@example.org"], texts(10, 19)))


def test_of_large_data_sets_a_tenth_in_common_is_found() -> None:
    assert of(written=texts(0, 20_000)).shares_units(of(written=texts(18_000, 38_000)))
    assert of(written=texts(0, 20_000)).shares_units(of(written=texts(19_000, 20_000)))


@pytest.mark.parametrize("clients", [["1", "17", "004211"], [""]])
def test_what_may_be_anybody_s_tells_nothing(clients: list[str]) -> None:
    assert not of(clients, ["yes", "Thank you very much!"]).shares_units(of(clients, ["yes", "Thank you very much!"]))
    assert of(["5551234"]).shares_units(of(["5551234"])), "a number of seven digits is somebody's"


def test_without_the_key_nothing_is_found_again_and_no_number_is_seen() -> None:
    few, many = of(["ann@example.org"], texts(0, 3)), of(["bob@example.org"], texts(3, 50_000))
    assert not few.shares_units(of(["ann@example.org"], texts(0, 3), OTHER))
    for one in (few, many):
        assert len(one.to_bytes()) == 2 * SIZE * 8
        assert np.unique(one.texts).size == SIZE
        uniform = one.texts / 2.0**64  # the smallest of many would lie far below
        assert abs(uniform.mean() - 0.5) < 0.04
        assert uniform.max() > 0.99


def test_bytes_keep_a_sketch() -> None:
    one = of(["ann@example.org"], texts(0, 9))
    read = Sketch.of_bytes(one.to_bytes())
    assert np.array_equal(read.clients, one.clients)
    assert np.array_equal(read.texts, one.texts)
    with pytest.raises(ValueError, match="not 7"):
        Sketch.of_bytes(b"x" * 7)
