"""The plan: groups follow the public population, the clip follows the budget, and what does not fit is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.algorithms.dp_prediction.plan import group_size, planned_ledger, planned_release
from fedtext.params.dp_prediction import DpPrediction
from fedtext.params.privacy import Privacy
from tests.parameters import conf_base
from tests.refusals import refuses


def params(**changes: Any) -> DpPrediction:
    sampler = {"max_new_tokens": 12, **changes.pop("sampler", {})}
    return conf_base(DpPrediction, {"synthetic_texts": 10, "sampler": sampler, **changes})


def declared(**changes: Any) -> Privacy:
    base = {"epsilon": 1.0, "delta": 1e-5, "noise_seed": 5, "aggregation": "trusted", "population": 1000}
    return conf_base(Privacy, base | changes)


def test_the_whole_budget_is_used_and_never_more() -> None:
    ledger = planned_ledger(1000, params(), declared())
    plan = planned_release(params(), declared(), 1000)
    assert 0.99 < ledger.charge(plan.release).epsilon() <= 1.0


def test_more_texts_of_a_group_cost_clip_and_more_groups_cost_clients() -> None:
    alone = planned_release(params(), declared(), 1000)
    shared = planned_release(params(texts_per_group=4, synthetic_texts=40), declared(), 1000)
    assert shared.groups == alone.groups == 10
    assert shared.query.clip_norm == pytest.approx(alone.query.clip_norm / 2, rel=0.05)
    assert (group_size(params(), 1000), group_size(params(synthetic_texts=30), 1000)) == (100, 33)


def test_a_declared_noise_is_kept() -> None:
    plan = planned_release(params(), declared(noise_multiplier=4.0), 1000)
    assert plan.release.noise_multiplier == pytest.approx(4.0, rel=2e-3)
    assert plan.release.noise_multiplier >= 4.0


def test_more_texts_than_clients_are_refused() -> None:
    with refuses("more-groups-than-units", parameter="dp_prediction.synthetic_texts", value=10):
        planned_ledger(9, params(), declared(delta=1e-3, population=9))


def test_more_tokens_than_can_be_priced_are_refused() -> None:
    with refuses("too-many-tokens-planned", value=600):
        planned_ledger(1000, params(sampler={"max_new_tokens": 600}), declared())


def test_a_nucleus_is_refused() -> None:
    with refuses("limit-not-supported", value=2):
        params(sampler={"no_repeat_ngram": 2})
    with refuses("nucleus-not-supported", value=0.9):
        params(sampler={"top_p": 0.9})
