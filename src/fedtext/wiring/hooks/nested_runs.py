"""Runs that a run starts as processes of their own, a comparison's, become its nested runs in MLflow.

The first run leaves its id and the place of its records in the environment, which later processes inherit.
"""

from __future__ import annotations

import os
from typing import Any

from fedtext.wiring.config import TRACKING_ROOT, active_data_root

PARENT_RUN = "FEDTEXT_PARENT_RUN"


class NestedRuns:
    """What the current run leaves in the environment, and takes out again."""

    def __init__(self) -> None:
        self._adopting = False

    def adopt_or_join(self, run_id: str, run_params: dict[str, Any]) -> None:
        """Below the run whose id the environment holds; without one, later processes come below this run."""
        import mlflow

        if parent := os.environ.get(PARENT_RUN):
            name = f"{', '.join(run_params.get('pipeline_names') or ['default'])} in {active_data_root().name}"
            mlflow.set_tags({"mlflow.parentRunId": parent, "mlflow.runName": name})
        else:
            os.environ |= {PARENT_RUN: run_id, TRACKING_ROOT: str(active_data_root())}
            self._adopting = True

    def let_go(self) -> None:
        """The next run of this process stands by itself."""
        for name in (PARENT_RUN, TRACKING_ROOT) if self._adopting else ():
            os.environ.pop(name, None)
        self._adopting = False
