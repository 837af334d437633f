"""Runs that a run starts as processes of their own, a comparison's, become its nested runs in MLflow.

The first run leaves its id and the place of its records in the environment, which later processes inherit.
"""

from __future__ import annotations

import os

from fedtext.wiring.config import TRACKING_ROOT, active_data_root, active_loader

PARENT_RUN = "FEDTEXT_PARENT_RUN"


class NestedRuns:
    """What the current run leaves in the environment, and takes out again."""

    def __init__(self) -> None:
        self._left: list[str] = []

    def adopt_or_join(self, run_id: str, name: str) -> None:
        """Below the run whose id the environment holds; without one, later processes come below this run.

        A nested run's name says where it is: the runs of a comparison differ in that.
        """
        from mlflow.tracking import MlflowClient

        client = MlflowClient()
        if parent := os.environ.get(PARENT_RUN):
            client.set_tag(run_id, "mlflow.parentRunId", parent)
            client.set_tag(run_id, "mlflow.runName", f"{name}, in {active_data_root().name}")
        else:
            client.set_tag(run_id, "mlflow.runName", name)
            told = {PARENT_RUN: run_id, TRACKING_ROOT: str(active_loader().tracking_root)}
            self._left = [variable for variable in told if variable not in os.environ]
            os.environ |= told

    def let_go(self) -> None:
        """The next run of this process stands by itself."""
        for variable in self._left:
            os.environ.pop(variable, None)
        self._left = []
