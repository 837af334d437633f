"""What a run plans: releases, calibrated noise, and declarations that do not fit the variant."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.algorithms.popri.budget import multiplier, planned_ledger
from fedtext.params.privacy import Privacy
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import BudgetExceeded
from tests.algorithms.popri.examples import BALLOTS, popri


def privacy(**changes: Any) -> Privacy:
    return Privacy.model_validate({"epsilon": 1.0, "delta": 1e-5, **changes})


@pytest.mark.parametrize("scoring", ["witness_rff", "witness_linear", "mean_embedding", *BALLOTS])
def test_noise_is_calibrated_to_one_release_or_to_one_a_round(scoring: str) -> None:
    releases = 3 if scoring in BALLOTS else 1
    asked = multiplier(popri(scoring=scoring), privacy(), 500)
    assert asked == noise_multiplier(epsilon=1.0, delta=1e-5, rounds=releases)
    assert not planned_ledger(500, popri(scoring=scoring), privacy()).releases


def test_a_plan_that_overdraws_is_refused_before_anything_is_read() -> None:
    with pytest.raises(BudgetExceeded, match=r"popri\.scores"):
        planned_ledger(500, popri(scoring="mean_cosine"), privacy(noise_multiplier=4.0))
    assert planned_ledger(500, popri(), privacy(noise_multiplier=4.0)).population == 500


def test_sampling_lowers_the_noise_except_where_the_server_watches_who_answers() -> None:
    sampled = {"sampling": "poisson", "clients_per_round": 50}
    amplified = multiplier(popri(scoring="mean_cosine"), privacy(**sampled), 500)
    assert amplified < 0.5 * multiplier(popri(scoring="mean_cosine"), privacy(), 500)
    local = privacy(aggregation="local", **sampled)
    assert multiplier(popri(), local, 500) == multiplier(popri(), privacy(), 500)
    planned_ledger(500, popri(), local)


@pytest.mark.parametrize(
    ("variant", "unit", "aggregation"),
    [
        ("central", "client", "trusted"),
        ("central", "record", "secure"),
        ("central", "client", "secure"),
        ("federated", "client", "trusted"),
        ("federated", "record", "trusted"),
    ],
)
def test_a_declaration_that_does_not_fit_the_variant_is_refused(variant: str, unit: str, aggregation: str) -> None:
    with pytest.raises(ValueError, match=f"popri.variant is {variant}.*unit is {unit}.*aggregation {aggregation}"):
        planned_ledger(500, popri(variant=variant), privacy(unit=unit, aggregation=aggregation))


@pytest.mark.parametrize(
    ("variant", "unit", "aggregation"),
    [("central", "record", "trusted"), ("federated", "record", "secure"), ("federated", "client", "local")],
)
def test_declarations_that_fit(variant: str, unit: str, aggregation: str) -> None:
    assert planned_ledger(500, popri(variant=variant), privacy(unit=unit, aggregation=aggregation)).population == 500


def test_no_patience_with_scores_that_cannot_be_compared_between_rounds() -> None:
    for scoring in BALLOTS:
        with pytest.raises(ValueError, match="patience"):
            popri(scoring=scoring, patience=2)


def test_votes_are_not_projected() -> None:
    with pytest.raises(ValueError, match="projection"):
        popri(scoring="nearest_histogram", projection=True)
