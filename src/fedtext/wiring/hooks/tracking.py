"""MLflow records beyond kedro-mlflow's: name, parameters, revision, environment, models, metrics, reports, end.

kedro-mlflow opens and closes the run (conf/base/mlflow.yml); this hook does nothing where it opened none. The switch
for all of it is the environment variable FEDTEXT_TRACKING=off (settings.py). Only datasets that the catalog calls
released or public are read here: private text has no way into MLflow.

Metrics are the numbers of a data set that its catalog entry names, as `fedtext: {metrics: {NAME: PATH}}`. PATH leads to
a number by keys. `*` is any key, and stands for it in NAME. A list on the way, or a table's column, is a curve with
steps 1, 2, ... What belongs to one stage of an algorithm (`popri.round_01.state`) is one number, the mean, at that
round's step.

Runs that a run starts as processes of their own, a comparison's, become its nested runs in MLflow. The first run leaves
its id and the place of its records in the environment, which later processes inherit.

Runs that ended without a record of it are closed: by Ctrl-C, or as their process is gone (kill -9, a power cut).
"""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import re
import subprocess
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from importlib import metadata
from itertools import groupby
from numbers import Real
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd
import psutil
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.io.catalog_config_resolver import CatalogConfigResolver
from kedro.pipeline import Pipeline
from pydantic import BaseModel

from fedtext.datasets.models import PublicModelDataset
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import TRACKING_ROOT, active_data_root, active_loader, active_parameters, corpus_is_public
from fedtext.wiring.guard.catalog import dataset_classes, entry
from fedtext.wiring.hooks.command import leaves, repeating_command
from fedtext.wiring.runner import RunInterruptedError

STAGE = re.compile(r"[^.]+\.(?P<stage>[^.]+)\.[^.]+")
ROUND = re.compile(r"round_(?P<round>\d+)")
NOT_MLFLOWS = re.compile(r"[^\w.\-/ ]")  # what the name of a metric or a parameter cannot hold

LARGEST = 2**30  # bytes of a model that is copied into the records
ON_PUBLIC_TEXT, OF_TEXTS = "on_public_text", "texts"  # of `tracked`
ASKED_FOR = "FEDTEXT_TRACKING"  # environment: `texts` records the released texts of any corpus

Wanted = Mapping[str, str]


class Point(NamedTuple):
    """One number; step 0 where it belongs to no round."""

    name: str
    value: float
    step: int


def declared(names: Iterable[str], resolver: CatalogConfigResolver) -> dict[str, Wanted]:
    """Return the metrics that catalog entries name; one that two algorithms have gets the algorithm's name."""
    asked = {name: said for name in names if (said := _wanted(entry(name, resolver)))}
    owners: dict[str, set[str]] = {}
    for name, wanted in asked.items():
        for metric in wanted:
            owners.setdefault(metric, set()).add(_owner(name, resolver))
    return {
        name: {m if len(owners[m]) == 1 else f"{_owner(name, resolver)}/{m}": path for m, path in wanted.items()}
        for name, wanted in asked.items()
    }


def points(name: str, data: Any, wanted: Wanted) -> list[Point]:
    """Return the wanted numbers of the data set `name`; one that is missing or not finite has no point."""
    plain = _plain(data)
    found = [
        Point(_filled(metric, keys), value, step)
        for metric, path in wanted.items()
        for keys, value, step in _follow(plain, path.split("."))
    ]
    if (stage := STAGE.fullmatch(name)) is None:
        return found
    number = ROUND.fullmatch(stage["stage"])
    at = int(number["round"]) if number else int(plain.get("round", 0))
    return [
        Point(metric, fmean(point.value for point in found if point.name == metric), at)
        for metric in dict.fromkeys(point.name for point in found)
    ]


def _wanted(config: Mapping[str, Any]) -> Wanted | None:
    return ((config.get("metadata") or {}).get("fedtext") or {}).get("metrics")


def _owner(name: str, resolver: CatalogConfigResolver) -> str:
    """Return `popri` for `popri.round_01.state` and for data sets of `{algorithm}_scorecard`; else the name."""
    if "." in name:
        return name.partition(".")[0]
    pattern = resolver.match_dataset_pattern(name) or ""
    return name.removesuffix(pattern.rpartition("}")[2]) if "}" in pattern else name


def _plain(data: Any) -> Any:
    if isinstance(data, BaseModel):
        return data.model_dump(mode="json")
    return data.to_dict("list") if isinstance(data, pd.DataFrame) else data


def _follow(
    value: Any, path: list[str], keys: tuple[str, ...] = (), step: int = 0
) -> Iterator[tuple[tuple[str, ...], float, int]]:
    if isinstance(value, list | tuple):
        for position, inner in enumerate(value, start=1):
            yield from _follow(inner, path, keys, position)
    elif not path:
        if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
            yield keys, float(value), step
    elif isinstance(value, Mapping):
        head, *rest = path
        for key in value if head == "*" else value.keys() & {head}:
            yield from _follow(value[key], rest, (*keys, str(key)) if head == "*" else keys, step)


def _filled(metric: str, keys: tuple[str, ...]) -> str:
    for key in keys:
        metric = metric.replace("*", key, 1)
    return NOT_MLFLOWS.sub("_", metric)


PARENT_RUN = "FEDTEXT_PARENT_RUN"


class NestedRuns:
    """The current run's id in the environment, which later processes inherit."""

    def __init__(self) -> None:
        self._left: list[str] = []

    def adopt_or_join(self, run_id: str, name: str) -> None:
        """Nest below the run whose id the environment holds; without one, later processes nest below this run.

        A nested run's name is its place: the runs of a comparison differ in that.
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

    def detach(self) -> None:
        """Remove the run's id: the next run of this process is not nested."""
        for variable in self._left:
            os.environ.pop(variable, None)
        self._left = []


KILLED, FAILED = "KILLED", "FAILED"
PID, HOST, STARTED = "process.pid", "process.host", "process.started"
SAME_START = 2.0  # seconds: a clock that is set meanwhile moves the time at which the system says a process started


class FailedHookHook:
    """Marks a run that fails in a hook, before its first node or after its last: Kedro reports it to no hook."""

    def __init__(self) -> None:
        self._ours = False

    @hook_impl(wrapper=True)
    def before_pipeline_run(self) -> Generator[None, Any, Any]:
        """Wrap all hooks of that name: a run that one of them opens is closed here."""
        self._ours = not run_is_open()
        try:
            return (yield)
        except Exception:
            self._close()
            raise

    @hook_impl(wrapper=True)
    def after_pipeline_run(self) -> Generator[None, Any, Any]:
        """Wrap all hooks of that name."""
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
    """Return whether MLflow has a run open; mlflow is not imported for it."""
    mlflow = sys.modules.get("mlflow")
    return mlflow is not None and mlflow.active_run() is not None


def process_tags() -> dict[str, str]:
    """Return tags of the process that a run is in, so that a later run can see whether it still exists."""
    return {PID: str(os.getpid()), HOST: platform.node(), STARTED: str(psutil.Process().create_time())}


def mark_killed(run_id: str) -> None:
    """Mark the run as killed in the active tracking store."""
    from mlflow.tracking import MlflowClient

    MlflowClient().set_terminated(run_id, KILLED)


def close_abandoned(own: str) -> list[str]:
    """Mark as killed all runs of the active tracking store that are called running and whose process is gone.

    Args:
        own: Id of the current run, which is left alone.

    Returns:
        Ids of the runs that were marked. One on another host stays as it is: its process cannot be seen from here.
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
    """Return whether the process with these tags has certainly ended; False for a run without them."""
    if not tags.keys() >= {PID, HOST, STARTED} or tags[HOST] != platform.node():
        return False
    # In a container every process may have the same number: an earlier run with ours is not this one.
    pid = int(tags[PID])
    return pid == os.getpid() or not psutil.pid_exists(pid) or _is_another(pid, float(tags[STARTED]))


def _is_another(pid: int, started: float) -> bool:
    """Return whether the process number now belongs to a process that started at another time, as after a restart."""
    try:
        return abs(psutil.Process(pid).create_time() - started) > SAME_START
    except psutil.Error:  # another user's process cannot be read
        return False


LIBRARIES = (
    "fedtext", "kedro", "torch", "transformers", "sentence-transformers", "trl", "peft", "opacus", "dp-accounting",
    "numpy", "pandas",
)  # fmt: skip
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
        """Log parameters of the run's nodes, revision, environment, models and the whole command."""
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
        """Log metrics at once, so that a long run's curves can be watched."""
        if dataset_name in self._metrics and run_is_open():
            self._log_metrics(dataset_name, data)

    @hook_impl(tryfirst=True)
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Log metrics of results that were up to date, and every file whose entry is tracked."""
        self._nested.detach()
        if not run_is_open():
            return
        for name in sorted(self._metrics.keys() - self._logged):
            self._log_metrics(name, catalog.load(name))
        for name in sorted(self._shown & set(pipeline.all_outputs())):
            if is_tracked(entry(name, catalog.config_resolver), public=corpus_is_public()):
                _log_file(name, catalog.get(name))

    @hook_impl(trylast=True)
    def on_pipeline_error(self, error: Exception) -> None:
        """Forget the run, so that the next one of this process is not nested.

        kedro-mlflow has marked it failed before.
        """
        self._nested.detach()
        if self._run_id is not None and isinstance(error, RunInterruptedError):
            mark_killed(self._run_id)

    def _log_metrics(self, name: str, data: Any) -> None:
        import mlflow

        for step, found in groupby(sorted(points(name, data, self._metrics[name]), key=_step), key=_step):
            mlflow.log_metrics({point.name: point.value for point in found}, step=step)
        self._logged.add(name)


def run_name(run_params: Mapping[str, Any], pipeline: Pipeline) -> str:
    """Return the run's name for people: its pipelines, and epsilon if an algorithm releases."""
    default = pipelines.get("__default__")
    meant = next((name for name, known in pipelines.items() if known is default and name != "__default__"), "default")
    names = [meant if name == "__default__" else name for name in run_params.get("pipeline_names") or ["__default__"]]
    releasing = [node for node in pipeline.nodes if Tag.RELEASE in node.tags]
    releases = not all(
        (node.namespace or "").startswith("evaluation.") for node in releasing
    )  # test clients have a ledger of their own
    privacy = active_parameters().get("privacy") or {}
    return ", ".join([*names, f"epsilon {privacy['epsilon']:g}"] if releases else names)


def flat_parameters(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return values by dotted names as MLflow takes them; one over 6000 characters is split: `name/0`, `name/1`..."""
    flat: dict[str, str] = {}
    for given, value in leaves(parameters):
        name, text = NOT_MLFLOWS.sub("_", given), str(value)
        while name in flat:  # two that differ in what MLflow has no sign for
            name += "_"
        pieces = [text[i : i + LONGEST_VALUE] for i in range(0, len(text), LONGEST_VALUE)] or [""]
        flat |= {name: text} if len(pieces) == 1 else {f"{name}/{i}": piece for i, piece in enumerate(pieces)}
    return flat


def _used_parameters(pipeline: Pipeline) -> dict[str, Any]:
    """Return the top-level parameters that the pipeline's nodes take."""
    inputs = pipeline.inputs()
    used = {name.removeprefix("params:").partition(".")[0] for name in inputs if name.startswith("params:")}
    return {key: value for key, value in active_parameters().items() if key in used or "parameters" in inputs}


def revision(project: Path) -> dict[str, str]:
    """Return the checkout's revision and whether it was changed, for MLflow."""

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
    """Return the sources of the run's public models: a directory, or a Hugging Face id with its commit."""
    read = {name: catalog.get(name) for name in sorted(pipeline.inputs()) if name in catalog}
    return {f"model.{name}": str(d.identity()) for name, d in read.items() if isinstance(d, PublicModelDataset)}


def _command(run_params: dict[str, Any]) -> dict[str, str]:
    given = run_params.get("runtime_params") or {}
    return {
        "command": repeating_command(run_params, active_loader().named_source),
        "runtime_params": json.dumps(flat_parameters(given)),
        "data_root": str(active_data_root()),
    }


def is_tracked(config: Mapping[str, Any], *, public: bool) -> bool:
    """Return whether MLflow gets the entry's file; `public` is whether the corpus is.

    What is written in place of private text goes to no server by itself, though it is released: somebody asks for it
    by FEDTEXT_TRACKING=texts. A model that was trained on a private corpus goes to none.
    """
    said = ((config.get("metadata") or {}).get("fedtext") or {}).get("tracked")
    if said == OF_TEXTS:
        return public or os.environ.get(ASKED_FOR) == OF_TEXTS
    return public if said == ON_PUBLIC_TEXT else bool(said)


def _log_file(name: str, dataset: Any) -> None:
    """Hand a data set's file, or its directory, to MLflow below the name of the folder that holds it."""
    import mlflow

    path = Path(str(getattr(dataset, "_filepath", "")))
    if path.is_dir():
        if (size := sum(file.stat().st_size for file in path.rglob("*") if file.is_file())) > LARGEST:
            LOG.info("%s has %d MiB: MLflow does not get it; it lies in %s", name, size // 2**20, path)
            return
        mlflow.log_artifacts(str(path), artifact_path=f"{path.parent.name}/{path.name}")
        return
    if not path.is_file():
        LOG.warning("%s is to be tracked but is no file: MLflow does not get it", name)
        return
    mlflow.log_artifact(str(path), artifact_path=path.parent.name)


def _step(point: Point) -> int:
    return point.step
