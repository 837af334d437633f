"""Messages as bytes: what goes in comes out, and what is no message is refused without executing anything."""

from __future__ import annotations

import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation import packed
from fedtext.federation.packed import pack, unpack
from fedtext.system.errors import InputError
from tests.refusals import refuses

ARRAYS = {"whole": np.arange(-3, 5), "half": np.array([[0.5, -2.0]], dtype=np.float32), "yes": np.array([True, False])}


def test_kind_facts_and_arrays_come_back_to_the_bit() -> None:
    found = unpack(pack("inquiry", {"b": [1, None], "a": "ö"}, ARRAYS))
    assert (found.kind, found.facts) == ("inquiry", {"b": [1, None], "a": "ö"})
    assert {name: (one.dtype, one.shape, one.tobytes()) for name, one in found.arrays.items()} == {
        name: (one.dtype, one.shape, one.tobytes()) for name, one in ARRAYS.items()
    }


def test_a_message_without_arrays_travels_too_and_order_changes_no_byte() -> None:
    assert unpack(pack("who", {})).arrays == {}
    assert pack("a", {"x": 1, "y": 2}, ARRAYS) == pack("a", {"y": 2, "x": 1}, dict(reversed(ARRAYS.items())))


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_any_other_bytes_are_no_message(data: bytes) -> None:
    with refuses("no-message"):
        unpack(data)


@settings(max_examples=60)
@given(cut=st.integers(0, 300), at=st.integers(0, 299), by=st.integers(1, 255))
def test_a_message_that_was_cut_or_changed_is_refused_or_a_message(cut: int, at: int, by: int) -> None:
    whole = bytearray(pack("inquiry", {"a": 1}, ARRAYS))
    whole[at % len(whole)] = (whole[at % len(whole)] + by) % 256
    for data in (bytes(whole), bytes(whole[:cut])):
        with suppress(InputError):
            assert isinstance(unpack(data).facts, dict)


def test_a_pickle_is_no_message_and_is_not_loaded() -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (pytest.fail, ("it was loaded",))

    with refuses("no-message"):
        unpack(pickle.dumps(Trap()))


def test_more_bytes_than_a_message_may_have_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pack("inquiry", {}, ARRAYS)
    monkeypatch.setattr(packed, "MOST_BYTES", len(data) - 1)
    with refuses("no-message"):
        unpack(data)
