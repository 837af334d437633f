"""What a run plans: releases, calibrated noise, and declarations that do not fit the variant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedtext.algorithms.popri.plan import planned_ledger as opened
from fedtext.algorithms.popri.plan import planned_query
from fedtext.algorithms.popri.release import release_private_mean, score_by_ballots
from fedtext.federation.federation import Simulated
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.privacy.signal import Use, Vector, Votes
from tests.algorithms.popri.examples import BALLOTS, DIM, popri, samples, unit_rows
from tests.parameters import conf_base
from tests.refusals import refuses


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-5, **changes})


def multiplier(parameters: Popri, declared: Privacy, population: int) -> float:
    return planned_query(parameters, declared, population, embedding_dim=DIM, round_number=1).noise_multiplier


def planned_ledger(population: int, parameters: Popri, declared: Privacy) -> Ledger:
    return opened(population, parameters, declared, embedding_dim=DIM)


@pytest.mark.parametrize("labels", [(), ("a", "b")])
@pytest.mark.parametrize("scoring", ["witness_rff", "witness_linear", "mean_embedding", *BALLOTS])
def test_what_is_charged_is_what_the_ledger_was_opened_for(scoring: str, labels: tuple[str, ...]) -> None:
    parameters, declared = popri(scoring=scoring, labels=labels), privacy(noise_seed=0)
    book, key, held = planned_ledger(12, parameters, declared), new_noise_key(0), samples(1, classes=len(labels) or 1)
    for t in range(1, parameters.releases + 1):
        at = 0 if parameters.single_release else t
        query = planned_query(parameters, book.declaration, 12, embedding_dim=DIM, round_number=at)
        if parameters.single_release:
            _, book = release_private_mean(query, Simulated(held, key), parameters, book)
        else:
            label = np.repeat(np.arange(len(parameters.classes)), 12 // len(parameters.classes))
            _, book = score_by_ballots(query, Simulated(held, key), unit_rows(t, 12), label, parameters, book)
    assert book.releases == book.planned


@pytest.mark.parametrize("scoring", ["witness_rff", "witness_linear", "mean_embedding", *BALLOTS])
def test_noise_is_calibrated_to_one_release_or_to_one_a_round(scoring: str) -> None:
    releases = 3 if scoring in BALLOTS else 1
    asked = multiplier(popri(scoring=scoring), privacy(), 500)
    assert asked == noise_multiplier(epsilon=1.0, delta=1e-5, rounds=releases)
    assert not planned_ledger(500, popri(scoring=scoring), privacy()).releases


def test_a_plan_that_overdraws_is_refused_before_anything_is_read() -> None:
    with refuses("budget-exceeded"):
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
    code = "needs-a-curator" if variant == "central" else "no-curator"
    with refuses(code, parameter="popri.variant", value=variant):
        planned_ledger(500, popri(variant=variant), privacy(unit=unit, aggregation=aggregation))


@pytest.mark.parametrize(
    ("variant", "unit", "aggregation"),
    [("central", "record", "trusted"), ("federated", "record", "secure"), ("federated", "client", "local")],
)
def test_declarations_that_fit(variant: str, unit: str, aggregation: str) -> None:
    assert planned_ledger(500, popri(variant=variant), privacy(unit=unit, aggregation=aggregation)).population == 500


def test_no_patience_with_scores_that_cannot_be_compared_between_rounds() -> None:
    for scoring in BALLOTS:
        with refuses("patience-without-progress"):
            popri(scoring=scoring, patience=2)


def test_votes_are_not_projected() -> None:
    with refuses("histogram-is-not-projected"):
        popri(scoring="nearest_histogram", projection=True)


@pytest.mark.parametrize("scoring", ["witness_rff", *BALLOTS])
def test_votes_are_counts_and_need_less_noise_where_one_unit_replaces_another(scoring: str) -> None:
    asked = planned_query(popri(scoring=scoring), privacy(), 500, embedding_dim=DIM, round_number=1)
    assert asked.non_negative == (scoring == "nearest_histogram")
    signed = noise_multiplier(epsilon=1.0, delta=1e-5, rounds=popri(scoring=scoring).releases, adjacency="replace_one")
    replaced = multiplier(popri(scoring=scoring), privacy(adjacency="replace_one"), 500)
    assert replaced / signed == pytest.approx(2**-0.5 if asked.non_negative else 1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("scoring", "projection", "use"),
    [
        ("witness_words", False, Vector()),
        ("nearest_histogram", False, Votes()),
        ("mean_cosine", False, Vector()),
        ("mean_cosine", True, Vector(384)),
    ],
)
def test_how_the_release_is_used_is_said_where_it_is_planned(scoring: str, projection: bool, use: Use) -> None:
    """A projected ballot keeps the noise in the embeddings' span alone."""
    chosen = conf_base(Popri).model_copy(update={"scoring": scoring, "projection": projection})
    assert planned_query(chosen, conf_base(Privacy), 500, embedding_dim=384, round_number=1).use == use
