"""What WASP plans: T-1 votes at exact noise, the paper's printed deviations and what they spend, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fedtext.algorithms.wasp import judging, plan
from fedtext.algorithms.wasp.cost import communication
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.privacy import Privacy
from fedtext.params.wasp import Wasp
from fedtext.privacy.accounting import epsilon
from tests.algorithms.popri.examples import unit_rows
from tests.algorithms.wasp.examples import KEY, privacy, wasp
from tests.refusals import refuses

PAPER: dict[str, Any] = {"rounds": 5, "texts": 6000, "votes_per_record": 8}


def deviations(declared: Privacy, parameters: Wasp, population: int = 100) -> dict[str, float]:
    """Noise of the plan's releases by name, without what the grid adds to the sensitivity."""
    planned = plan.planned_queries(parameters, declared, population, models=6, embedding_dim=768)
    return {query.name: query.noise_multiplier * query.clip_norm for query in planned}


@pytest.mark.parametrize(
    ("declared", "changes", "stddev"),
    [  # the note's table: four votes
        ({}, {}, 3.531),
        ({"adjacency": "replace_one"}, {}, 4.994),
        ({"epsilon": 1.0}, {}, 12.18),
        ({"epsilon": 8.0}, {}, 1.960),
        ({}, {"contrast": False}, 2.497),  # near votes alone
        ({"unit": "client"}, {"clip_norm": 8 * plan.clip_norm(wasp(**PAPER))}, 28.25),
        ({"unit": "client"}, {"clip_norm": math.sqrt(8) * plan.clip_norm(wasp(**PAPER))}, 9.99),
    ],
)
def test_exact_noise_is_the_note_s(declared: dict[str, Any], changes: dict[str, Any], stddev: float) -> None:
    assert deviations(privacy(**declared), wasp(**PAPER, **changes))["wasp.votes"] == pytest.approx(stddev, rel=1e-3)


@pytest.mark.parametrize(("claimed", "stddev"), [(4.0, 9.690), (1.0, 38.76), (8.0, 4.845)])
def test_published_noise_is_the_paper_s(claimed: float, stddev: float) -> None:
    declared = privacy(epsilon=claimed, calibration="published")
    assert deviations(declared, wasp(**PAPER))["wasp.votes"] == pytest.approx(stddev, rel=1e-3)


def test_published_noise_of_near_votes_alone_is_half() -> None:
    """Table 4 of the paper: without contrast H^f is not cast, and Delta is that of H^n."""
    declared = privacy(calibration="published")
    assert deviations(declared, wasp(**PAPER, contrast=False))["wasp.votes"] == pytest.approx(9.690 / 2, rel=1e-3)


def test_published_noise_spends_1_287_of_4() -> None:
    """Deviation 9.690 over norm 1.63298, four times; a fifth vote, which the paper casts for nothing, makes it 1.456."""
    multiplier = deviations(privacy(calibration="published"), wasp(**PAPER))["wasp.votes"] / 1.63298
    assert epsilon(noise_multiplier=multiplier, delta=1e-5, rounds=4) == pytest.approx(1.287, abs=1e-3)
    assert epsilon(noise_multiplier=multiplier, delta=1e-5, rounds=5) == pytest.approx(1.456, abs=1e-3)
    book = plan.planned_ledger(100, wasp(**PAPER), privacy(calibration="published"), models=6, embedding_dim=768)
    assert book.model_copy(update={"releases": book.planned}).epsilon() == pytest.approx(1.287, abs=1e-3)


def test_a_delta_of_all_rounds_takes_about_twice_the_noise() -> None:
    """'delta_iter = 1x10^-23 can be applied' and 'roughly 2.14 times as large' (E.7); Aug-PE's Delta is 1 (App. D)."""
    published = privacy(calibration="published")
    strict = deviations(published, wasp(**PAPER, round_delta=1e-23))["wasp.votes"]
    assert strict / 9.690 == pytest.approx(2.14, abs=0.02)
    assert (9.690 / 4, strict / 4) == pytest.approx((2.422, 5.157), abs=1e-3)


@pytest.mark.parametrize(("parties", "spent"), [(10, 4.71), (150, 25.4)])
def test_a_share_of_the_noise_protects_no_party_whose_sum_is_seen(parties: int, spent: float) -> None:
    """s / sqrt(L) without a secure sum: refused at the declared epsilon, and priced at what a party gets."""
    multiplier = 9.690 / 1.63298 / math.sqrt(parties)
    local = {"aggregation": "local", "population": 300, "holders": parties, "noise_multiplier": multiplier}
    with refuses("budget-exceeded"):
        plan.planned_ledger(300, wasp(**PAPER), privacy(**local), models=6, embedding_dim=768)
    book = plan.planned_ledger(300, wasp(**PAPER), privacy(**local, epsilon=30.0), models=6, embedding_dim=768)
    assert book.model_copy(update={"releases": book.planned}).epsilon() == pytest.approx(spent, rel=5e-3)


def test_sums_of_models_and_votes_share_one_budget() -> None:
    found = deviations(privacy(), wasp(**PAPER, model_sums=True))
    assert found == pytest.approx({"wasp.votes": 3.722, "wasp.model_sums": 13.62}, rel=1e-3)
    book = plan.planned_ledger(100, wasp(**PAPER, model_sums=True), privacy(), models=6, embedding_dim=768)
    assert len(book.planned or ()) == 8
    assert book.model_copy(update={"releases": book.planned}).epsilon() == pytest.approx(4.0, rel=1e-6)


def test_a_single_release_has_the_whole_budget_and_a_control_has_none() -> None:
    (query,) = plan.planned_queries(wasp(votes="single_release"), privacy(), 100, models=2, embedding_dim=8)
    assert (query.name, query.round, query.dim) == ("wasp.class_means", 0, 8)
    assert query.noise_multiplier == pytest.approx(1.0812, abs=1e-4)
    assert not query.non_negative
    for form in ("random", "none"):
        book = plan.planned_ledger(100, wasp(votes=form), privacy(), models=2, embedding_dim=8)
        assert (book.planned, book.planned_unaccounted) == ((), form == "none")


def test_no_vote_is_cast_after_the_last_round() -> None:
    for round_number in (0, 3, 4):
        with refuses("last-round-without-vote"):
            plan.votes_query(wasp(), privacy(), 100, round_number)


def test_the_ledger_itself_refuses_a_further_vote() -> None:
    """Were the query made by hand, the ledger was not opened for it."""
    declared, parameters = privacy(noise_seed=0), wasp()
    held = PrivateSamples.of_one_class(unit_rows(1, 40).astype(np.float32), np.arange(40))
    texts = judging.candidates_of(unit_rows(2, 36).astype(np.float32), np.zeros(36, dtype=np.int64))
    book = plan.planned_ledger(40, parameters, declared, models=3, embedding_dim=6)
    for t in (1, 2):
        query = plan.votes_query(parameters, declared, 40, t)
        _, book = judging.noised_votes(query, Simulated(held, KEY), texts, parameters, book)
    assert book.releases != book.planned  # as wide as the texts that were written; at the planned price
    third = plan.votes_query(wasp(rounds=4), declared, 40, 3)
    with refuses("release-not-planned"):
        judging.noised_votes(third, Simulated(held, KEY), texts, parameters, book)


def test_plans_that_do_not_fit_are_refused() -> None:
    with refuses("budget-exceeded"):
        plan.planned_ledger(100, wasp(), privacy(noise_multiplier=0.5), models=3, embedding_dim=8)
    sampled = privacy(sampling="poisson", clients_per_round=10)
    with refuses("model-sums-with-sampling"):
        plan.planned_ledger(100, wasp(model_sums=True), sampled, models=3, embedding_dim=8)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model_sums": True, "votes": "random"}, "model-sums-of-other-votes"),
        ({"texts": 5, "labels": "a b"}, "too-few-texts"),
        ({"about": "of a class"}, "about-without-label"),
        ({"about_attribute": "of a kind"}, "about-without-label"),
        ({"labels": "a b a"}, "named-twice"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(changes: dict[str, Any], code: str) -> None:
    with refuses(code):
        wasp(**changes)


def test_what_a_unit_exchanges() -> None:
    row = communication(wasp(**PAPER), privacy(), 100, embedding_dim=10)
    assert (row.down_floats, row.up_floats, row.exchanges) == (12_000, 6_000, 4)
    assert communication(wasp(votes="single_release"), privacy(), 100, embedding_dim=10).up_floats == 10
    assert communication(wasp(votes="random"), privacy(), 100, embedding_dim=10).exchanges == 0
