"""Pieces of the sampled units' messages: the same bytes, wherever they are computed and however they are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.federation import mechanism
from fedtext.federation import messages as module
from fedtext.federation.correlated_sum import correlated_sum, planned_run
from fedtext.federation.mechanism import client_messages, opened_ledger, planned_sum, summed_messages
from fedtext.federation.noisy_steps import release_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import open_ledger
from fedtext.privacy.matrix_mechanism import independent
from fedtext.privacy.noise import new_noise_key
from fedtext.system import threads
from fedtext.system.engine import Engine, computing_on, over_processes
from tests.parameters import conf_base
from tests.refusals import refuses

KEY, DIM, UNITS, HOLDERS = new_noise_key(5), 6, 40, 4
RANDOM = np.random.default_rng(0)
UNIT = RANDOM.integers(0, UNITS, size=160)
FEATURES = RANDOM.normal(size=(160, DIM))


@pytest.fixture(scope="module")
def two() -> Iterator[Engine]:
    with over_processes(2) as engine:
        yield engine


def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of seven units: six of them, the last one smaller."""
    monkeypatch.setattr(module, "FEWEST", 7)
    monkeypatch.setattr(module, "MOST", 7)


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 8.0, "delta": 1e-6, "noise_seed": 0, **changes})


def query(**changes: Any) -> Query:
    return Query(**{"name": "sum", "round": 1, "dim": DIM, "clip_norm": 1.0, "noise_multiplier": 2.0, **changes})


def holding(holder: np.ndarray | None = None) -> PrivateSamples:
    return PrivateSamples(FEATURES, UNIT, np.zeros(len(UNIT), dtype=np.int64), np.arange(UNITS), holder)


def sums(held: PrivateSamples) -> Iterator[Block]:
    """Each unit's first sample in its order, plus the mean of all: a contribution that an order or a cut would move."""
    for code in np.unique(held.unit):
        own = held.features[held.unit == code]
        yield Block(np.array([code]), (own[0] + own.mean(axis=0))[None])


def plain(**declared: Any) -> bytes:
    ledger = opened_ledger([query()], privacy(**declared), UNITS)
    return release_noisy_sum(query(), sums, holding(), ledger, KEY).sum.tobytes()


def by_silo() -> bytes:
    declared = privacy(unit="record", aggregation="local", holders=HOLDERS, population=UNITS)
    ledger = opened_ledger([query()], declared, UNITS)
    return release_noisy_sum(query(), sums, holding(UNIT % HOLDERS), ledger, KEY).sum.tobytes()


def steps() -> bytes:
    asked = query(steps=2, batch=20)
    ledger = opened_ledger([asked], privacy(), UNITS)

    def training(ask: Any) -> bytes:
        return b"".join(ask(sums, f"weights {number}").tobytes() for number in range(2))

    return release_noisy_steps(asked, training, holding(), ledger, KEY)[0]


def correlated() -> bytes:
    factorisation = independent(np.tril(np.ones((2, 2))), separation=1)
    declared = privacy()
    ledger = open_ledger(declared, UNITS, [planned_run(query(), factorisation, declared, UNITS).release])
    found = correlated_sum(query(), factorisation, sums, holding(), np.zeros((0, DIM), np.int64), ledger, KEY)
    return found.released.tobytes()


RELEASES = {
    "a sum": plain,
    "a sum where each client adds its noise": lambda: plain(aggregation="local"),
    "a sum where silos add noise": by_silo,
    "a sum of a sample": lambda: plain(sampling="poisson", clients_per_round=25),
    "steps": steps,
    "correlated rounds": correlated,
}


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_has_the_same_bytes_in_pieces_and_on_two_processes(
    release: str, two: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = RELEASES[release]()
    small_pieces(monkeypatch)
    assert RELEASES[release]() == whole
    with computing_on(two):
        assert RELEASES[release]() == whole


class Counting:
    """Notes the sizes of the pieces."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def map(self, work: Any, pieces: Any) -> Iterator[Any]:
        for piece in pieces:
            self.sizes.append(len(piece.sampled))
            yield work(piece)


@pytest.mark.parametrize(("dim", "sizes"), [(1, [2048, 952]), (2**14, [1024, 1024, 952]), (2**20, [64] * 46 + [56])])
def test_the_width_of_a_message_alone_fixes_how_many_units_are_a_piece(dim: int, sizes: Sequence[int]) -> None:
    samples = PrivateSamples.of_one_class(np.zeros((3000, 1)), np.arange(3000))
    asked = query(dim=dim, noise_multiplier=1.0)
    ledger = opened_ledger([asked], privacy(), 3000)
    with computing_on(counting := Counting()):
        release_noisy_sum(asked, lambda held: [], samples, ledger, KEY)
    assert counting.sizes == sizes


@settings(max_examples=50)
@given(
    unit=st.lists(st.integers(0, 9), max_size=30),
    chosen=st.sets(st.integers(0, 11)),
    units=st.integers(1, 4),
)
def test_pieces_have_every_sample_of_a_chosen_unit_once_and_in_its_order(
    unit: list[int], chosen: set[int], units: int
) -> None:
    rows = np.arange(len(unit), dtype=np.float64)[:, None]
    samples = PrivateSamples.of_one_class(rows, np.array(unit, dtype=np.int64))
    cut = list(samples.in_pieces(np.array(sorted(chosen), dtype=np.int64), units))
    assert [code for codes, _ in cut for code in codes.tolist()] == sorted(chosen)
    assert all(len(codes) <= units for codes, _ in cut)
    for codes, own in cut:
        expected = [row for row, code in enumerate(unit) if code in set(codes.tolist())]
        assert own.features[:, 0].tolist() == expected


def test_a_piece_in_which_a_unit_contributes_that_is_not_of_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch)
    ledger = opened_ledger([query()], privacy(), UNITS)
    with refuses("contribution-not-asked"):
        release_noisy_sum(query(), lambda _: sums(holding()), holding(), ledger, KEY)


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("non_negative", [False, True])
def test_long_messages_are_those_of_whole_rows(
    non_negative: bool, dtype: str, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they were before they were added stretch by stretch: clipped, scaled and rounded as one array."""
    rng, dim = np.random.default_rng(3), 2**16 + 33
    monkeypatch.setattr(threads, "threads_here", lambda: cores)
    rows = (rng.normal(size=(5, dim)) * np.array([1e-5, 1, 1, 1, 1e3])[:, None]).astype(dtype)
    rows[2, 7] = np.nan  # counts as zeros
    plan = planned_sum(query(dim=dim, non_negative=non_negative), privacy(), 9)
    blocks, sampled = [Block(np.arange(2), rows[:2]), Block(np.arange(2, 5), rows[2:])], np.arange(7)
    long = dict(client_messages(blocks, plan, sampled, KEY, ("a",)))
    total = summed_messages(blocks, plan, sampled, KEY, ("a",))
    monkeypatch.setattr(mechanism, "_LONG", 2**40)
    whole = dict(client_messages(blocks, plan, sampled, KEY, ("a",)))
    assert whole.keys() == long.keys() == set(sampled.tolist())
    assert all(np.array_equal(whole[unit], long[unit]) for unit in whole)
    assert np.array_equal(total, np.sum(list(whole.values()), axis=0))
    assert any(whole[unit].any() for unit in (0, 1, 3, 4))
    assert not whole[2].any()


@pytest.mark.parametrize("unit", [[1, 1], [8, 2]])
def test_a_long_message_that_was_not_asked_for_is_refused(unit: list[int]) -> None:
    plan = planned_sum(query(dim=2**16), privacy(), 9)
    with refuses("contribution-not-asked"):
        summed_messages([Block(np.array(unit), np.zeros((2, 2**16)))], plan, np.arange(3), KEY, ("a",))
