"""Checks before any long work: the data root, the disk, missing inputs, and whether the models fit the texts.

They read public values only.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kedro.config import MissingConfigException
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from fedtext.params.generation import NAME, TEXT, TOPIC
from fedtext.privacy.budget_guard import current
from fedtext.privacy.data_set_budget import NodeBudgetGuard
from fedtext.privacy.tags import Tag
from fedtext.system.errors import FedtextError, InputError, MissingFileError, UnreadableFileError, did_you_mean
from fedtext.system.file_limit import validate_file_size_limit
from fedtext.system.mounts import mount_of
from fedtext.system.refusal import RunRefusedError, one_or_all, unknown_parameter
from fedtext.wiring.account import check_history
from fedtext.wiring.conf_files import value_at
from fedtext.wiring.config import (
    ProjectConfigLoader,
    active_data_root,
    active_loader,
    active_parameters,
    is_private_name,
)
from fedtext.wiring.console import echo
from fedtext.wiring.engine import check_engine
from fedtext.wiring.guard.catalog import dataset_classes, named_credentials
from fedtext.wiring.hooks.command import leaves, repeating_command
from fedtext.wiring.hooks.generators import (
    check_adapters,
    check_follows_instructions,
    check_guided,
    check_reads_messages,
    check_trained,
)
from fedtext.wiring.hooks.gpus import check_gpus
from fedtext.wiring.hooks.language import warn_of_language
from fedtext.wiring.hooks.lengths import check_lengths, check_script
from fedtext.wiring.hooks.named_files import check_named_files
from fedtext.wiring.hooks.weights import check_weights
from fedtext.wiring.made_with import client_description
from fedtext.wiring.readers import OF_OWN_TEXT, Reader, readers
from fedtext.wiring.runner import ResumableRunner

SMALLEST_FREE = 200 * 2**20
COMFORTABLE_FREE = 2 * 2**30
RUNNERS = "leave --runner out (in a script: session.run() without runner=...)"
LOG = logging.getLogger(__name__)


class PreflightHook:
    """Runs after the privacy flow check and before MLflow opens a run."""

    @hook_impl(tryfirst=True)
    def after_context_created(self) -> None:
        """Raise RunRefusedError for a data root that is a file: the flow check, next, would name every data set in it.

        Missing credentials are refused here too: Kedro, which makes the catalog next, would raise with a traceback.
        A name without a value is refused before the value that it is taken for a part of.
        """
        data_root = active_data_root()
        if data_root.is_file():
            raise RunRefusedError(
                f"data_root {data_root} is a file: name a directory, --params data_root=DIR",
                code="data-root-is-a-file",
                parameter="data_root",
                value=str(data_root),
            )
        check_credentials(active_loader())
        check_names_have_values(active_loader().runtime_params or {})

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Raise RunRefusedError that names what is missing and the remedy."""
        check_whole(run_params)
        check_runner(str(run_params.get("runner")), pipeline)
        check_guarded(str(run_params.get("runner")), pipeline, catalog)
        check_names(run_params.get("runtime_params") or {})
        check_engine(active_parameters())
        check_gpus(pipeline, active_parameters())
        check_versions(run_params.get("load_versions") or {}, catalog)
        check_named_files(pipeline, active_parameters(), run_params.get("load_versions") or {})
        check_trained(pipeline, catalog)
        check_guided(pipeline, catalog)
        check_adapters(pipeline, catalog, active_parameters())
        check_inputs(pipeline, catalog, run_params)
        warn_of_language(pipeline, catalog, active_parameters())
        check_lengths(pipeline, catalog, active_parameters())
        check_script(pipeline, catalog, active_parameters())
        check_follows_instructions(pipeline, catalog)
        check_reads_messages(pipeline, catalog, active_parameters())
        check_page(pipeline, active_parameters())
        check_data_root(active_data_root())
        check_history(active_parameters())
        check_weights(pipeline, catalog)
        warn_of_documentation(active_parameters())
        announce_client(pipeline, active_parameters())
        seed = (active_parameters().get("privacy") or {}).get("noise_seed")
        if seed is not None:
            LOG.warning("privacy.noise_seed is %s: this run is a simulation, its noise protects nobody", seed)

    @hook_impl(tryfirst=True)
    def before_node_run(self, node: Node) -> None:
        """Raise RunRefusedError for a private node in an unguarded run: one with a plain session's default runner."""
        if any(map(is_private_name, (*node.inputs, *node.outputs))) and not isinstance(current(), NodeBudgetGuard):
            raise RunRefusedError(
                f"{node.name} reads or makes private data, and nobody guards it: {RUNNERS}",
                code="unguarded-session",
                value=node.name,
            )


def check_credentials(loader: ProjectConfigLoader) -> None:
    """Check that all credentials that a catalog entry names are there.

    Raises:
        RunRefusedError: some are not.
    """
    asked = {name: named_credentials(config) for name, config in loader["catalog"].items() if isinstance(config, dict)}
    if not any(asked.values()):
        return
    try:
        known = loader["credentials"]
    except MissingConfigException:
        known = {}
    missing = [f"{one} of '{name}'" for name, names in asked.items() for one in sorted(names - known.keys())]
    if missing:
        raise RunRefusedError(
            f"credentials are missing that the catalog names: {', '.join(missing)}: add them to "
            f"{Path(loader.conf_source) / 'local' / 'credentials.yml'}, which is not committed",
            code="credentials-missing",
            value=missing,
        )


def warn_of_documentation(parameters: Mapping[str, Any]) -> None:
    """Warn if the public text is Python documentation by default and the private text is of another kind."""
    corpus = parameters.get("corpus") or {}
    chosen = corpus.get("public_path") or corpus.get("description")
    if corpus.get("source", "docstrings") != "docstrings" and not chosen:
        LOG.warning(
            "the public text is Python documentation, and the synthetic text will be like it: name public text of your "
            "kind (corpus.public_path), or say what the texts are (corpus.description)"
        )


def announce_client(pipeline: Pipeline, parameters: Mapping[str, Any]) -> None:
    """Print one line on what a client is, before the user's text is read.

    Epsilon protects clients, so a wrong column must be seen.
    """
    if readers(pipeline).isdisjoint({*OF_OWN_TEXT, Reader.PAIRS}):
        return
    if told := client_description(parameters):
        echo(f"a client is: {told}")


def check_whole(run_params: Mapping[str, Any]) -> None:
    """Check that Kedro leaves out no node because its outputs are there: they may be of other parameters or inputs.

    Raises:
        RunRefusedError: `--only-missing-outputs` was given.
    """
    if run_params.get("only_missing_outputs"):
        raise RunRefusedError(
            "--only-missing-outputs takes what is there for this run's, at whichever parameters it was made: leave it "
            "out. A run does again only what has changed",
            code="only-missing-outputs",
            parameter="only_missing_outputs",
            value=True,
        )


def check_runner(runner: str, pipeline: Pipeline) -> None:
    """Check that private data are released by the runner that records releases; `runner` is its representation.

    Raises:
        RunRefusedError: the run has another runner.
    """
    name = _class_name(runner)
    releases = [node.name for node in pipeline.nodes if Tag.RELEASE in node.tags]
    if releases and name != ResumableRunner.__name__:
        raise RunRefusedError(
            f"{name} keeps no history of releases, and {', '.join(releases)} would release private data: {RUNNERS}",
            code="runner-without-history",
            parameter="runner",
            value=name,
        )


def check_guarded(runner: str, pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Check that nodes that read private data run under guard, which one runner provides, on some systems.

    Raises:
        RunRefusedError: the run has another runner, or this system has no limit on what a process writes.
    """
    classes = dataset_classes(pipeline.datasets(), catalog.config_resolver)
    private = sorted(name for name, privacy in classes.items() if privacy == "private")
    if not private:
        return
    validate_file_size_limit(private[0])
    if (name := _class_name(runner)) != ResumableRunner.__name__:
        raise RunRefusedError(
            f"{name} guards no node, and {private[0]} is private: {RUNNERS}",
            code="runner-without-guard",
            parameter="runner",
            value=name,
        )


def _names_inside(name: str, value: Any) -> Iterator[InputError]:
    """Yield an error for each parameter's name that stands after a comma in the value of another parameter."""
    said = value if isinstance(value, list | tuple) else str(value).split(",")[1:]
    for word in {str(one).strip() for one in said}:
        if "." in word and value_at(active_parameters(), word) is not None:
            yield InputError(
                f"{word} has no value, so it would be part of {name}: write {word}=VALUE, or leave it out",
                code="parameter-without-value",
                parameter=word,
            )


def check_versions(wanted: Mapping[str, str], catalog: DataCatalog) -> None:
    """Check that every version that the command line names is there.

    Raises:
        RunRefusedError: one is not, or its data set has none.
    """
    for name, version in wanted.items():
        dataset = catalog.get(name)
        if dataset is None or getattr(dataset, "_version", None) is None:
            raise RunRefusedError(
                f"--load-versions {name}: its catalog entry keeps no versions; leave it out, or give the entry "
                "'versioned: true' and run what makes it",
                code="unversioned-dataset",
                parameter="load_versions",
                value=name,
            )
        if not dataset.exists():
            place = Path(str(getattr(dataset, "_filepath", "")))
            known = sorted(path.name for path in place.iterdir()) if place.is_dir() else []
            raise RunRefusedError(
                f"--load-versions {name}:{version}: no such version; {did_you_mean(version, known, 'it has none yet')}",
                code="unknown-version",
                parameter="load_versions",
                value=version,
            )


def _class_name(runner: str) -> str:
    """Return the class name of the runner; if none was named, a session takes ours (fedtext.wiring.session)."""
    if runner == str(None):
        return ResumableRunner.__name__
    return runner.partition(" ")[0].rpartition(".")[2]


def make_data_root(data_root: Path) -> None:
    """Make the data root if need be, and check that it is a directory that can be written to.

    Raises:
        RunRefusedError: it is not.
    """
    try:
        data_root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunRefusedError(
            f"data_root {data_root} cannot be made ({error.strerror}): choose --params data_root=DIR",
            code="data-root-not-made",
            parameter="data_root",
            value=str(data_root),
        ) from None
    if not os.access(data_root, os.W_OK | os.X_OK):
        raise RunRefusedError(
            f"data_root {data_root} cannot be written to: change its rights or --params data_root=DIR",
            code="data-root-not-writable",
            parameter="data_root",
            value=str(data_root),
        )


def check_mount(data_root: Path, table: str | None = None) -> None:
    """Check that the file system of the data root keeps two runs apart; `table` is the system's table of mounts.

    Raises:
        RunRefusedError: it does not.
    """
    mount = mount_of(data_root, table)
    if mount is not None and (fault := mount.fault) is not None:
        raise RunRefusedError(
            f"data_root {data_root} lies on {mount.point} ({mount.kind}), which {fault}, and two runs could spend one "
            "budget twice: choose a directory on a local disk, on NFS 4 or on Lustre mounted with flock",
            code="file-system-without-locks",
            parameter="data_root",
            value=str(data_root),
        )


def check_data_root(data_root: Path) -> None:
    """Check that the data root is a directory (made if need be) that can be written to, on a disk with some room.

    Raises:
        RunRefusedError: it is not.
    """
    make_data_root(data_root)
    check_mount(data_root)
    free = shutil.disk_usage(data_root).free
    if free < SMALLEST_FREE:
        raise RunRefusedError(
            f"data_root {data_root} has {free / 2**20:.0f} MiB of free disk, a run needs {SMALLEST_FREE // 2**20} at "
            "least: free some space or choose --params data_root=DIR",
            code="disk-nearly-full",
            parameter="data_root",
            value=str(data_root),
        )
    if free < COMFORTABLE_FREE:
        LOG.warning("%s has only %.1f GiB of free disk", data_root, free / 2**30)


def check_names_have_values(given: Mapping[str, Any]) -> None:
    """Check that no name without a value on the command line became part of another parameter's value.

    Raises:
        RunRefusedError: One did.
    """
    if swallowed := [fault for name, value in leaves(given) for fault in _names_inside(name, value)]:
        raise one_or_all(
            RunRefusedError("parameters have no value:", code="parameters-without-value", faults=swallowed)
        )


def check_names(given: Mapping[str, Any]) -> None:
    """Check that every parameter of the command line is one that some pipeline or the configuration uses.

    Raises:
        RunRefusedError: One is not, and would have been ignored.
    """
    known: dict[str, Any] = dict(active_loader()["globals"])
    for asked in set().union(*(pipeline.inputs() for pipeline in pipelines.values())):
        if asked.startswith("params:"):
            known.setdefault(asked.removeprefix("params:").partition(".")[0], None)
    if not given.keys() <= known.keys():  # the files are read only for a name that no node of this run takes
        known = dict.fromkeys(active_loader().groups) | known
    strange = [name for name in given if name not in known]
    for name, inside in given.items():
        if isinstance(inside, Mapping) and isinstance(known.get(name), Mapping):
            strange += [f"{name}.{key}" for key in inside if key not in known[name]]
    if strange:
        said = active_parameters()
        every = {name: said.get(name) if value is None else value for name, value in known.items()}
        faults = [unknown_parameter(name, every) for name in strange]
        raise one_or_all(RunRefusedError("names of parameters are wrong:", code="unknown-parameters", faults=faults))


def check_page(pipeline: Pipeline, parameters: Mapping[str, Any]) -> None:
    """Check that a page prompt for public text written topic by topic names the topic: nothing else there does.

    Raises:
        RunRefusedError: it names none.
    """
    if Reader.DESCRIPTION not in readers(pipeline):
        return
    prompt = parameters["described"]["texts"]["sampler"]["prompt"]
    if TEXT in prompt and TOPIC not in prompt and NAME not in prompt:
        raise RunRefusedError(
            f"generation.prompt is {prompt!r}, a page that does not say what its text is about, and "
            f"{Reader.DESCRIPTION} asks topic by topic: name the topic on it ('I have a question for my bank about "
            f"{TOPIC}. {TEXT}'), or set generation.prompt=chat",
            code="page-without-topic",
            parameter="generation.prompt",
            value=prompt,
        )


def check_inputs(pipeline: Pipeline, catalog: DataCatalog, run_params: Mapping[str, Any]) -> None:
    """Check that everything that the pipeline reads and does not make is there: files, directories, models.

    Args:
        pipeline: The run's nodes.
        catalog: Its data sets.
        run_params: The run's options, which a command that makes a missing input repeats.

    Raises:
        RunRefusedError: something is not; every missing input is named, and what keeps several from being read, once.
    """
    absent, unreadable = list[FedtextError](), dict[str, list[str]]()
    for name in sorted(pipeline.inputs()):
        if name == "parameters" or name.startswith("params:") or name not in catalog:
            continue
        dataset = catalog.get(name)
        try:
            if dataset is None or dataset.exists():
                continue
            if getattr(dataset, "_EPHEMERAL", False):
                absent += [
                    MissingFileError(
                        f"{name} is not saved: begin with --from-nodes {one}", code="unsaved-input", value=name
                    )
                    for one in _makers(name)
                ]
            else:
                remedy = _made_by(name, run_params) or dataset
                absent.append(MissingFileError(f"{name} does not exist: {remedy}", code="missing-input", value=name))
        except Exception as error:
            unreadable.setdefault(str(error.__cause__ or error), []).append(name)  # Kedro wraps a dataset's error
    told = [
        UnreadableFileError(f"{', '.join(names)}: {reason}", code="unreadable-input", value=names)
        for reason, names in unreadable.items()
    ]
    if absent:
        raise RunRefusedError(
            "inputs are missing; run what makes them, or correct conf/:", code="inputs-missing", faults=[*absent, *told]
        )
    if told:
        raise one_or_all(RunRefusedError("inputs cannot be read:", code="inputs-unreadable", faults=told))


def _makers(name: str) -> list[str]:
    """Return the node that makes a data set, if one does."""
    return list(dict.fromkeys(node.name for made in pipelines.values() for node in made.nodes if name in node.outputs))


def _made_by(name: str, run_params: Mapping[str, Any]) -> str:
    """Return the command that makes a data set with the run's own parameters and environment; empty if none does.

    It is of the smallest registered pipeline that makes it. `__default__` is named only if no other does: another name
    is more specific.
    """
    makers = {one: len(made.nodes) for one, made in pipelines.items() if name in made.all_outputs()}
    if not makers:
        return ""
    smallest = min(makers, key=lambda one: (one == "__default__", makers[one]))
    shared = {option: run_params.get(option) for option in ("env", "runtime_params")}
    wanted = {"pipeline_names": [smallest], "to_outputs": [name]}
    return repeating_command({**shared, **wanted}, active_loader().named_source)
