"""Hooks: the privacy flow check, the checks before a run, MLflow's records, and the last lines of a run."""

from __future__ import annotations

from fedtext.wiring.hooks.outcome import OutcomeHook
from fedtext.wiring.hooks.preflight import PreflightHook
from fedtext.wiring.hooks.privacy_flow import PrivacyFlowHook
from fedtext.wiring.hooks.run_facts import RunFactsHook
from fedtext.wiring.hooks.tracking import FailedHookHook, TrackingHook
from fedtext.wiring.mlflow_plugin import MlflowHook

__all__ = ["HOOKS"]

# Hooks are called last to first: the graph is checked before anything is touched, and MLflow records the run last.
HOOKS = (
    OutcomeHook(),
    RunFactsHook(),
    TrackingHook(),
    MlflowHook(),
    PreflightHook(),
    PrivacyFlowHook(),
    FailedHookHook(),
)
