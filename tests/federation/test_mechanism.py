"""The plan of a noisy sum: what is charged, how wide the noise is, how many bits a message needs."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from fedtext.federation.mechanism import PlannedSum, planned_sum, share_divergence, summed_stddev
from fedtext.federation.query import Query
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import covering_stddev
from tests.parameters import conf_base
from tests.refusals import refuses


def plan(
    population: int = 1000, dim: int = 100, multiplier: float = 2.0, clip_norm: float = 1.0, **declared: Any
) -> PlannedSum:
    declaration = conf_base(Privacy, epsilon=1.0, delta=1e-6, **declared)
    return planned_sum(Query("scores", 3, dim, clip_norm, multiplier), declaration, population)


@pytest.mark.parametrize("clip_norm", [0.01, 1.0, 7.3])
@pytest.mark.parametrize("dim", [1, 384, 18_000])
def test_the_release_pays_for_the_grid_and_keeps_the_multiplier(clip_norm: float, dim: int) -> None:
    planned = plan(dim=dim, clip_norm=clip_norm, multiplier=3.5)
    release = planned.release
    assert release.sensitivity == pytest.approx(clip_norm + planned.step * math.sqrt(dim))
    assert clip_norm < release.sensitivity < 1.001 * clip_norm
    assert release.noise_stddev / release.sensitivity == pytest.approx(3.5)
    assert planned.stddev_on_grid >= covering_stddev(release.noise_stddev / planned.step)
    assert (release.name, release.round, release.unit) == ("scores", 3, "client")


def test_missing_shares_widen_the_noise_but_not_its_price() -> None:
    whole, missing = plan(), plan(honest_fraction=0.81)
    assert missing.release.noise_stddev == whole.release.noise_stddev
    assert missing.stddev_on_grid == pytest.approx(whole.stddev_on_grid / 0.9, rel=1e-6)
    assert "1.111 times wider" in missing.release.mechanism
    assert "0.81" in missing.release.mechanism
    assert "wider" not in whole.release.mechanism
    assert plan(honest_fraction=0.81, aggregation="trusted").stddev_on_grid == whole.stddev_on_grid


@pytest.mark.parametrize("aggregation", ["secure", "trusted"])
def test_sampling_is_charged_at_its_rate(aggregation: str) -> None:
    sampled = plan(sampling="poisson", clients_per_round=50, aggregation=aggregation).release
    assert (sampled.sampling, sampled.rate) == ("poisson", 0.05)
    assert (plan().release.sampling, plan().release.rate) == ("full", 1.0)


def test_local_noise_gains_nothing_from_sampling() -> None:
    release = plan(sampling="poisson", clients_per_round=50, aggregation="local").release
    assert (release.sampling, release.rate) == ("full", 1.0)


def test_noise_that_cannot_be_drawn_exactly_is_refused_before_anything_is_read() -> None:
    with refuses("noise-beyond-sampler"):
        plan(dim=10**8, multiplier=1e6)


@pytest.mark.parametrize(
    ("declared", "factor"),
    [
        ({"aggregation": "trusted"}, 1.0),
        ({"honest_fraction": 0.25}, 2.0),
        ({"aggregation": "local"}, math.sqrt(1000)),
        ({"aggregation": "local", "sampling": "poisson", "clients_per_round": 100}, 10.0),
    ],
)
def test_the_noise_in_a_sum_may_be_more_than_what_is_priced(declared: dict[str, Any], factor: float) -> None:
    """What is drawn is seen in tests/algorithms/pe/test_plan.py."""
    release = plan(**declared).release
    ledger = Ledger(
        declaration=conf_base(Privacy, epsilon=1.0, delta=1e-6, **declared), population=1000, releases=(release,)
    )
    assert summed_stddev(ledger) == pytest.approx(factor * release.noise_stddev)


def test_message_bits_grow_with_everything_that_is_summed() -> None:
    needed = [
        plan(n, dim, multiplier).message_bits
        for n, dim, multiplier in (
            (1, 1, 0.1),
            (1000, 1, 0.1),
            (1000, 18_000, 0.1),
            (1000, 18_000, 1e6),
            (10**9, 18_000, 1e6),
        )
    ]
    assert all(fewer < more for fewer, more in pairwise(needed))
    assert plan(72_000, 18_000, 19.3).message_bits <= 40
    fixed = plan(10**6, sampling="fixed_size", clients_per_round=10)
    assert fixed.message_bits < plan(10**6, sampling="poisson", clients_per_round=10).message_bits
    assert plan(10**6, aggregation="local").message_bits > plan(10**6).message_bits


def test_a_sum_that_could_wrap_is_refused_with_its_numbers() -> None:
    planned = plan(72_000, 18_000)
    planned.validate_modulus(planned.message_bits)
    with refuses("modulus-too-small", value=20) as caught:
        planned.validate_modulus(20)
    assert {"72000", str(planned.message_bits)} <= set(re.findall(r"\d+", str(caught.value)))
    with refuses("modulus-too-small", value=65):
        planned.validate_modulus(65)


@pytest.mark.parametrize("multiplier", [0.0, -1.0, math.nan, math.inf])
def test_no_noise_is_refused(multiplier: float) -> None:
    with refuses("noise-multiplier-out-of-range", parameter="noise_multiplier"):
        plan(multiplier=multiplier)


@pytest.mark.parametrize("shares", [2, 3, 7])
def test_the_share_bound_covers_the_true_divergence(shares: int) -> None:
    share = 0.6
    points = np.arange(-40, 41)
    mass = np.exp(-(points**2) / (2 * share**2))
    summed = mass / mass.sum()
    for _ in range(shares - 1):
        summed = np.convolve(summed, mass / mass.sum(), mode="same")
    total = share * math.sqrt(shares)
    single = np.exp(-(points**2) / (2 * total**2))
    central = np.abs(points) < 6 * total
    ratio = np.abs(np.log(summed[central] / (single / single.sum())[central])).max()
    assert 0.01 < ratio <= share_divergence(total, shares, 1)


@pytest.mark.parametrize("multiplier", [1e-6, 1.5e-3])
def test_noise_too_thin_to_be_cut_into_shares_is_refused_where_clients_add_it(multiplier: float) -> None:
    """The first is below half a grid point a share, where no bound is known; the second has one, of 1e-6 nats."""
    with refuses("shares-are-no-gaussian", value=300):
        plan(300, dim=100, multiplier=multiplier)
    for aggregation in ("trusted", "local"):
        assert plan(300, dim=100, multiplier=multiplier, aggregation=aggregation).stddev_on_grid > 2
    assert plan(300, dim=100, multiplier=2e-3).stddev_on_grid > 30


@pytest.mark.parametrize("shares", [2**16 - 1, 2**16, 2**16 + 1, 200_000])
def test_the_share_bound_of_many_shares_is_the_sum_of_all_terms_or_a_little_more(shares: int) -> None:
    variance, k = 0.3, np.arange(1, shares)
    exact = 7 * 10 * math.fsum(np.exp(-2 * math.pi**2 * variance * k / (k + 1)))
    found = share_divergence(math.sqrt(variance * shares), shares, 7)
    assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-3)


def test_the_share_bound_vanishes_on_the_grid_and_refuses_thin_shares() -> None:
    planned = plan(10_000, 18_000)
    assert share_divergence(planned.stddev_on_grid, 10_000, 18_000) < 1e-300
    assert share_divergence(10.0, 1, 5) == 0.0
    with refuses("share-too-small"):
        share_divergence(10.0, 10_000, 5)
