"""The numbers that catalog entries name."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from kedro.io import DataCatalog
from pydantic import BaseModel

from fedtext.wiring.hooks.tracking import Point, declared, points


class Protection(BaseModel):
    epsilon: float


def test_a_path_leads_to_a_number_and_a_star_stands_for_any_key() -> None:
    card = {
        "protection": Protection(epsilon=2.0).model_dump(),
        "accuracy": {"eps0": {"top_1": 0.1}, "odd:": {"top_1": 1}},
    }
    wanted = {"epsilon": "protection.epsilon", "accuracy/*": "accuracy.*.top_1", "gone": "accuracy.gone.top_1"}
    assert points("a_scorecard", card, wanted) == [
        Point("epsilon", 2.0, 0),
        Point("accuracy/eps0", 0.1, 0),
        Point("accuracy/odd_", 1.0, 0),
    ]
    assert points("a_report", Protection(epsilon=3.0), {"epsilon": "epsilon"}) == [Point("epsilon", 3.0, 0)]


def test_lists_and_columns_are_curves_from_step_one() -> None:
    rows = {"rounds": [{"fid": 3.0}, {"fid": None}, {"fid": 1.0}]}
    assert points("a_distances", rows, {"fid": "rounds.fid"}) == [Point("fid", 3.0, 1), Point("fid", 1.0, 3)]
    log = pd.DataFrame({"loss": [0.5, 0.25]})
    assert points("a_log", log, {"loss": "loss"}) == [Point("loss", 0.5, 1), Point("loss", 0.25, 2)]


def test_what_belongs_to_a_stage_is_one_number_at_its_round() -> None:
    log = pd.DataFrame({"loss": [0.5, 0.25]})
    assert points("a.round_07.log", log, {"loss": "loss"}) == [Point("loss", 0.375, 7)]
    assert points("a.closing.state", {"round": 3, "score": -1}, {"score": "score"}) == [Point("score", -1.0, 3)]


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "0.5", None, []])
def test_what_is_no_finite_number_is_left_out(value: object) -> None:
    assert points("a_card", {"value": value}, {"value": "value"}) == []


def test_a_metric_of_two_algorithms_bears_their_names() -> None:
    entry = {"type": "MemoryDataset", "metadata": {"fedtext": {"metrics": {"epsilon": "e"}}}}
    loss = {"type": "MemoryDataset", "metadata": {"fedtext": {"metrics": {"loss": "loss"}}}}
    resolver = DataCatalog.from_config({"{algorithm}_card": entry, "{algorithm}.{stage}.state": loss}).config_resolver
    alone = declared(["pe_sft_card", "pe.round_01.state", "pe.round_02.state", "unknown"], resolver)
    assert alone["pe_sft_card"] == {"epsilon": "e"}
    assert alone["pe.round_02.state"] == {"loss": "loss"}
    assert "unknown" not in alone
    both = declared(["pe_sft_card", "pe_card"], resolver)
    assert both == {"pe_sft_card": {"pe_sft/epsilon": "e"}, "pe_card": {"pe/epsilon": "e"}}
