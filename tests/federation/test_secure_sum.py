"""The only door out of a client: clip, grid, noise, charge, in that order, and repeatable."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from fedtext.federation import charged_release, mechanism, secure_sum
from fedtext.federation.mechanism import PlannedSum, client_messages, opened_ledger, planned_sum
from fedtext.federation.private_samples import PrivateSamples, sampled_units
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block, unit_codes
from fedtext.params.privacy import Adjacency, Privacy
from fedtext.privacy.budget_guard import NoBudgetGuard, guarding
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Release
from fedtext.privacy.noise import NoiseKey, new_noise_key
from tests.parameters import conf_base
from tests.refusals import refuses

KEY = new_noise_key(21)
MULTIPLIER = 20.0


def ledger(population: int = 5000, **declared: Any) -> Ledger:
    return Ledger(
        declaration=conf_base(Privacy, {"epsilon": 8.0, "delta": 1e-6, "noise_seed": 0, **declared}),
        population=population,
    )


def query(dim: int, **changes: Any) -> Query:
    return Query(
        **{"name": "scores", "round": 1, "dim": dim, "clip_norm": 1.0, "noise_multiplier": MULTIPLIER, **changes}
    )


def holding(units: np.ndarray) -> PrivateSamples:
    """These units and nobody else, as far as anybody knows."""
    return PrivateSamples.of_one_class(np.zeros((len(units), 0)), units)


def summed(
    rows: np.ndarray,
    opened: Ledger,
    *,
    units: np.ndarray | None = None,
    blocks: int = 1,
    key: NoiseKey = KEY,
    asked: np.ndarray | None = None,
    modulus_bits: int = 64,
    **other: Any,
) -> np.ndarray:
    """The noised sum of the units' rows; where everybody is asked, the population are those that are `asked`."""
    codes = np.arange(len(rows)) if units is None else units
    everybody = codes if asked is None else asked
    if opened.declaration.sampling == "full":
        opened = opened.model_copy(update={"population": len(np.unique(everybody))})
    cut = [Block(*part) for part in zip(np.array_split(codes, blocks), np.array_split(rows, blocks), strict=True)]
    asking = query(rows.shape[1], **other)
    return release_noisy_sum(asking, lambda _: cut, holding(everybody), opened, key, modulus_bits=modulus_bits).sum


def plan(opened: Ledger, dim: int, **changes: Any) -> PlannedSum:
    return planned_sum(query(dim, **changes), opened.declaration, opened.population)


def unit_rows(clients: int, dim: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(clients, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise: what the clients' messages sum to."""
    monkeypatch.setattr(
        charged_release, "discrete_gaussian", lambda key, *, stddev_on_grid, size, stream: np.zeros(size, np.int64)
    )


@pytest.mark.usefixtures("silent")
def test_without_noise_it_is_the_sum_of_clipped_rows() -> None:
    rows = unit_rows(500, 40) * np.linspace(0, 5, 500)[:, None]
    clipped = rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    step = 2.0**-13
    error = summed(rows, ledger()) - clipped.sum(axis=0)
    assert np.abs(error).max() < 5 * step * math.sqrt(500) / 2
    assert np.abs(error).max() > 0


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
@pytest.mark.parametrize("share", [1.0, 0.95])
def test_noise_has_the_stated_deviation(aggregation: str, share: float) -> None:
    clients, dim = (1, 40_000) if aggregation != "local" else (4, 20_000)
    opened = ledger(aggregation=aggregation)
    noise = summed(np.zeros((clients, dim)), opened, noise_multiplier=MULTIPLIER * share)
    stated = plan(opened, dim).release.noise_stddev * math.sqrt(clients if aggregation == "local" else 1)
    p_value = stats.chi2.cdf(np.square(noise / stated).sum(), dim)
    assert (p_value < 1e-6) if share < 1 else (1e-3 < p_value < 1 - 1e-3)
    assert stats.kstest(noise / np.std(noise), "norm").pvalue > 1e-3


def test_missing_shares_are_made_up_for() -> None:
    rows = np.zeros((1, 40_000))
    ratio = np.std(summed(rows, ledger(honest_fraction=0.64))) / np.std(summed(rows, ledger()))
    assert ratio == pytest.approx(1.25, rel=0.02)


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
def test_the_same_call_gives_the_same_bytes_whatever_the_blocks_and_the_order(aggregation: str) -> None:
    rows = unit_rows(30, 7)
    first = summed(rows, ledger(aggregation=aggregation))
    assert first.tobytes() == summed(rows, ledger(aggregation=aggregation), blocks=1).tobytes()
    assert first.tobytes() == summed(rows, ledger(aggregation=aggregation), blocks=7).tobytes()
    order = np.random.default_rng(1).permutation(30)
    shuffled = summed(rows[order], ledger(aggregation=aggregation), units=order, blocks=4)
    assert first.tobytes() == shuffled.tobytes()


@pytest.mark.parametrize("aggregation", ["secure", "local"])
def test_a_block_is_worked_on_a_few_rows_at_a_time_with_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, aggregation: str
) -> None:
    rows, opened = unit_rows(30, 7), ledger(aggregation=aggregation)
    whole = summed(rows, opened)
    monkeypatch.setattr(mechanism, "_CELLS", 20)
    assert summed(rows, opened).tobytes() == whole.tobytes()


def test_every_value_is_on_the_grid() -> None:
    total = summed(unit_rows(20, 50), ledger())
    assert np.array_equal(total / 2.0**-13, np.rint(total / 2.0**-13))


@pytest.mark.parametrize(
    "change",
    [
        {"round": 2},
        {"name": "other"},
        {"public_digest": "another"},
        {"key": new_noise_key(22)},
        {"noise_multiplier": 10.0, "clip_norm": 2.0},
    ],
)
def test_any_change_gives_independent_noise(change: dict[str, Any]) -> None:
    rows = np.zeros((3, 20_000))
    first, second = summed(rows, ledger()), summed(rows, ledger(), **change)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(20_000)


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
def test_two_different_sums_of_one_name_do_not_share_their_noise(aggregation: str) -> None:
    rows, other = np.zeros((2, 5000)), np.zeros((2, 5000))
    other[:, 0] = 1.0
    opened = ledger(aggregation=aggregation)
    first, second = (summed(some, opened) for some in (rows, other))
    assert np.std(first - second) > 1.3 * MULTIPLIER * (math.sqrt(2) if aggregation == "local" else 1)


@pytest.mark.parametrize("aggregation", ["secure", "trusted"])
def test_two_equal_sums_of_other_samples_do_not_share_their_noise(aggregation: str) -> None:
    """Equal bytes would say for certain that a record which was added or changed moved no message."""
    dim, opened = 5000, ledger(3, aggregation=aggregation)
    asked = query(dim)

    def released(features: np.ndarray, label: np.ndarray) -> np.ndarray:
        held = PrivateSamples(features, np.arange(3), label, np.arange(3))
        silent = [Block(np.arange(3), np.zeros((3, dim)))]
        return release_noisy_sum(asked, lambda _: silent, held, opened, KEY).sum

    features, label = np.eye(3), np.zeros(3, dtype=np.int64)
    first, again = (released(features, label) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    for other in (released(features[[0, 1, 1]], label), released(features, np.array([0, 0, -1]))):
        assert np.std(first - other) == pytest.approx(math.sqrt(2) * MULTIPLIER, rel=0.05)


@pytest.mark.parametrize("holders", [None, 3])
def test_a_client_s_own_noise_is_bound_to_what_it_holds_and_to_nobody_else_s(holders: int | None) -> None:
    """Under `local` the server sees each message: equal bytes would say that a changed record moved nothing."""
    dim, unit = 5000, "client" if holders is None else "record"
    declared = {"epsilon": 8.0, "delta": 1e-6, "noise_seed": 0, "aggregation": "local", "unit": unit, "population": 3}
    opened = Ledger(declaration=conf_base(Privacy, declared | {"holders": holders}), population=3)

    def released(features: np.ndarray) -> np.ndarray:
        held = PrivateSamples(features, np.arange(3), np.zeros(3, dtype=int), np.arange(3), np.arange(3))
        silent = [Block(np.arange(3), np.zeros((3, dim)))]
        return release_noisy_sum(query(dim), lambda _: silent, held, opened, KEY).sum

    first, again = released(np.eye(3)), released(np.eye(3))
    assert first.tobytes() == again.tobytes()
    moved = first - released(np.eye(3)[[0, 1, 1]])  # one of three has another record
    assert np.std(moved) == pytest.approx(math.sqrt(2) * MULTIPLIER, rel=0.05)


@pytest.mark.parametrize("asked", [{"sampling": "full"}, {"sampling": "poisson", "clients_per_round": 4}])
def test_rows_that_change_places_change_no_byte(asked: dict[str, object]) -> None:
    """A message may depend on its unit's first row, as a shuffle does: it would move, and the table's digest not."""
    declared = {"noise_seed": 0, "epsilon": 8.0, "delta": 1e-6, **asked}
    opened = Ledger(declaration=conf_base(Privacy, declared), population=20)
    features, unit = np.random.default_rng(0).normal(size=(40, 4)), np.repeat(np.arange(20), 2)

    def first_rows(held: PrivateSamples) -> list[Block]:
        units, place = np.unique(held.unit, return_index=True)
        return [Block(units, held.features[place])]

    def released(order: np.ndarray) -> bytes:
        held = PrivateSamples(features[order], unit[order], np.zeros(40, dtype=int), np.arange(20))
        return release_noisy_sum(query(4).about("", ""), first_rows, held, opened, KEY).sum.tobytes()

    orders = [np.random.default_rng(seed).permutation(40) for seed in range(5)]
    assert len({released(order) for order in (np.arange(40), *orders)}) == 1


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
def test_two_equal_sums_of_two_draws_do_not_share_their_noise(aggregation: str) -> None:
    """Equal bytes would say for certain that nobody whom one of them asked alone had anything to say."""
    dim, none = 5000, np.zeros(0, dtype=np.int64)
    nobody = PrivateSamples(np.zeros((0, 1)), none, none, np.arange(50), none)
    declared = {"sampling": "poisson", "clients_per_round": 20, "aggregation": aggregation, "noise_seed": 0}
    declared |= {"unit": "record", "population": 50, "holders": 3, "epsilon": 8.0}

    def released(settings: str, delta: float = 1e-6) -> np.ndarray:
        opened = Ledger(declaration=conf_base(Privacy, declared | {"delta": delta}), population=50)
        return release_noisy_sum(query(dim).about("", settings), lambda _: [], nobody, opened, KEY).sum

    first = released("settings")
    assert first.tobytes() == released("settings").tobytes()
    for other in (released("others"), released("settings", 2e-6)):
        draws = math.sqrt(3) if aggregation == "local" else 1
        assert np.std(first - other) == pytest.approx(math.sqrt(2) * draws * MULTIPLIER, rel=0.05)


@pytest.mark.parametrize(
    "declared",
    [
        {"honest_fraction": 0.9},
        {"aggregation": "local"},
        {"sampling": "poisson", "clients_per_round": 5},
        {"sampling": "fixed_size", "clients_per_round": 5, "unit": "record"},
    ],
)
def test_a_ledger_is_charged_the_very_releases_that_it_was_opened_for(declared: dict[str, Any]) -> None:
    """Rounds of one question and another one beside them, under another clip: what was planned is what is charged."""
    privacy = conf_base(Privacy, {"epsilon": 80.0, "delta": 1e-6, "noise_seed": 0, **declared})
    queries = [query(16, round=t) for t in (1, 2)] + [query(7, name="means", clip_norm=0.3, noise_multiplier=9.0)]
    book = opened_ledger(queries, privacy, 10)
    assert book.releases == ()
    for asking in queries:
        asked = asking.about("public", "settings")
        told = release_noisy_sum(asked, lambda held, dim=asking.dim: [Block(held.unit, np.ones((len(held.unit), dim)))],
                      holding(np.arange(10)), book, KEY)  # fmt: skip
        assert plan(book, 16, round=2).release in (book.planned or ())
        book = told.ledger
    assert book.releases == book.planned
    assert [(r.name, r.round) for r in book.releases] == [("scores", 1), ("scores", 2), ("means", 1)]
    assert book.releases[2].sensitivity == pytest.approx(0.3, rel=1e-3)


def untouched(held: PrivateSamples) -> Iterator[Block]:
    raise AssertionError("private data were read")
    yield


def unread(opened: Ledger | None = None, units: int = 3, key: NoiseKey = KEY, bits: int = 64, **other: Any) -> None:
    """A question that is refused before any unit answers."""
    release_noisy_sum(
        query(4, **other), untouched, holding(np.arange(units)), opened or ledger(), key, modulus_bits=bits
    )


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (BudgetExceeded, {"noise_multiplier": 0.1}),
        (ValueError, {"bits": 12}),
        (ValueError, {"noise_multiplier": 0.0}),
        (ValueError, {"clip_norm": -1.0}),
        (ValueError, {"units": 5001}),
    ],
)
def test_overdraft_and_bad_plans_are_refused_before_any_block_is_read(
    error: type[Exception], arguments: dict[str, Any]
) -> None:
    with pytest.raises(error):
        unread(**arguments)


@pytest.mark.parametrize("adjacency", ["zero_out", "add_remove", "replace_one"])
@pytest.mark.parametrize("honest_fraction", [1.0, 0.9])
def test_a_calibrated_multiplier_pays_for_its_rounds_and_no_more(adjacency: Adjacency, honest_fraction: float) -> None:
    declared = ledger(epsilon=1.0, delta=3e-6, adjacency=adjacency, honest_fraction=honest_fraction)
    multiplier = noise_multiplier(epsilon=1.0, delta=3e-6, rounds=5, adjacency=adjacency)
    rows = unit_rows(10, 16)
    charged = declared.model_copy(update={"population": 10})
    for round in range(5):
        asking = query(16, round=round, noise_multiplier=multiplier)
        charged = release_noisy_sum(
            asking, lambda held: [Block(held.unit, rows)], holding(np.arange(10)), charged, KEY
        ).ledger
    assert charged.epsilon() == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(BudgetExceeded):
        unread(charged, round=5, noise_multiplier=multiplier)


def test_the_modulus_keeps_every_legal_sum() -> None:
    rows = np.tile([[1.0, 0.0, -1.0]], (300, 1))
    opened = ledger(300, delta=1e-6)
    bits = plan(opened, 3, clip_norm=math.sqrt(2)).message_bits
    narrow = summed(rows, opened, clip_norm=math.sqrt(2), modulus_bits=bits)
    assert np.array_equal(narrow, summed(rows, opened, clip_norm=math.sqrt(2)))
    assert abs(narrow[0] - 300) < 6 * 1.5 * MULTIPLIER


@pytest.mark.parametrize("bits", [8, 33, 64])
def test_residues_are_read_around_zero(bits: int) -> None:
    half = 1 << (bits - 1)
    values = np.array([0, 1, -1, half - 1, -half], dtype=np.int64)
    assert np.array_equal(secure_sum.centred(values, bits), values)
    if bits < 64:
        assert secure_sum.centred(np.array([half], dtype=np.int64), bits)[0] == -half


def test_an_empty_draw_is_pure_noise() -> None:
    """A unit in thirty is drawn, so that in some round nobody is."""
    nobody = np.zeros(0, dtype=np.int64)
    for aggregation in ("secure", "local"):
        opened = ledger(30, sampling="poisson", clients_per_round=1, aggregation=aggregation)
        drawn = (sampled_units(holding(nobody), opened, KEY, query(5000, round=t)) for t in range(50))
        empty = next(t for t, units in enumerate(drawn) if not len(units))
        noise = summed(np.empty((0, 5000)), opened, asked=nobody, round=empty)
        assert np.std(noise) == pytest.approx(MULTIPLIER if aggregation == "secure" else 0.0, rel=0.05)


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_client_with_a_broken_row_is_as_silent_as_one_without_a_row(aggregation: str, bad: float) -> None:
    """Whether a release happens at all must not be one client's say, and nobody is to see that its row was broken."""
    rows, opened = unit_rows(5, 40), ledger(aggregation=aggregation)
    rows[3, 7] = bad
    others = np.delete(np.arange(5), 3)
    silent = summed(rows[others], opened, units=others, asked=np.arange(5))
    assert summed(rows, opened).tobytes() == silent.tobytes()


def test_units_of_which_only_the_number_is_known_cost_nothing() -> None:
    """A slip of 10^12, or every phone of a country: no code is made for those who send zeros."""
    rows = unit_rows(3, 4)
    held, cut = PrivateSamples.of_one_class(rows, np.arange(3)), [Block(np.arange(3), rows)]
    few, many = (ledger(population, aggregation="trusted") for population in (3, 10**12))
    one, other = (release_noisy_sum(query(4), lambda _: cut, held, opened, KEY).sum for opened in (few, many))
    assert one.tobytes() == other.tobytes()


def test_blocks_of_another_width_and_too_many_clients_are_refused() -> None:
    for codes, width in ((np.arange(2), 5), (np.arange(3), 4)):
        blocks = [Block(codes, np.zeros((2, width)))]
        with refuses("contribution-of-another-shape", value=(2, width)):
            release_noisy_sum(query(4), lambda _, blocks=blocks: blocks, holding(np.arange(3)), ledger(3), KEY)
    with refuses("more-units-than-declared", value=30):
        unread(ledger(30), units=31)
    with refuses("contribution-not-asked"):
        summed(np.zeros((10, 4)), ledger(30), asked=np.arange(9))


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
@pytest.mark.parametrize("blocks", [1, 2, 4])
@pytest.mark.parametrize("codes", [[1, 2, 3, 1], [1, 1, 2, 3], [1, 2, 3, 5], [5, 5, 1, 2]])
def test_a_unit_that_was_not_asked_or_comes_twice_is_refused(aggregation: str, blocks: int, codes: list[int]) -> None:
    """As many rows as were asked for, too: a unit that answers for another one as well moves the sum by twice a clip."""
    units, asked = np.array(codes), np.arange(1, 5)
    with refuses("contribution-not-asked", value="scores"):
        summed(np.zeros((4, 6)), ledger(aggregation=aggregation), units=units, asked=asked, blocks=blocks)
    assert summed(np.zeros((4, 6)), ledger(), units=asked, asked=asked, blocks=blocks).shape == (6,)


def test_who_is_silent_does_not_show_under_local_noise() -> None:
    """Every client asked adds its noise, also one that holds nothing: the server must not see the noise of fewer."""
    rows, opened = np.zeros((3, 5000)), ledger(aggregation="local")
    spread = np.std(summed(rows, opened, asked=np.arange(12)))
    assert spread == pytest.approx(MULTIPLIER * math.sqrt(12), rel=0.05)
    assert spread == pytest.approx(np.std(summed(np.zeros((12, 5000)), opened)), rel=0.05)
    assert np.array_equal(summed(rows, opened, asked=np.arange(12)), summed(np.zeros((12, 5000)), opened))


def test_a_key_of_another_source_than_declared_is_refused_before_any_block_is_read() -> None:
    for opened, key in ((ledger(noise_seed=None), KEY), (ledger(), new_noise_key())):
        with refuses("noise-key-contradicts-seed"):
            unread(opened, key=key)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**31), dim=st.integers(1, 12), scale=st.sampled_from([0.0, 1e-4, 0.5, 1.0, 1e6]))
@pytest.mark.usefixtures("silent")
def test_no_client_moves_the_sum_by_more_than_the_stated_sensitivity(seed: int, dim: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(6, dim)) * rng.choice([1e-3, 1.0, 1e3], size=(6, 1))
    without, replaced = rows.copy(), rows.copy()
    without[2], replaced[2] = 0.0, -scale * rows[2]
    before, zeroed, swapped = (summed(some, ledger()) for some in (rows, without, replaced))
    others = np.delete(np.arange(6), 2)
    removed = summed(rows[others], ledger(), units=others)
    stated = plan(ledger(), dim).release.sensitivity
    assert np.linalg.norm(before - zeroed) <= stated
    assert np.linalg.norm(before - swapped) <= 2 * stated
    assert np.array_equal(removed, zeroed)


def sent(
    codes: np.ndarray, rows: np.ndarray, key: NoiseKey = KEY, stream: tuple[str, ...] = ("a",)
) -> dict[int, bytes]:
    """Each unit's message."""
    own = client_messages([Block(codes, rows)], plan(ledger(), rows.shape[1]), codes, key, stream)
    return {unit: message.tobytes() for unit, message in own}


@settings(max_examples=40)
@given(seed=st.integers(0, 2**31), dim=st.integers(1, 40), company=st.integers(0, 9))
def test_what_a_client_sends_depends_on_nobody_else(seed: int, dim: int, company: int) -> None:
    """Alone, in other company, at another place, beside clients of the same text: the same bytes."""
    rng = np.random.default_rng(seed)
    codes, rows = unit_codes([f"client {i}" for i in range(company + 1)]), rng.normal(size=(company + 1, dim))
    alone = sent(codes[:1], rows[:1])[int(codes[0])]
    others = rng.permutation(company + 1)
    others_rows = np.where(others[:, None] == 0, rows[others], rng.normal(size=rows.shape) * rng.choice([0, 9]))
    assert sent(codes, rows)[int(codes[0])] == alone
    assert sent(codes[others], others_rows)[int(codes[0])] == alone


def test_every_client_tosses_coins_of_its_own() -> None:
    """The same row of 200 clients: no two messages are alike, and their mean is the row; other streams toss anew."""
    codes, row = unit_codes([str(i) for i in range(200)]), np.full((1, 64), 0.01 + 0.3 * 2.0**-13)
    own = sent(codes, row.repeat(200, axis=0))
    assert len(set(own.values())) == 200
    grid = np.array([np.frombuffer(message, dtype=np.int64) for message in own.values()])
    down, up = np.unique(grid)
    share = row[0, 0] / plan(ledger(), 64).step - down
    assert (up - down, 0 < share < 1) == (1, True)
    right = stats.binomtest(int((grid == up).sum()), grid.size, share)
    assert right.pvalue > 1e-4
    assert stats.binomtest(right.k, grid.size, 1 - share).pvalue < 1e-6
    changed = [sent(codes[:1], row, new_noise_key(22)), sent(codes[:1], row, stream=("b",))]
    assert all(one[int(codes[0])] != own[int(codes[0])] for one in changed)


@pytest.mark.parametrize("change", [{"round": 2}, {"name": "other"}, {"public_digest": "other"}, {"clip_norm": 1.5}])
@pytest.mark.usefixtures("silent")
def test_another_release_tosses_other_coins(change: dict[str, Any]) -> None:
    rows = unit_rows(5, 50) / 2
    assert not np.array_equal(summed(rows, ledger()), summed(rows, ledger(), **change))


class Watch(NoBudgetGuard):
    """A gate that writes down what it is told."""

    def __init__(self, refusing: str = "") -> None:
        self.refusing, self.told, self.receipts = refusing, list[Any](), list[str]()

    def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
        self.told.append(("admit", release.name))
        if self.refusing == "admit":
            raise RuntimeError("not admitted")

    def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
        self.told.append(("confirm", release.name, round))
        self.receipts.append(receipt)
        if self.refusing == "confirm":
            raise RuntimeError("not confirmed")


def test_the_gate_is_asked_before_anything_is_read_and_told_before_anything_leaves() -> None:
    rows = unit_rows(5, 4)
    with guarding(Watch("admit")), pytest.raises(RuntimeError, match="not admitted"):
        unread()
    with guarding(Watch("confirm")), pytest.raises(RuntimeError, match="not confirmed"):
        summed(rows, ledger())
    with guarding(watch := Watch()):
        released = summed(rows, ledger(), round=3)
    assert watch.told == [("admit", "scores"), ("confirm", "scores", 3)]
    assert np.array_equal(released, summed(rows, ledger(), round=3)), "the gate that watches changes nothing"


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
def test_a_receipt_is_the_same_for_the_same_sum_only_and_says_nothing_without_the_key(aggregation: str) -> None:
    rows, opened = unit_rows(5, 4), ledger(aggregation=aggregation)
    moved = rows.copy()
    moved[0] = 0.0
    with guarding(watch := Watch()):
        summed(rows, opened)
        summed(rows, opened, blocks=3)
        summed(moved, opened)
        summed(rows, opened, key=new_noise_key(22))
        summed(rows, opened, round=2)
        summed(rows, opened, public_digest="other")
    first, again, *others = watch.receipts
    assert first == again
    assert len({first, *others}) == 5
    assert all(len(receipt) == 32 and int(receipt, 16) >= 0 for receipt in watch.receipts)


@pytest.mark.usefixtures("silent")
def test_the_stated_sensitivity_is_nearly_reached() -> None:
    rows = np.eye(3) * 50
    moved = summed(rows, ledger()) - summed(rows * [[0], [1], [1]], ledger())
    assert 0.999 < np.linalg.norm(moved) <= 1.001
