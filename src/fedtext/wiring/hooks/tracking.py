"""What MLflow is told beyond kedro-mlflow: name, parameters, revision, environment, models, metrics, reports, end.

kedro-mlflow opens and closes the run (conf/base/mlflow.yml); this hook does nothing where it opened none. The switch
for all of it is the environment variable FEDTEXT_TRACKING=off (settings.py). Only datasets that the catalog calls
released or public are read here: private text has no way into MLflow.
"""

from __future__ import annotations

import json
import logging
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines, settings
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.datasets.models import PublicModelDataset
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import active_data_root, active_loader, active_parameters
from fedtext.wiring.guard.catalog import dataset_classes, entry
from fedtext.wiring.hooks.command import leaves, repeating_command
from fedtext.wiring.hooks.metrics import NOT_MLFLOWS, Point, Wanted, declared, points
from fedtext.wiring.hooks.nested_runs import NestedRuns
from fedtext.wiring.hooks.run_status import close_abandoned, mark_killed, process_tags, run_is_open
from fedtext.wiring.runner import RunInterruptedError

LIBRARIES = ("fedtext", "kedro", "torch", "transformers", "trl", "peft", "dp-accounting", "numpy", "pandas")
LONGEST_VALUE = 6000
BATCH = 100
LOG = logging.getLogger(__name__)


class TrackingHook:
    """Logs into the MLflow run that kedro-mlflow has open."""

    def __init__(self) -> None:
        self._shown: set[str] = set()
        self._metrics: dict[str, Wanted] = {}
        self._logged: set[str] = set()
        self._run_id: str | None = None
        self._nested = NestedRuns()

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Parameters of the run's nodes, revision, environment, models, the whole command."""
        self._logged, self._run_id = set(), None
        classes = dataset_classes(pipeline.datasets(), catalog.config_resolver)
        self._shown = {name for name, privacy in classes.items() if privacy in {"released", "public"}}
        self._metrics = declared(self._shown & pipeline.all_outputs(), catalog.config_resolver)
        if not run_is_open():
            return
        import mlflow

        self._run_id = mlflow.active_run().info.run_id
        mlflow.set_tags({**revision(Path(run_params["project_path"])), **_environment(), **_command(run_params)})
        mlflow.set_tags({**_models(pipeline, catalog), **process_tags()})
        chosen = (active_loader().tracking.get("tracking") or {}).get("run", {}).get("name")
        self._nested.adopt_or_join(self._run_id, chosen or run_name(run_params, pipeline))
        for abandoned in close_abandoned(self._run_id):
            LOG.info("MLflow's run %s had been killed; its record says so now", abandoned)
        values = list(flat_parameters(_used_parameters(pipeline)).items())
        for start in range(0, len(values), BATCH):
            mlflow.log_params(dict(values[start : start + BATCH]))

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Metrics at once, so that a long run's curves can be watched."""
        if dataset_name in self._metrics and run_is_open():
            self._log_metrics(dataset_name, data)

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Metrics of what was up to date already, and every file whose entry says `fedtext: {tracked: true}`."""
        self._nested.let_go()
        if not run_is_open():
            return
        for name in sorted(self._metrics.keys() - self._logged):
            self._log_metrics(name, catalog.load(name))
        for name in sorted(self._shown & set(pipeline.all_outputs())):
            if _tracked(entry(name, catalog.config_resolver)):
                _log_report(name, catalog.get(name))

    @hook_impl(trylast=True)
    def on_pipeline_error(self, error: Exception) -> None:
        """The next run of this process is not a nested one. kedro-mlflow, first, called the run failed."""
        self._nested.let_go()
        if self._run_id is not None and isinstance(error, RunInterruptedError):
            mark_killed(self._run_id)

    def _log_metrics(self, name: str, data: Any) -> None:
        import mlflow

        for step, found in groupby(sorted(points(name, data, self._metrics[name]), key=_step), key=_step):
            mlflow.log_metrics({point.name: point.value for point in found}, step=step)
        self._logged.add(name)


def run_name(run_params: Mapping[str, Any], pipeline: Pipeline) -> str:
    """What people call the run: pipelines, the default one by its other name, and epsilon if an algorithm releases."""
    default = pipelines.get("__default__")
    meant = next((name for name, known in pipelines.items() if known is default and name != "__default__"), "default")
    names = [meant if name == "__default__" else name for name in run_params.get("pipeline_names") or ["__default__"]]
    releasing = [node for node in pipeline.nodes if Tag.RELEASE in node.tags]
    releases = not all((node.namespace or "").startswith("evaluation.") for node in releasing)  # test clients pay apart
    privacy = active_parameters().get("privacy") or {}
    return ", ".join([*names, f"epsilon {privacy['epsilon']:g}"] if releases else names)


def tracking_is_on() -> bool:
    """Whether kedro-mlflow takes part: FEDTEXT_TRACKING=off leaves it out (settings.py)."""
    return "kedro_mlflow" not in settings.DISABLE_HOOKS_FOR_PLUGINS


def flat_parameters(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Leaves by dotted names as MLflow takes them; a value over 6000 characters is split: `name/0`, `name/1`..."""
    flat: dict[str, str] = {}
    for given, value in leaves(parameters):
        name, text = NOT_MLFLOWS.sub("_", given), str(value)
        while name in flat:  # two that differ in what MLflow has no sign for
            name += "_"
        pieces = [text[i : i + LONGEST_VALUE] for i in range(0, len(text), LONGEST_VALUE)] or [""]
        flat |= {name: text} if len(pieces) == 1 else {f"{name}/{i}": piece for i, piece in enumerate(pieces)}
    return flat


def _used_parameters(pipeline: Pipeline) -> dict[str, Any]:
    """The top-level parameters that the pipeline's nodes take."""
    inputs = pipeline.inputs()
    used = {name.removeprefix("params:").partition(".")[0] for name in inputs if name.startswith("params:")}
    return {key: value for key, value in active_parameters().items() if key in used or "parameters" in inputs}


def revision(project: Path) -> dict[str, str]:
    """The checkout's revision and whether it was changed, for MLflow."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=project, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return {"git.revision": git("rev-parse", "HEAD"), "git.dirty": str(bool(git("status", "--porcelain")))}
    except (OSError, subprocess.CalledProcessError):
        return {"git.revision": "not a git checkout"}


def _environment() -> dict[str, str]:
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return {f"environment.{name}": version for name, version in versions.items()}


def _models(pipeline: Pipeline, catalog: DataCatalog) -> dict[str, str]:
    """What the run's public models are: a directory, or a Hugging Face id with its commit."""
    read = {name: catalog.get(name) for name in sorted(pipeline.inputs()) if name in catalog}
    return {f"model.{name}": str(d.identity()) for name, d in read.items() if isinstance(d, PublicModelDataset)}


def _command(run_params: dict[str, Any]) -> dict[str, str]:
    given = run_params.get("runtime_params") or {}
    return {
        "command": repeating_command(run_params, active_loader().named_source),
        "runtime_params": json.dumps(flat_parameters(given)),
        "data_root": str(active_data_root()),
    }


def _tracked(config: dict[str, Any]) -> bool:
    return bool(((config.get("metadata") or {}).get("fedtext") or {}).get("tracked"))


def _log_report(name: str, dataset: Any) -> None:
    import mlflow

    path = Path(str(getattr(dataset, "_filepath", "")))
    if not path.is_file():
        LOG.warning("%s is to be tracked but is no file: MLflow does not get it", name)
        return
    mlflow.log_artifact(str(path), artifact_path=path.parent.name)


def _step(point: Point) -> int:
    return point.step
