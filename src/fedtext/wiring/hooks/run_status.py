"""How a run ended, where nobody was left to tell MLflow: Ctrl-C, and processes that are gone (kill -9, a power cut)."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

KILLED = "KILLED"
PID, HOST, BOOT = "process.pid", "process.host", "process.boot"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # Linux only; elsewhere a restart is not noticed


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
