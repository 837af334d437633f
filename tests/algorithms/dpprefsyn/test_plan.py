"""Plans keep the budget under every adjacency, shares compose, and what cannot be priced is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.algorithms.dpprefsyn.plan import CLUSTERS, HEADS, MOMENT, Plan, planned_ledger
from tests.algorithms.dpprefsyn.examples import CLUSTERED, FORMS, dpprefsyn, privacy
from tests.refusals import refuses

POISSON = {"scorer": "bradley_terry", "training": {"batch": 50, "epochs": 1.0}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("adjacency", ["zero_out", "replace_one"])
def test_a_plan_spends_its_budget_and_no_more(form: str, adjacency: str) -> None:
    declared = privacy(adjacency=adjacency)
    ledger = planned_ledger(1000, dpprefsyn(**FORMS[form]), declared, embedding_dim=32)
    assert ledger.planned is not None
    spent = ledger.model_copy(update={"releases": ledger.planned}).spent()
    assert spent == pytest.approx(4.0, rel=1e-6)


def test_all_full_plans_price_as_one_gaussian() -> None:
    whole = Plan.of(dpprefsyn(), privacy(), 1000, 32).multipliers[HEADS]
    plan = Plan.of(dpprefsyn(**FORMS["clustered heads"], cluster_share=0.25), privacy(), 1000, 32)
    assert plan.kinds[CLUSTERS].share == 0.25
    shifts = sum(kind.count / plan.multipliers[name] ** 2 for name, kind in plan.kinds.items())
    assert shifts == pytest.approx(1 / whole**2)


def test_the_whole_budget_s_multiplier_is_the_design_s() -> None:
    """s1 at delta 1e-6 and epsilon 1, 2, 4, 8."""
    found = [Plan.of(dpprefsyn(), privacy(epsilon=e, delta=1e-6), 1000, 32).multipliers[HEADS] for e in (1, 2, 4, 8)]
    assert found == pytest.approx([4.225, 2.231, 1.194, 0.653], abs=0.001)


def test_names_and_shares_of_the_papers_form() -> None:
    changes = {**CLUSTERED, "heads": 5, "projection": "private", "scorer": "bradley_terry"}
    plan = Plan.of(dpprefsyn(**changes), privacy(), 1000, 32)
    assert {name: (kind.count, kind.share) for name, kind in plan.kinds.items()} == {
        MOMENT: (1, 0.125), CLUSTERS: (3, 0.125), HEADS: (20, 0.75)
    }  # fmt: skip
    assert plan.kinds[MOMENT].dim == 32 * 33 // 2
    assert plan.kinds[CLUSTERS].dim == 5 * (4 + 1)


def test_poisson_heads_beside_other_releases_are_scaled_until_all_fit() -> None:
    params = dpprefsyn(**{**CLUSTERED, **POISSON})
    ledger = planned_ledger(1000, params, privacy(), embedding_dim=16)
    assert ledger.planned is not None
    spent = ledger.model_copy(update={"releases": ledger.planned}).spent()
    assert 0.999 * 4.0 < spent <= 4.0
    (heads,) = (release for release in ledger.planned if release.name == HEADS)
    assert (heads.sampling, heads.rate, heads.steps) == ("poisson", 0.05, 20)


def test_less_noise_than_planned_is_refused() -> None:
    with refuses("budget-exceeded"):
        planned_ledger(1000, dpprefsyn(), privacy(noise_multiplier=0.5), embedding_dim=32)


@pytest.mark.parametrize(
    ("changes", "declared", "code"),
    [
        ({"projection": "public", "dimensions": 40}, {}, "more-dimensions-than-embedding"),
        (CLUSTERED | POISSON, {"sampling": "poisson", "clients_per_round": 50}, "shared-budget-with-sampling"),
        (POISSON, {"aggregation": "local"}, "batches-need-full-sampling"),
        (POISSON | {"training": {"batch": 5000}}, {}, "batch-above-population"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], declared: dict[str, Any], code: str) -> None:
    with refuses(code):
        planned_ledger(1000, dpprefsyn(**changes), privacy(**declared), embedding_dim=32)


def test_one_unit_has_nobody_to_hide_among() -> None:
    with refuses("too-few-units"):
        planned_ledger(1, dpprefsyn(), privacy(), embedding_dim=32)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"heads": 3}, "heads-do-not-fit-form"),
        ({"form": "clustered"}, "heads-do-not-fit-form"),
        ({**CLUSTERED, "heads": 1}, "heads-do-not-fit-form"),
        ({**CLUSTERED, "form": "published", "heads_by": "prompt"}, "published-heads-are-differences"),
    ],
)
def test_heads_that_do_not_fit_the_form_are_refused(changes: dict[str, Any], code: str) -> None:
    with refuses(code):
        dpprefsyn(**changes)
