"""Plans: the noise that a number of releases asks for, and the draw that may be priced."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.params.privacy import Privacy
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.plan import accounted_rate, accounted_sampling, planned_multiplier, sampling_rate
from tests.parameters import conf_base
from tests.refusals import refuses


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-5, **changes})


def test_the_multiplier_is_calibrated_to_all_releases_or_declared() -> None:
    assert planned_multiplier(privacy(), 500, 5) == noise_multiplier(epsilon=1.0, delta=1e-5, rounds=5)
    assert planned_multiplier(privacy(noise_multiplier=2.5), 500, 5) == 2.5


def test_published_noise_without_a_formula_wants_the_multiplier_that_the_paper_prints() -> None:
    """Exact noise in its place would stand in the report as the paper's."""
    assert planned_multiplier(privacy(calibration="published", noise_multiplier=19.3), 500, 5) == 19.3
    with refuses("no-published-calibration", parameter="privacy.calibration", value="published"):
        planned_multiplier(privacy(calibration="published"), 500, 5)


@pytest.mark.parametrize(
    ("declared", "rate"),
    [({}, 1.0), ({"sampling": "poisson", "clients_per_round": 50}, 0.1)],
)
def test_the_rate_is_the_share_of_units_asked(declared: dict[str, Any], rate: float) -> None:
    assert sampling_rate(privacy(**declared), 500) == rate


def test_more_units_than_there_are_cannot_be_asked() -> None:
    with refuses("clients-per-round-above-population", parameter="privacy.clients_per_round", value=501):
        sampling_rate(privacy(sampling="fixed_size", clients_per_round=501), 500)


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ({"sampling": "poisson"}, "clients-per-round-not-set"),
        ({"sampling": "fixed_size"}, "clients-per-round-not-set"),
        ({"clients_per_round": 50}, "clients-per-round-of-all"),
    ],
)
def test_sampling_and_its_size_are_declared_together(declared: dict[str, Any], code: str) -> None:
    with refuses(code, parameter="privacy.clients_per_round"):
        privacy(**declared)


def test_sampling_amplifies_except_where_the_server_watches_who_answers() -> None:
    sampled = {"sampling": "poisson", "clients_per_round": 50}
    everybody = planned_multiplier(privacy(), 500, 3)
    assert planned_multiplier(privacy(**sampled), 500, 3) < 0.5 * everybody
    local = privacy(aggregation="local", **sampled)
    assert planned_multiplier(local, 500, 3) == everybody
    assert (accounted_sampling(local), accounted_rate(local, 500)) == ("full", 1.0)
    assert (accounted_sampling(privacy(**sampled)), accounted_rate(privacy(**sampled), 500)) == ("poisson", 0.1)
