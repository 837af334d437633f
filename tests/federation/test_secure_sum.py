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

from fedtext.federation import secure_sum
from fedtext.federation.mechanism import planned_sum
from fedtext.federation.secure_sum import digest, private_sum
from fedtext.params.privacy import Adjacency, Privacy
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import BudgetExceeded, Ledger
from fedtext.privacy.noise import NoiseKey, new_noise_key

KEY = new_noise_key(21)
MULTIPLIER = 20.0


def ledger(population: int = 5000, **declared: Any) -> Ledger:
    return Ledger(
        declaration=Privacy(**{"epsilon": 8.0, "delta": 1e-6, "noise_seed": 0, **declared}), population=population
    )


def summed(
    rows: np.ndarray,
    opened: Ledger,
    *,
    blocks: int = 1,
    multiplier: float = MULTIPLIER,
    key: NoiseKey = KEY,
    **other: Any,
) -> np.ndarray:
    arguments = {
        "clip_norm": 1.0,
        "name": "scores",
        "round": 1,
        "asked": np.arange(len(rows)),
        "input_digest": digest(rows),
    }
    arguments |= other
    parts = np.array_split(rows, blocks) if len(rows) else iter(())
    total, _ = private_sum(parts, dim=rows.shape[1], noise_multiplier=multiplier, ledger=opened, key=key, **arguments)
    return total


def unit_rows(clients: int, dim: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(clients, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise: what the clients' messages sum to."""
    monkeypatch.setattr(
        secure_sum, "discrete_gaussian", lambda key, *, stddev_on_grid, size, stream: np.zeros(size, np.int64)
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
    noise = summed(np.zeros((clients, dim)), opened, multiplier=MULTIPLIER * share)
    stated = planned_sum(
        opened.declaration, 5000, dim=dim, clip_norm=1.0, noise_multiplier=MULTIPLIER, name="scores", round=1
    ).release.noise_stddev * math.sqrt(clients if aggregation == "local" else 1)
    p_value = stats.chi2.cdf(np.square(noise / stated).sum(), dim)
    assert (p_value < 1e-6) if share < 1 else (1e-3 < p_value < 1 - 1e-3)
    assert stats.kstest(noise / np.std(noise), "norm").pvalue > 1e-3


def test_missing_shares_are_made_up_for() -> None:
    rows = np.zeros((1, 40_000))
    ratio = np.std(summed(rows, ledger(honest_fraction=0.64))) / np.std(summed(rows, ledger()))
    assert ratio == pytest.approx(1.25, rel=0.02)


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
def test_the_same_call_gives_the_same_bytes_whatever_the_blocks(aggregation: str) -> None:
    rows = unit_rows(30, 7)
    first = summed(rows, ledger(aggregation=aggregation))
    assert first.tobytes() == summed(rows, ledger(aggregation=aggregation), blocks=1).tobytes()
    assert first.tobytes() == summed(rows, ledger(aggregation=aggregation), blocks=7).tobytes()


@pytest.mark.parametrize("aggregation", ["secure", "local"])
def test_a_block_is_worked_on_a_few_rows_at_a_time_with_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, aggregation: str
) -> None:
    rows, opened = unit_rows(30, 7), ledger(aggregation=aggregation)
    whole = summed(rows, opened)
    monkeypatch.setattr(secure_sum, "_CELLS", 20)
    assert summed(rows, opened).tobytes() == whole.tobytes()


def test_every_value_is_on_the_grid() -> None:
    total = summed(unit_rows(20, 50), ledger())
    assert np.array_equal(total / 2.0**-13, np.rint(total / 2.0**-13))


@pytest.mark.parametrize(
    "change",
    [
        {"round": 2},
        {"name": "other"},
        {"input_digest": "another"},
        {"key": new_noise_key(22)},
        {"multiplier": 10.0, "clip_norm": 2.0},
    ],
)
def test_any_change_gives_independent_noise(change: dict[str, Any]) -> None:
    rows = np.zeros((3, 20_000))
    first, second = summed(rows, ledger()), summed(rows, ledger(), **change)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(20_000)


@pytest.mark.parametrize("aggregation", ["secure", "trusted", "local"])
def test_a_forgotten_input_does_not_cancel_the_noise(aggregation: str) -> None:
    rows, other = np.zeros((2, 5000)), np.zeros((2, 5000))
    other[:, 0] = 1.0
    opened = ledger(aggregation=aggregation)
    first, second = (summed(some, opened, input_digest="the same for both") for some in (rows, other))
    assert np.std(first - second) > 1.3 * MULTIPLIER * (math.sqrt(2) if aggregation == "local" else 1)


def test_the_ledger_is_charged_what_was_planned() -> None:
    opened = ledger(honest_fraction=0.9)
    rows = unit_rows(10, 16)
    _, charged = private_sum(
        [rows],
        dim=16,
        asked=np.arange(10),
        clip_norm=1.0,
        noise_multiplier=MULTIPLIER,
        name="scores",
        round=4,
        ledger=opened,
        key=KEY,
        input_digest=digest(rows),
    )
    plan = planned_sum(
        opened.declaration, 5000, dim=16, clip_norm=1.0, noise_multiplier=MULTIPLIER, name="scores", round=4
    )
    assert charged.releases == (plan.release,)
    assert opened.releases == ()


def untouched() -> Iterator[np.ndarray]:
    raise AssertionError("private data were read")
    yield


def unread(**other: Any) -> None:
    """A sum whose call is refused before any block is read."""
    call: dict[str, Any] = {"dim": 4, "asked": np.arange(3), "clip_norm": 1.0, "noise_multiplier": MULTIPLIER}
    call |= {"name": "scores", "round": 1, "ledger": ledger(), "key": KEY, "input_digest": ""}
    private_sum(untouched(), **(call | other))


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (BudgetExceeded, {"noise_multiplier": 0.1}),
        (ValueError, {"modulus_bits": 12}),
        (ValueError, {"noise_multiplier": 0.0}),
        (ValueError, {"clip_norm": -1.0}),
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
    call: dict[str, Any] = {"dim": 16, "asked": np.arange(10), "clip_norm": 1.0, "noise_multiplier": multiplier}
    call |= {"name": "scores", "key": KEY}
    charged = declared
    for round in range(5):
        _, charged = private_sum([rows], round=round, ledger=charged, input_digest=digest(rows), **call)
    assert charged.epsilon() == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(BudgetExceeded):
        private_sum(untouched(), round=5, ledger=charged, input_digest="", **call)


def test_the_modulus_keeps_every_legal_sum() -> None:
    rows = np.tile([[1.0, 0.0, -1.0]], (300, 1))
    opened = ledger(300, delta=1e-6)
    bits = planned_sum(
        opened.declaration, 300, dim=3, clip_norm=math.sqrt(2), noise_multiplier=MULTIPLIER, name="scores", round=1
    ).message_bits
    narrow = summed(rows, opened, clip_norm=math.sqrt(2), modulus_bits=bits)
    assert np.array_equal(narrow, summed(rows, opened, clip_norm=math.sqrt(2)))
    assert abs(narrow[0] - 300) < 6 * 1.5 * MULTIPLIER


@pytest.mark.parametrize("bits", [8, 33, 64])
def test_residues_are_read_around_zero(bits: int) -> None:
    half = 1 << (bits - 1)
    values = np.array([0, 1, -1, half - 1, -half], dtype=np.int64)
    assert np.array_equal(secure_sum._centred(values, bits), values)
    if bits < 64:
        assert secure_sum._centred(np.array([half], dtype=np.int64), bits)[0] == -half


def test_an_empty_draw_is_pure_noise() -> None:
    empty = np.empty((0, 5000))
    noise = summed(empty, ledger(sampling="poisson", clients_per_round=10))
    assert np.std(noise) == pytest.approx(MULTIPLIER, rel=0.05)
    assert not summed(empty, ledger(aggregation="local")).any()


@pytest.mark.parametrize("rows", [np.full((2, 4), np.nan), np.full((2, 4), np.inf)])
def test_broken_rows_are_refused(rows: np.ndarray) -> None:
    with pytest.raises(ValueError, match="NaN"):
        summed(rows, ledger(), input_digest="")


def test_blocks_of_another_width_and_too_many_clients_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 5\).*\(clients, 4\)"):
        private_sum(
            [np.zeros((2, 5))],
            dim=4,
            asked=np.arange(2),
            clip_norm=1.0,
            noise_multiplier=MULTIPLIER,
            name="scores",
            round=1,
            ledger=ledger(),
            key=KEY,
            input_digest="",
        )
    with pytest.raises(ValueError, match="31 clients are asked, 30 were accounted for"):
        summed(np.zeros((31, 4)), ledger(30))
    with pytest.raises(ValueError, match="11 clients are asked, 10 were accounted for"):
        summed(np.zeros((11, 4)), ledger(30, sampling="fixed_size", clients_per_round=10))
    with pytest.raises(ValueError, match="more clients contribute than the 9 that were asked"):
        summed(np.zeros((10, 4)), ledger(30), asked=np.arange(9))


def test_who_is_silent_does_not_show_under_local_noise() -> None:
    """Every client asked adds its noise, also one that holds nothing: the server must not see the noise of fewer."""
    rows, opened = np.zeros((3, 5000)), ledger(aggregation="local")
    spread = np.std(summed(rows, opened, asked=np.arange(12)))
    assert spread == pytest.approx(MULTIPLIER * math.sqrt(12), rel=0.05)
    assert spread == pytest.approx(np.std(summed(np.zeros((12, 5000)), opened)), rel=0.05)
    assert np.array_equal(
        summed(rows, opened, asked=np.arange(12)), summed(np.zeros((12, 5000)), opened, input_digest=digest(rows))
    )


def test_a_key_of_another_source_than_declared_is_refused_before_any_block_is_read() -> None:
    for opened, key in ((ledger(noise_seed=None), KEY), (ledger(), new_noise_key())):
        with pytest.raises(ValueError, match=r"noise key comes from the .*remove the data root's private_noise_key"):
            unread(ledger=opened, key=key)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**31), dim=st.integers(1, 12), scale=st.sampled_from([0.0, 1e-4, 0.5, 1.0, 1e6]))
@pytest.mark.usefixtures("silent")
def test_no_client_moves_the_sum_by_more_than_the_stated_sensitivity(seed: int, dim: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(6, dim)) * rng.choice([1e-3, 1.0, 1e3], size=(6, 1))
    without, replaced = rows.copy(), rows.copy()
    without[2], replaced[2] = 0.0, -scale * rows[2]
    before, zeroed, swapped = (summed(some, ledger(), input_digest="one") for some in (rows, without, replaced))
    stated = planned_sum(
        ledger().declaration, 5000, dim=dim, clip_norm=1.0, noise_multiplier=MULTIPLIER, name="scores", round=1
    ).release.sensitivity
    assert np.linalg.norm(before - zeroed) <= stated
    assert np.linalg.norm(before - swapped) <= 2 * stated


@pytest.mark.usefixtures("silent")
def test_the_stated_sensitivity_is_nearly_reached() -> None:
    rows = np.eye(3) * 50
    moved = summed(rows, ledger(), input_digest="one") - summed(rows * [[0], [1], [1]], ledger(), input_digest="one")
    assert 0.999 < np.linalg.norm(moved) <= 1.001


def test_digests_tell_shape_type_order_and_bytes_apart() -> None:
    base = np.arange(6.0)
    different = [
        (base,),
        (base.reshape(2, 3),),
        (base.reshape(3, 2),),
        (base.astype(np.float32),),
        (base[:3], base[3:]),
        (base[3:], base[:3]),
        (base + 1e-16 + 1e-15,),
        (base.view(np.int64),),
        (),
    ]
    assert len({digest(*arrays) for arrays in different}) == len(different)
    assert digest(base) == digest(base.copy())
    assert digest(np.asfortranarray(base.reshape(2, 3))) == digest(base.reshape(2, 3))
