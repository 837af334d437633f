"""The run's engine, as the parameters declare it: started by the runner, before the first node that runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from fedtext.params.engine import EngineParameters
from fedtext.privacy.history import FOLDER as RECORDS
from fedtext.system.engine import Engine, InProcess, over_processes
from fedtext.system.ray_engine import is_installed, over_ray
from fedtext.system.refusal import RunRefusedError, parameter_faults, parameters_refusal

GROUP = "engine"
SPILL = "spill"  # folder of what does not fit into memory, beside the records


def check_engine(parameters: Mapping[str, Any]) -> None:
    """Check that the declared engine can be started here.

    Raises:
        RunRefusedError: its parameters are faulty, or Ray is not installed.
    """
    if GROUP not in parameters:
        return
    if faults := parameter_faults(parameters, {GROUP: EngineParameters}):
        raise parameters_refusal(faults)
    if parameters[GROUP]["name"] == "ray" and not is_installed():
        raise RunRefusedError(
            "engine.name is 'ray', and Ray is not installed: pip install 'fedtext[ray]', or take "
            "engine.name=processes, the processes of this machine",
            code="ray-not-installed",
            parameter="engine.name",
        )


def declared_engine(parameters: Mapping[str, Any], data_root: Path) -> AbstractContextManager[Engine]:
    """Return what starts the declared engine, and ends it; a project without the group computes in this process."""
    if GROUP not in parameters:
        return nullcontext(InProcess())
    declared = EngineParameters.model_validate(parameters[GROUP])
    if declared.name == "processes":
        return over_processes(declared.workers)
    if declared.name == "ray":
        return over_ray(declared.workers, declared.address, data_root / RECORDS / SPILL)
    return nullcontext(InProcess())
