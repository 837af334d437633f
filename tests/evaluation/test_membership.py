"""Membership: AUC against a plain count, ceilings as areas, attacks below them where noise is right and above else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from fedtext.evaluation.membership import (
    Attack,
    are_independent,
    attack,
    ceiling,
    gaussian_ceiling,
    log_ratio_margins,
)
from fedtext.privacy.dominating_pairs import gaussian_shift
from tests.refusals import refuses

NUMBERS = st.lists(st.integers(-3, 3), min_size=2, max_size=12).map(lambda x: np.array(x, dtype=np.float64))


@given(NUMBERS, NUMBERS)
def test_auc_is_the_share_of_pairs_in_order(members: np.ndarray, others: np.ndarray) -> None:
    found = attack(members, others)
    plain = np.mean([(a > b) + (a == b) / 2 for a in members for b in others])
    assert found.auc == pytest.approx(plain)
    assert found.low <= found.auc <= found.high
    assert attack(others, members).auc == pytest.approx(1 - found.auc)


def test_its_interval_covers_as_often_as_it_says() -> None:
    rng, truth = np.random.default_rng(0), norm.cdf(0.5 / np.sqrt(2))
    found = [attack(rng.normal(0.5, 1, 80), rng.normal(0, 1, 120)) for _ in range(600)]
    assert np.mean([one.low <= truth <= one.high for one in found]) == pytest.approx(0.95, abs=0.025)


def test_its_interval_covers_where_clients_have_several_pairs_that_are_alike() -> None:
    rng, truth = np.random.default_rng(0), norm.cdf(0.5 / np.sqrt(2))
    clients = np.repeat(np.arange(40), 4), np.repeat(np.arange(60), 4)

    def scores(shift: float, client: np.ndarray) -> np.ndarray:
        return np.asarray(
            shift + np.sqrt(0.9) * rng.normal(size=60)[client] + np.sqrt(0.1) * rng.normal(size=len(client))
        )

    drawn = [(scores(0.5, clients[0]), scores(0.0, clients[1])) for _ in range(400)]
    by_client = [attack(*one, clients=clients) for one in drawn]
    assert np.mean([one.low <= truth <= one.high for one in by_client]) == pytest.approx(0.95, abs=0.04)
    by_pair = [attack(*one) for one in drawn]
    assert np.mean([one.low <= truth <= one.high for one in by_pair]) < 0.8


def test_three_clients_raise_no_false_alarm_much_more_often_than_said() -> None:
    rng, clients = np.random.default_rng(0), np.repeat(np.arange(3), 10)

    def scores() -> np.ndarray:
        return np.asarray(rng.normal(size=3)[clients] + rng.normal(size=len(clients)))

    found = [attack(scores(), scores(), 0.5, clients=(clients, clients)) for _ in range(500)]
    assert np.mean([one.is_above for one in found]) < 0.05, "2.5% were said, and by the normal distribution they are 8%"


def test_few_scores_that_lie_apart_are_no_proof() -> None:
    """Two and two are apart by chance in one draw of six."""
    found = attack(np.array([3.0, 4.0]), np.array([1.0, 2.0]), 0.5)
    assert found.low == pytest.approx(np.sqrt(0.025))
    assert not found.is_above
    assert attack(np.arange(10.0) + 10, np.arange(10.0), 0.5).is_above
    of_one_client = attack(np.arange(10.0) + 10, np.arange(10.0), 0.5, clients=(np.zeros(10, int), np.arange(10)))
    assert of_one_client.low < 0.5


@pytest.mark.parametrize(
    ("clients", "prompts", "by_client", "by_record"),
    [
        ("abc", "xyz", True, True),
        ("aab", "xyz", True, False),
        ("abc", "xxz", False, False),
        ("aab", "xxz", True, False),
    ],
)
def test_units_are_alone_that_share_neither_client_nor_prompt(
    clients: str, prompts: str, by_client: bool, by_record: bool
) -> None:
    pairs = pd.DataFrame({"client_id": list(clients), "prompt": list(prompts)})
    assert (are_independent(pairs, "client"), are_independent(pairs, "record")) == (by_client, by_record)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 8.0])
def test_ceilings_are_the_areas_of_their_curves(epsilon: float) -> None:
    delta = 1e-3

    def missed(x: float) -> float:
        return float(max(0.0, 1 - delta - np.exp(epsilon) * x, np.exp(-epsilon) * (1 - delta - x)))

    corner = (1 - delta) / (1 + np.exp(epsilon))
    area = sum(quad(missed, *ends)[0] for ends in ((0, corner), (corner, 1 - delta), (1 - delta, 1)))
    assert ceiling(epsilon, delta) == pytest.approx(1 - area, abs=1e-6)
    mu = gaussian_shift(epsilon, delta)
    gaussian = quad(lambda x: norm.cdf(norm.ppf(1 - x) - mu), 0, 1)[0]
    assert gaussian_ceiling(epsilon, delta) == pytest.approx(1 - gaussian, abs=1e-6)
    assert 0.5 < gaussian_ceiling(epsilon, delta) < ceiling(epsilon, delta) < 1


def mean_attack(noise: float, units: int = 1, dim: int = 40, trials: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Who sees a noised sum with or without one known unit vector scores it by the product: the best attack there is."""
    rng = np.random.default_rng(1)
    target = np.zeros(dim)
    target[0] = units
    with_it = target + noise * rng.normal(size=(trials, dim))
    without = noise * rng.normal(size=(trials, dim))
    return with_it @ target, without @ target


def test_the_best_attack_meets_its_ceiling_and_one_on_too_little_noise_is_above() -> None:
    epsilon, delta = 1.0, 1e-5
    noise, most = 1 / gaussian_shift(epsilon, delta), gaussian_ceiling(epsilon, delta)
    right = attack(*mean_attack(noise), most)
    assert right.auc == pytest.approx(most, abs=0.015)
    assert not right.is_above
    assert attack(*mean_attack(noise * 0.6), most).is_above
    assert attack(*mean_attack(1e-3), most).auc > 0.999


def test_without_a_budget_nothing_is_above() -> None:
    assert not Attack(1.0, 1.0, 1.0, None).is_above


def test_an_untrained_policy_tells_nothing() -> None:
    rng = np.random.default_rng(2)
    told = rng.normal(-40, 9, size=(50, 2))
    margins = log_ratio_margins(told, told)
    assert not margins.any()
    assert attack(margins[:25], margins[25:]).auc == 0.5


def test_margins_by_hand() -> None:
    policy, reference = np.array([[-1.0, -5.0], [-3.0, -2.0]]), np.array([[-2.0, -4.0], [-3.0, -3.0]])
    assert log_ratio_margins(policy, reference).tolist() == [2.0, -1.0]


def test_too_few_or_broken_scores_are_refused() -> None:
    with refuses("too-few-membership-scores"):
        attack(np.zeros(2), np.zeros(1))
    with refuses("too-few-membership-scores"):
        attack(np.array([0.0, np.inf]), np.zeros(2))
