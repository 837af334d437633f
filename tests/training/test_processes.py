"""Several processes that train together: the same adapter in each, the losses of one, and what is said when one fails."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from fedtext.params.training import WHOLE_SCHEDULE, AdapterTraining
from fedtext.system.errors import InputError
from fedtext.training import dpo
from fedtext.training.lora import TrainedAdapter
from fedtext.training.processes import ProcessLostError, over_gpus, own_share, shares_together
from tests.parameters import conf_base
from tests.refusals import refuses
from tests.training.conftest import InMemory

TWO = partial(over_gpus, gpus=2, label="a test", parameter="preference.gpus")


def digest(adapter: TrainedAdapter) -> str:
    return hashlib.sha256(
        b"".join(adapter.weights[name].numpy().tobytes() for name in sorted(adapter.weights))
    ).hexdigest()


def trained_together(base: InMemory, pairs: pd.DataFrame, params: AdapterTraining) -> tuple[Any, Any, list[str]]:
    """In each of several processes: its adapter, the history, and the digests of all adapters."""
    from torch import distributed

    from fedtext.training import lora

    lora.is_bfloat16_faster = lambda device: False  # type: ignore[assignment] # this process is the test's own
    trained, history = dpo._trained(
        base, pairs, params, previous=None, schedule=WHOLE_SCHEDULE, seed=5, label="a test", end="\n", lead=""
    )
    every: list[str] = [""] * distributed.get_world_size()
    distributed.all_gather_object(every, digest(trained))
    return trained, history, every


def params(**changes: Any) -> AdapterTraining:
    return conf_base(
        AdapterTraining,
        epochs=2,
        batch_size=4,
        learning_rate=1e-2,
        beta=0.5,
        lora={"rank": 4, "alpha": 8},
        **changes,
    )


def compare(base: InMemory, pairs: pd.DataFrame, together: AdapterTraining, single: AdapterTraining) -> None:
    trained, history, every = TWO(partial(trained_together, base, pairs, together))
    alone, losses = dpo.train_preferences(base, pairs, single, seed=5, label="a test")
    assert every == [digest(trained)] * 2
    assert [entry["step"] for entry in history] == [entry["step"] for entry in losses] == [1, 2, 3, 4]
    for name in ("loss", "margin", "chosen_log_prob", "rejected_log_prob"):
        assert [entry[name] for entry in history] == pytest.approx([entry[name] for entry in losses], abs=1e-3), name
    for name, weight in alone.weights.items():
        np.testing.assert_allclose(trained.weights[name], weight, atol=1e-3)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedtext.training.lora.is_bfloat16_faster", lambda device: False)
    monkeypatch.setenv("FEDTEXT_PROGRESS", "0")


@pytest.mark.usefixtures("plain")
def test_two_processes_train_as_one_does(llama: InMemory, pairs: pd.DataFrame) -> None:
    """Each computes its two pairs of a step one after the other."""
    compare(llama, pairs.iloc[:8], params(gpus=2, pairs_at_once=1), params())


@pytest.mark.slow
@pytest.mark.usefixtures("plain")
def test_two_processes_that_compute_activations_again_train_as_one_does(gpt2: InMemory, pairs: pd.DataFrame) -> None:
    compare(gpt2, pairs.iloc[:8], params(gpus=2, activation_checkpointing=True), params())


def one_fails(kind: str) -> str:
    """What goes wrong in the second process, while the first waits for it."""
    if os.environ["RANK"] == "0":
        time.sleep(600)
    if kind == "refusal":
        raise InputError("the loss is not finite", code="preference-loss-not-finite", value=3)
    if kind == "fault":
        raise KeyError("a mistake")
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def test_what_one_process_refuses_is_said_as_in_one() -> None:
    began = time.monotonic()
    with refuses("preference-loss-not-finite") as refusal:
        TWO(partial(one_fails, "refusal"))
    assert refusal.value.value == 3
    assert time.monotonic() - began < 500, "the others were not ended"


@pytest.mark.slow
def test_a_fault_says_where_it_was() -> None:
    with pytest.raises(KeyError, match="a mistake") as fault:
        TWO(partial(one_fails, "fault"))
    assert "in one_fails" in "".join(fault.value.__notes__)


def test_a_process_that_is_killed_is_one_sentence() -> None:
    with pytest.raises(ProcessLostError, match="a test: one of 2 processes was ended") as lost:
        TWO(partial(one_fails, "kill"))
    assert (lost.value.code, lost.value.parameter) == ("training-process-lost", "preference.gpus")


def test_more_gpus_than_there_are_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with refuses("more-gpus-than-there-are"):
        TWO(int)


def test_shares_come_back_in_the_order_of_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = list(range(7))
    assert own_share(pieces) == shares_together(pieces) == pieces, "one process has all of them"
    found = []
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "3")
        found.append(list(own_share(pieces)))
    monkeypatch.setattr("torch.distributed.get_world_size", lambda: 3)
    monkeypatch.setattr("torch.distributed.all_gather_object", lambda every, own: every.__setitem__(slice(None), found))
    assert shares_together(found[0]) == pieces


WAITS = """
import os, sys, time
from pathlib import Path
from fedtext.training.processes import over_gpus

def wait():
    Path(sys.argv[1], os.environ["RANK"]).write_text(str(os.getpid()))
    time.sleep(100)

if __name__ == "__main__":
    over_gpus(wait, 2, label="a test", parameter="preference.gpus")
"""


@pytest.mark.slow
def test_the_processes_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WAITS.replace("sys.argv[1]", repr(str(tmp_path))))
    run = subprocess.Popen([sys.executable, program])
    try:
        patiently(lambda: len(list(tmp_path.glob("[01]"))) == 2)
        numbers = [int((tmp_path / rank).read_text()) for rank in "01"]
    finally:
        run.kill()
        run.wait()
    patiently(lambda: not any(psutil.pid_exists(number) for number in numbers))


def patiently(there: Callable[[], bool]) -> None:
    for _ in range(1200):
        if there():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to that")
