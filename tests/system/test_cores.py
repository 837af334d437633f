from __future__ import annotations

import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedtext.system.cores import even_batches, over_cores

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def four_cores():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    assert torch.get_num_threads() == 4  # whatever happened, torch has its threads again
    torch.set_num_threads(before)


@pytest.mark.parametrize("pieces", [1, 2, 3, 9])
@pytest.mark.parametrize("cores", [1, 2, 4])
def test_a_piece_has_one_thread_whatever_comes_with_it(pieces, cores):
    torch.set_num_threads(cores)
    assert list(over_cores(lambda _: torch.get_num_threads(), range(pieces), pieces, CPU)) == [1] * pieces
    assert torch.get_num_threads() == cores
    torch.set_num_threads(4)


def test_no_pieces_are_no_work():
    assert list(over_cores(lambda piece: piece, [], 0, CPU)) == []


def test_pieces_run_at_once_and_come_back_in_order():
    meeting = threading.Barrier(4, timeout=20)  # passed only when four threads are there together
    done = list(over_cores(lambda piece: (meeting.wait(), piece * piece)[1], range(8), 8, CPU))
    assert done == [piece * piece for piece in range(8)]


def test_another_device_works_in_the_calling_thread_with_all_threads():
    work = over_cores(lambda _: (threading.get_ident(), torch.get_num_threads()), range(8), 8, torch.device("meta"))
    assert set(work) == {(threading.get_ident(), 4)}


def test_pieces_are_taken_as_they_are_needed():
    taken = []

    def pieces():
        for piece in range(100):
            taken.append(piece)
            yield piece

    done = over_cores(lambda piece: piece, pieces(), 100, CPU)
    assert next(done) == 0
    assert len(taken) < 12
    done.close()


def test_an_error_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(over_cores(lambda piece: 1 // piece, range(3), 3, CPU))


@given(st.integers(0, 300), st.integers(0, 40), st.integers(1, 8))
def test_even_batches_are_few_and_even_and_shared_by_all_cores(number, largest, multiple):
    batches = even_batches(range(number), largest, multiple)
    assert [item for batch in batches for item in batch] == list(range(number))
    sizes = [len(batch) for batch in batches]
    fewest = -(-number // max(largest, 1))
    assert fewest <= len(sizes) < fewest + multiple
    assert len(sizes) % multiple == 0 or len(sizes) == number
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
