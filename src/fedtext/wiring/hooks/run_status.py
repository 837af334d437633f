"""How a run ended, where nobody was left to tell MLflow: Ctrl-C, and processes that are gone (kill -9, a power cut)."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl

KILLED, FAILED = "KILLED", "FAILED"
PID, HOST, BOOT = "process.pid", "process.host", "process.boot"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # Linux only; elsewhere a restart is not noticed


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
    boot = BOOT_ID.read_text(encoding="ascii").strip() if BOOT_ID.is_file() else ""
    return {PID: str(os.getpid()), HOST: platform.node(), BOOT: boot}


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
    own = process_tags()
    if PID not in tags or tags.get(HOST) != own[HOST]:
        return False
    # In a container every process may have the same number: an earlier run with ours is not this one.
    return tags.get(BOOT) != own[BOOT] or tags[PID] == own[PID] or not _is_alive(int(tags[PID]))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True
