"""The whole DP-FTRL graph in memory, with the real on-device model on made-up text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedtext.evaluation.next_token import next_token_accuracy
from fedtext.models.language_model import LanguageModel
from fedtext.params.federated import DpFtrl
from fedtext.training.federated_averaging import flat_weights
from tests.parameters import conf_base
from tests.pipelines.conftest import ON_DEVICE, configure, made_up, train_in_memory


def run(privacy: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Everything the graph makes, by data set name."""
    settings = {"rounds": 3, "separation": 2, "clip_norm": 1.0, "local": {"learning_rate": 0.3}, **changes}
    declared = {"epsilon": 1.0, "delta": 1e-3, "noise_seed": 1, **(privacy or {})}
    configure(dp_ftrl=settings)
    return train_in_memory("dp_ftrl", declared, {"params:dp_ftrl": conf_base(DpFtrl, settings)})


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return run()


def test_the_run_is_charged_once_and_costs_the_budget(made: dict[str, Any]) -> None:
    for t in (1, 2, 3):
        assert len(made[f"dp_ftrl.round_0{t}.ledger"].releases) == 1
    report = made["dp_ftrl_privacy_report"]
    assert 0.99 < float(report["epsilon"]) <= 1 + 1e-9
    assert report["unaccounted"] == []
    assert "keeps sums of earlier rounds" in made["dp_ftrl_privacy_report_text"]
    assert "at most 2, at least 2 apart" in made["dp_ftrl_privacy_report_text"]


def test_sums_that_have_begun_stay_private_and_the_last_round_leaves_none(made: dict[str, Any]) -> None:
    assert [len(made[f"dp_ftrl.round_0{t}.private_open_sums"]) for t in (1, 2, 3)] == [1, 1, 0]
    assert [len(made[f"dp_ftrl.round_0{t}.server"]["released"]) for t in (1, 2, 3)] == [1, 2, 3]


def test_rounds_and_cost_are_reported(made: dict[str, Any]) -> None:
    rounds = made["dp_ftrl_rounds"]
    assert [len(rounds[name]) for name in ("update_norms", "noise_norms")] == [3, 3]
    assert set(rounds["errors"]) == {"banded", "tree", "honaker_tree", "independent"}
    assert (made["dp_ftrl_cost"].up_floats, made["dp_ftrl_cost"].exchanges) == (1_328_256, 2)


def test_the_model_holds_the_last_weights_and_is_saved_whole(made: dict[str, Any], tmp_path: Path) -> None:
    for part in made["dp_ftrl_model"]:
        part.save_pretrained(str(tmp_path))
    assert np.array_equal(
        flat_weights(LanguageModel(str(tmp_path)).load()[0]), made["dp_ftrl.round_03.server"]["weights"]
    )


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("noise", ["banded", "honaker_tree"])
def test_with_hardly_any_noise_the_model_learns_the_clients_text(noise: str) -> None:
    settings = {"epsilon": 1e12, "noise_multiplier": 1e-4, "aggregation": "trusted"}
    quiet = run(settings, noise=noise, momentum=0.5, separation=1)
    model, tokenizer = quiet["dp_ftrl_model"]
    held_out = made_up(20, 1)
    before = next_token_accuracy(*ON_DEVICE.load(), held_out, length=16)
    after = next_token_accuracy(model, tokenizer, held_out, length=16)
    assert after["cross_entropy"] < before["cross_entropy"] - 0.5


@pytest.mark.slow
def test_the_same_key_gives_the_same_run_and_another_key_another(made: dict[str, Any]) -> None:
    again, other = run(), run({"noise_seed": 2})
    last = "dp_ftrl.round_03.server"
    assert again[last]["weights"].tobytes() == made[last]["weights"].tobytes()
    assert not np.array_equal(other[last]["weights"], made[last]["weights"])
