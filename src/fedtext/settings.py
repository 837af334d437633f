"""Project settings, read by Kedro: https://docs.kedro.org/en/stable/configure/configuration_basics/."""

from __future__ import annotations

import os
import warnings
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
os.environ.setdefault("KEDRO_DISABLE_TELEMETRY", "true")  # .telemetry says so in the project's own folder alone

from fedtext.system.interrupts import tell_interrupts_in_one_line
from fedtext.system.waiting import wait_briefly

tell_interrupts_in_one_line()
wait_briefly()

from fedtext.wiring.config import ProjectConfigLoader  # noqa: E402 - these take a second, in which Ctrl-C may come
from fedtext.wiring.hooks import HOOKS as PROJECT_HOOKS  # noqa: E402
from fedtext.wiring.session import (  # noqa: E402
    ResumableSession,
    SessionHook,
    guard_every_runner,
    resume_in_every_session,
)

# Logged at every command by dependencies, which set their own filters: Kedro calling OmegaConf, kedro-mlflow calling
# MLflow. Nothing that a user could act on.
IDLE_WARNINGS = ("register_new_resolver() is deprecated", "Add type hints to the `predict` method")


def _show_unless_idle(message: Warning | str, *rest: Any, **options: Any) -> None:
    if not any(idle in str(message) for idle in IDLE_WARNINGS):
        _show(message, *rest, **options)


_show = warnings.showwarning
warnings.showwarning = _show_unless_idle

resume_in_every_session()
guard_every_runner()
HOOKS = (*PROJECT_HOOKS, SessionHook())
SESSION_CLASS = ResumableSession
CONFIG_LOADER_CLASS = ProjectConfigLoader
CONFIG_LOADER_ARGS = {"base_env": "base", "default_run_env": "local"}

# Kedro-Viz's own hooks write row counts of every table they see, private ones too, into the project: exact counts are
# private. FEDTEXT_TRACKING=off leaves MLflow out of a run altogether (`texts`: wiring/hooks/tracking.py).
_UNTRACKED = os.environ.get("FEDTEXT_TRACKING", "on") == "off"
DISABLE_HOOKS_FOR_PLUGINS = ("kedro-viz", "kedro_mlflow") if _UNTRACKED else ("kedro-viz",)
