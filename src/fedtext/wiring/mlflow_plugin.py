"""kedro-mlflow, imported by those commands alone that use it: its import is half of what a refusal would cost.

Kedro imports every plugin's commands before any command, and every plugin's hooks before any session.
"""

from __future__ import annotations

from typing import Any

from kedro.framework import project
from kedro.framework.cli import utils
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import settings
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.wiring.config import active_loader
from fedtext.wiring.tracking_server import check_server, remove_half_made

PLUGIN = "kedro_mlflow"
ENTRY_POINT = "mlflow_hook"


def tracking_is_on() -> bool:
    """Return whether kedro-mlflow takes part: FEDTEXT_TRACKING=off leaves it out (settings.py)."""
    return PLUGIN not in settings.DISABLE_HOOKS_FOR_PLUGINS


def leave_out_commands(package: str) -> None:
    """Have Kedro pass over kedro-mlflow's commands in the project of this package, which has its own in their place."""
    found = utils._get_entry_points

    def without_mlflow(name: str) -> Any:
        ours = package == project.PACKAGE_NAME
        return [point for point in found(name) if not (ours and point.module.partition(".")[0] == PLUGIN)]

    utils._get_entry_points = without_mlflow


class MlflowHook:
    """Hands a run to kedro-mlflow's hook once the checks before it have passed: a refused run opens no records.

    It bears the name of that hook's entry point: Kedro imports no entry point whose name a hook of the project has.
    """

    def __init__(self) -> None:
        self.__name__ = ENTRY_POINT
        self._context: KedroContext | None = None

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Keep the context, from which kedro-mlflow is configured."""
        self._context = context

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Open the run, and register kedro-mlflow's hook for all that follows.

        Raises:
            RunRefusedError: the server that keeps the records cannot be reached.
        """
        if not tracking_is_on() or self._context is None:
            return
        uri = (active_loader().tracking.get("server") or {}).get("mlflow_tracking_uri")
        check_server(uri)
        remove_half_made(uri)
        from kedro_mlflow.framework.hooks.mlflow_hook import mlflow_hook as plugin

        hooks = self._context._hook_manager
        if hooks.is_registered(plugin):  # by an earlier run of a service session: Kedro calls it from then on
            return
        plugin.after_context_created(self._context)
        plugin.after_catalog_created(catalog, {}, {}, {}, "", {})
        plugin.before_pipeline_run(run_params, pipeline, catalog)
        hooks.register(plugin)
