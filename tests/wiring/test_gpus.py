"""GPUs that are not there are refused before anything is computed, for the pipelines that would use them."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.wiring.hooks.gpus import check_gpus
from tests.contracts.graphs import registered
from tests.parameters import parameters
from tests.refusals import refuses


def asked(gpus: Any) -> dict[str, Any]:
    return {**parameters(), "popri": {"preference": {"gpus": gpus}}, "dpprefsyn": {"preference": {"gpus": 1}}}


@pytest.mark.parametrize("there", [1, 3])
def test_more_gpus_than_there_are(there: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: there)
    pipelines = registered(None)
    check_gpus(pipelines["dp_fedavg"], asked(4))
    check_gpus(pipelines["popri"], asked(there))
    check_gpus(pipelines["popri"], asked("four"))
    with refuses("more-gpus-than-there-are") as refusal:
        check_gpus(pipelines["popri"], asked(4))
    assert (refusal.value.parameter, refusal.value.value) == ("popri.preference.gpus", 4)


def test_without_a_gpu_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    check_gpus(registered(None)["popri"], asked(4))
