"""What MLflow is told beyond kedro-mlflow: parameters, revision, environment, models, metrics by round, reports.

kedro-mlflow opens and closes the run (conf/base/mlflow.yml); this hook does nothing where it opened none. The switch
for all of it is the environment variable FEDTEXT_TRACKING=off (settings.py). Only datasets that the catalog calls
released or public are read here: private text has no way into MLflow.
"""

from __future__ import annotations

import json
import logging
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from numbers import Real
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.framework.project import settings
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from pydantic import BaseModel

from fedtext.datasets.models import PublicModelDataset
from fedtext.wiring.config import active_data_root, active_parameters
from fedtext.wiring.guard.catalog import dataset_classes, entry
from fedtext.wiring.hooks.command import leaves, repeating_command
from fedtext.wiring.hooks.nested_runs import NestedRuns

ROUND_STATE = re.compile(r"(?P<algorithm>[^.]+)\.round_(?P<round>\d+)\.state")
LIBRARIES = ("fedtext", "kedro", "torch", "transformers", "trl", "peft", "dp-accounting", "numpy", "pandas")
LONGEST_VALUE = 6000
BATCH = 100
LOG = logging.getLogger(__name__)


class TrackingHook:
    """Logs into the MLflow run that kedro-mlflow has open."""

    def __init__(self) -> None:
        self._shown: set[str] = set()
        self._pipeline: Pipeline | None = None
        self._catalog: DataCatalog | None = None
        self._logged: set[str] = set()
        self._nested = NestedRuns()

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Parameters of the run's nodes, revision, environment, models, the whole command."""
        self._pipeline, self._catalog, self._logged = pipeline, catalog, set()
        classes = dataset_classes(pipeline.datasets(), catalog.config_resolver)
        self._shown = {name for name, privacy in classes.items() if privacy in {"released", "public"}}
        if not _run_is_open():
            return
        import mlflow

        mlflow.set_tags({**_revision(Path(run_params["project_path"])), **_environment(), **_command(run_params)})
        mlflow.set_tags(_models(pipeline, catalog))
        self._nested.adopt_or_join(mlflow.active_run().info.run_id, run_params)
        values = list(flat_parameters(_used_parameters(pipeline)).items())
        for start in range(0, len(values), BATCH):
            mlflow.log_params(dict(values[start : start + BATCH]))

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """A round's state becomes metrics at that round's step."""
        if dataset_name in self._shown and ROUND_STATE.fullmatch(dataset_name) and _run_is_open():
            self._log_round(dataset_name, data)

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Rounds that were up to date already, and every dataset whose entry says `fedtext: {tracked: true}`."""
        self._nested.let_go()
        if not _run_is_open():
            return
        for name in sorted(self._shown & set(pipeline.all_outputs())):
            if ROUND_STATE.fullmatch(name) and name not in self._logged:
                self._log_round(name, catalog.load(name))
            elif _tracked(entry(name, catalog.config_resolver)):
                _log_report(name, catalog.get(name))

    @hook_impl
    def on_pipeline_error(self) -> None:
        """The next run of this process is not a nested one."""
        self._nested.let_go()

    def _log_round(self, name: str, state: Any) -> None:
        import mlflow

        found = ROUND_STATE.fullmatch(name)
        assert found is not None
        values = {f"{found['algorithm']}.{key}": value for key, value in numbers(state)}
        mlflow.log_metrics(values, step=int(found["round"]))
        self._logged.add(name)


def tracking_is_on() -> bool:
    """Whether kedro-mlflow takes part: FEDTEXT_TRACKING=off leaves it out (settings.py)."""
    return "kedro_mlflow" not in settings.DISABLE_HOOKS_FOR_PLUGINS


def numbers(value: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Numeric leaves of a JSON value or model by their dotted names; of a list of numbers, its last (a history)."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from numbers(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list | tuple) and value and not isinstance(value[-1], list | tuple | Mapping):
        yield from numbers(value[-1], prefix)
    elif isinstance(value, Real) and not isinstance(value, bool):
        yield re.sub(r"[^\w.\-/ ]", "_", prefix), float(value)


def flat_parameters(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Leaves by dotted names as MLflow takes them; a value over 6000 characters is split: `name/0`, `name/1`..."""
    flat: dict[str, str] = {}
    for name, value in leaves(parameters):
        text = str(value)
        pieces = [text[i : i + LONGEST_VALUE] for i in range(0, len(text), LONGEST_VALUE)] or [""]
        flat |= {name: text} if len(pieces) == 1 else {f"{name}/{i}": piece for i, piece in enumerate(pieces)}
    return flat


def _used_parameters(pipeline: Pipeline) -> dict[str, Any]:
    """The top-level parameters that the pipeline's nodes take."""
    inputs = pipeline.inputs()
    used = {name.removeprefix("params:").partition(".")[0] for name in inputs if name.startswith("params:")}
    return {key: value for key, value in active_parameters().items() if key in used or "parameters" in inputs}


def _run_is_open() -> bool:
    """Without kedro-mlflow's hook nobody has imported mlflow, and this does not either."""
    mlflow = sys.modules.get("mlflow")
    return mlflow is not None and mlflow.active_run() is not None


def _revision(project: Path) -> dict[str, str]:
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
        "command": repeating_command(run_params),
        "runtime_params": json.dumps(flat_parameters(given)),
        "data_root": str(active_data_root()),
    }


def _tracked(config: dict[str, Any]) -> bool:
    return bool(((config.get("metadata") or {}).get("fedtext") or {}).get("tracked"))


def _log_report(name: str, dataset: Any) -> None:
    """The file as an artifact; of a JSON document also its numbers as metrics."""
    import mlflow

    path = Path(str(getattr(dataset, "_filepath", "")))
    if not path.is_file():
        LOG.warning("%s is to be tracked but is no file: MLflow does not get it", name)
        return
    mlflow.log_artifact(str(path), artifact_path=path.parent.name)
    if path.suffix == ".json" and not hasattr(dataset.load(), "to_plotly_json"):
        values = dict(numbers(json.loads(path.read_text(encoding="utf-8")), name))
        mlflow.log_metrics(values)
