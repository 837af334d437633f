"""Kedro's session with resumed, guarded runs and one-sentence errors, for `kedro run`, scripts and notebooks.

It checks the names of pipelines, nodes, tags, data sets and versions that a command chooses, with suggestions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kedro.framework import project
from kedro.framework.hooks import hook_impl
from kedro.framework.session import KedroServiceSession, KedroSession, service_session, session
from kedro.io import DataCatalog, DatasetError, DatasetNotFoundError
from kedro.pipeline import Pipeline
from kedro.runner import AbstractRunner, SequentialRunner
from kedro.validation.exceptions import ParameterValidationError
from kedro.validation.type_extractor import TypeExtractor
from pydantic import ValidationError

from fedtext.system.errors import FedtextError, InputError, did_you_mean
from fedtext.system.interrupts import INTERRUPTED
from fedtext.system.refusal import RunRefusedError, explanation, parameter_faults, parameters_refusal
from fedtext.wiring.config import active_data_root, active_parameters
from fedtext.wiring.hooks.preflight import check_guarded
from fedtext.wiring.one_run import only_run_here
from fedtext.wiring.runner import ResumableRunner, RunInterruptedError

OPTIONS = {  # of `kedro run` by what Kedro calls them, and the kind of name that they take
    "node_names": ("--nodes", "node"),
    "from_nodes": ("--from-nodes", "node"),
    "to_nodes": ("--to-nodes", "node"),
    "from_inputs": ("--from-inputs", "data set"),
    "to_outputs": ("--to-outputs", "data set"),
    "tags": ("--tags", "tag"),
    "namespaces": ("--namespaces", "namespace"),
    "load_versions": ("--load-versions", "data set"),
}


def check_pipelines(names: Sequence[str]) -> None:
    """Raise RunRefusedError for a name that no registered pipeline has."""
    known = list(project.pipelines.keys())
    for name in names:
        if name not in known:
            raise RunRefusedError(
                f"no pipeline is named '{name}': {did_you_mean(name, known, 'see `kedro registry list`')}",
                code="unknown-pipeline",
                parameter="pipelines",
                value=name,
            )


def check_choice(chosen: Mapping[str, Any]) -> None:
    """Raise RunRefusedError for a name that is not in the graph, or if nothing is left.

    `chosen` has the arguments of Kedro's `run`.

    It is called only once Kedro has failed to choose.
    """
    names = chosen.get("pipeline_names") or ["__default__"]
    check_pipelines(names)
    graph = sum((project.pipelines[name] for name in names), start=Pipeline([]))
    known = _names(graph)
    for option, (flag, kind) in OPTIONS.items():
        for name in chosen.get(option) or ():
            if name not in known[kind]:
                see = f"`kedro registry describe {names[0]}` lists the nodes, `kedro viz run` shows the graph"
                raise RunRefusedError(
                    f"{flag} {name}: no {kind} has this name; {did_you_mean(name, known[kind], see)}",
                    code="unknown-name-in-slice",
                    parameter=flag,
                    value=name,
                )
    asked = [f"{flag} {','.join(chosen[option])}" for option, (flag, _) in OPTIONS.items() if chosen.get(option)]
    if asked and not _left(graph, chosen):
        raise RunRefusedError(
            f"{' and '.join(asked)} have no node in common: leave one of them out",
            code="nothing-in-common",
            value=asked,
        )


def _names(graph: Pipeline) -> dict[str, set[str]]:
    return {
        "node": {node.name for node in graph.nodes},
        "data set": {name for name in graph.datasets() if not name.startswith("params:")},
        "tag": set().union(*(node.tags for node in graph.nodes)),
        "namespace": set().union(*(_namespaces(node.namespace) for node in graph.nodes)),
    }


def _namespaces(namespace: str | None) -> Iterator[str]:
    parts = (namespace or "").split(".") if namespace else []
    return (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))


def _left(graph: Pipeline, chosen: Mapping[str, Any]) -> bool:
    options = {name: chosen.get(name) for name in OPTIONS if name not in ("namespaces", "load_versions")}
    try:
        return bool(graph.filter(**options, node_namespaces=chosen.get("namespaces")).nodes)
    except ValueError:
        return False


OF_ENTRIES = (
    "An exception occurred when parsing config",
    "is not a valid dataset configuration",
    "valid for the constr",
)


def resume_in_every_session() -> None:
    """Make `ResumableRunner` the default of Kedro's own sessions too, and their errors sentences: no setting does."""
    for module in (session, service_session):
        module.SequentialRunner = ResumableRunner  # type: ignore[attr-defined]
    for kind in (KedroSession, KedroServiceSession):
        kind.run = explained(kind.run)  # type: ignore[method-assign]


def explained(run: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a session's `run` that raises RunRefusedError, a sentence, for an error that a user can put right."""

    @functools.wraps(run)
    def explained_run(*args: Any, **kwargs: Any) -> dict[str, Any]:
        _check_lists(kwargs)
        try:
            with only_run_here():
                return run(*args, **kwargs)
        except KeyboardInterrupt:  # before the first node or after the last
            raise RunInterruptedError(INTERRUPTED, code="interrupted") from None
        except Exception as error:
            if isinstance(error, ValueError | KeyError | DatasetNotFoundError) and not isinstance(error, FedtextError):
                check_choice(kwargs)
            if isinstance(error, RunRefusedError) or (refusal := _refusal(error)) is None:
                raise
            raise refusal from error

    return explained_run


def _check_lists(chosen: Mapping[str, Any]) -> None:
    """Raise RunRefusedError for a name where a list of names is taken: its letters would be names."""
    for option in ("pipeline_names", *OPTIONS):
        if isinstance(name := chosen.get(option), str):
            raise RunRefusedError(
                f"{option} is {name!r}: give a list of names, {option}=[{name!r}]",
                code="name-for-a-list",
                parameter=option,
                value=name,
            )


def guard_every_runner() -> None:
    """Make other runners refuse private data also where a script calls them itself, for hooks are not called there."""
    plain = AbstractRunner.run

    @functools.wraps(plain)
    def run(self: AbstractRunner, pipeline: Pipeline, catalog: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if isinstance(catalog, DataCatalog):
            check_guarded(str(self), pipeline, catalog)
        return plain(self, pipeline, catalog, *args, **kwargs)

    AbstractRunner.run = run  # type: ignore[method-assign]


class SessionHook:
    """Prepares a session of any class before its graph is built."""

    @hook_impl(tryfirst=True)
    def after_context_created(self) -> None:
        """Clear cached graphs: parameters decide the graph, and one that this process built may be another run's."""
        project.pipelines.configure(f"{project.PACKAGE_NAME}.pipeline_registry")


def _refusal(error: Exception) -> RunRefusedError | None:
    """Return the error for a user in place of a traceback; None if only a traceback helps."""
    if isinstance(error, ParameterValidationError):
        models = TypeExtractor(dict(project.pipelines)).extract_types_from_pipelines()
        faults = parameter_faults(active_parameters(), models)
        return parameters_refusal(faults or [InputError(str(error), code="wrong-parameters")])
    if isinstance(error, ValidationError) and error.title == "KedroMlflowConfig":
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"]))
        what = "is no setting" if fault["type"] == "extra_forbidden" else f"is {fault['input']!r}: {fault['msg']}"
        return RunRefusedError(
            f"mlflow.yml: {where} {what}; conf/base/mlflow.yml shows those in use",
            code="mlflow-setting",
            parameter=where,
        )
    if isinstance(error, DatasetError) and any(words in str(error) for words in OF_ENTRIES):
        return RunRefusedError(f"the catalog cannot be used: {_in_one_line(error)}", code="catalog-unusable")
    return explanation(error, active_data_root())


def _in_one_line(error: Exception) -> str:
    """Return Kedro's message about a catalog entry, without its hints."""
    return " ".join(str(error).partition("Hint:")[0].split())


class ResumableSession(KedroSession):
    """Kedro's session with `ResumableRunner` in place of the plain sequential one.

    `kedro run --runner ThreadRunner` runs without records: the next plain run then repeats what has no record. A run
    that releases private data is refused there (fedtext.wiring.hooks.preflight): its releases would not be recorded.
    """

    def run(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Run as Kedro does; the default runner and a literal `SequentialRunner` resume.

        Raises:
            RunRefusedError: An error that a user can put right; the original error is its cause.
        """
        runner = kwargs.get("runner") or SequentialRunner()
        if type(runner) is SequentialRunner:
            kwargs["runner"] = ResumableRunner(is_async=runner._is_async)
        result: dict[str, Any] = super().run(*args, **kwargs)
        return result
