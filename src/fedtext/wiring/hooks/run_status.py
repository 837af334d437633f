"""How a run ended, where nobody was left to tell MLflow: Ctrl-C, and processes that are gone (kill -9, a power cut)."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Generator, Mapping
from typing import Any

import psutil
from kedro.framework.hooks import hook_impl

KILLED, FAILED = "KILLED", "FAILED"
PID, HOST, STARTED = "process.pid", "process.host", "process.started"
SAME_START = 2.0  # seconds: a clock that is set meanwhile moves the time at which the system says a process started


class FailedHookHook:
    """A run that fails in a hook, before its first node or after its last, is a failed one: Kedro tells nobody."""

    def __init__(self) -> None:
        self._ours = False

    @hook_impl(wrapper=True)
    def before_pipeline_run(self) -> Generator[None, Any, Any]:
        """Around all hooks of that name: a run that one of them opens is ours to close."""
        self._ours = not run_is_open()
        try:
            return (yield)
        except Exception:
            self._close()
            raise

    @hook_impl(wrapper=True)
    def after_pipeline_run(self) -> Generator[None, Any, Any]:
        """Around all hooks of that name."""
        try:
            return (yield)
        except Exception:
            self._close()
            raise

    def _close(self) -> None:
        if self._ours and run_is_open():
            import mlflow

            mlflow.end_run(FAILED)


def run_is_open() -> bool:
    """Whether MLflow has a run open: without kedro-mlflow's hook nobody has imported mlflow, nor does this."""
    mlflow = sys.modules.get("mlflow")
    return mlflow is not None and mlflow.active_run() is not None


def process_tags() -> dict[str, str]:
    """Which process a run is in, so that a later run can see whether it is still there."""
    return {PID: str(os.getpid()), HOST: platform.node(), STARTED: str(psutil.Process().create_time())}


def mark_killed(run_id: str) -> None:
    """Give the run that status in the active tracking store."""
    from mlflow.tracking import MlflowClient

    MlflowClient().set_terminated(run_id, KILLED)


def close_abandoned(own: str) -> list[str]:
    """Mark killed all runs of the active tracking store that are called running and whose process is gone.

    Args:
        own: Id of the run that asks; it is left alone.

    Returns:
        Ids of the runs that were marked. One on another host stays as it is: nothing is known of its process.
    """
    from mlflow.tracking import MlflowClient

    client = MlflowClient()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    running = client.search_runs(experiments, filter_string="attributes.status = 'RUNNING'")
    found = [run.info.run_id for run in running if run.info.run_id != own and is_gone(run.data.tags)]
    for run_id in found:
        mark_killed(run_id)
    return found


def is_gone(tags: Mapping[str, str]) -> bool:
    """Whether the process with these tags has certainly ended; a run without them tells nothing."""
    if not tags.keys() >= {PID, HOST, STARTED} or tags[HOST] != platform.node():
        return False
    # In a container every process may have the same number: an earlier run with ours is not this one.
    pid = int(tags[PID])
    return pid == os.getpid() or not psutil.pid_exists(pid) or _is_another(pid, float(tags[STARTED]))


def _is_another(pid: int, started: float) -> bool:
    """Whether the number has been given to a process that started at another time, as after a restart."""
    try:
        return abs(psutil.Process(pid).create_time() - started) > SAME_START
    except psutil.Error:  # the system does not tell of somebody else's
        return False
