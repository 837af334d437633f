"""The plan: two releases that keep one budget under every adjacency, in the declared shares."""

from __future__ import annotations

import pytest

from fedtext.algorithms.ctcl import plan
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.training import dp_sgd
from tests.algorithms.ctcl.examples import ctcl
from tests.parameters import conf_base
from tests.refusals import refuses

UNITS, DIM = 400, 50


def declared(**changes: object) -> Privacy:
    return conf_base(Privacy, {"epsilon": 2.0, "delta": 1e-4, "noise_seed": 0, **changes})


def planned(share: float = 0.1, **changes: object) -> Ledger:
    return plan.planned_ledger(UNITS, ctcl(topic_share=share), declared(**changes), dim=DIM)


@pytest.mark.parametrize("adjacency", ["zero_out", "add_remove", "replace_one"])
def test_both_releases_together_spend_the_budget_and_no_more(adjacency: str) -> None:
    ledger = planned(adjacency=adjacency)
    assert ledger.planned is not None
    assert [(one.name, one.steps) for one in ledger.planned] == [("ctcl.topics", 1), ("ctcl.gradients", 38)]
    spent = ledger.model_copy(update={"releases": ledger.planned}).spent()
    assert 0.999 * 2.0 < spent <= 2.0


def test_a_larger_share_makes_better_counts_and_a_worse_training() -> None:
    noise = [[one.noise_multiplier for one in planned(share).planned or ()] for share in (0.05, 0.2)]
    (few, trained_by_most), (many, trained_by_less) = noise
    assert few == pytest.approx(2 * many, rel=1e-9)  # noise falls with the root of the share
    assert trained_by_less > trained_by_most


def test_next_to_no_share_leaves_the_training_as_it_would_be_alone() -> None:
    alone = dp_sgd.planned_query("alone", ctcl().training, declared(), UNITS, dim=DIM, group="ctcl").noise_multiplier
    trained = plan.gradients_query(ctcl(topic_share=1e-4), declared(), UNITS, dim=DIM).noise_multiplier
    assert alone < trained < 1.001 * alone


def test_what_cannot_be_is_refused() -> None:
    with refuses("batches-need-full-sampling"):
        planned(aggregation="local")
    with refuses("batches-need-full-sampling"):
        planned(sampling="poisson", clients_per_round=50)
    with refuses("batch-above-population", value=64):
        plan.planned_ledger(40, ctcl(), declared(), dim=DIM)
    with refuses("budget-exceeded"):
        planned(noise_multiplier=0.3)
