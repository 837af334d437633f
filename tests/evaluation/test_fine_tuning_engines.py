"""Trainings have the same weights and facts on every engine, under the watch of a node that reads private data."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedtext.evaluation.fine_tuning import fine_tune_each
from fedtext.evaluation.next_token import text_windows
from fedtext.models.language_model import LanguageModel
from fedtext.params.evaluation import Evaluation
from fedtext.system.engine import Engine, InProcess, computing_on, over_processes
from fedtext.system.ray_engine import over_ray
from fedtext.wiring.guard.watch import Watch
from fedtext.wiring.guard.workers import watched_engine
from tests.evaluation.conftest import sentence
from tests.parameters import conf_base

PARAMS = conf_base(
    Evaluation,
    training={"learning_rates": [1e-2, 3e-3], "epochs": 1.0, "held_out_share": 0.2, "batch_size": 4},
)


def trained(started: AbstractContextManager[Engine], root: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Weights and facts of two conditions on an engine."""
    rng, base = np.random.default_rng(8), LanguageModel("bundled:on_device")
    conditions = {
        name: text_windows(base.tokenizer(), [sentence(rng, 8) for _ in range(size)], 12)
        for name, size in {"a": 15, "b": 20}.items()
    }
    watch = Watch(who="node 'n'", reads_private=True, may_read=False, data_root=root)
    with started as engine, computing_on(watched_engine(engine, watch)):
        found = fine_tune_each(base, conditions, PARAMS, seed=4)
    weights = {
        name: torch.cat([one.detach().flatten() for one in model.parameters()]).numpy().tobytes()
        for name, (model, _) in found.items()
    }
    return weights, {name: {**facts, "seconds": 0} for name, (_, facts) in found.items()}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], dict[str, Any]]:
    return trained(nullcontext(InProcess()), tmp_path_factory.mktemp("here"))


def test_trainings_are_the_same_on_two_processes(here: tuple[dict[str, bytes], dict[str, Any]], tmp_path: Path) -> None:
    assert trained(over_processes(2), tmp_path) == here
    assert here[0]["a"] != here[0]["b"]


@pytest.mark.slow
def test_trainings_are_the_same_on_two_workers_of_ray(
    here: tuple[dict[str, bytes], dict[str, Any]], tmp_path: Path
) -> None:
    pytest.importorskip("ray", reason="the engine over Ray is tested where it is installed: pip install 'ray==2.60.*'")
    assert trained(over_ray(2, None, tmp_path / ".fedtext/spill"), tmp_path) == here
