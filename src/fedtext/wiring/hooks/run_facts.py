"""Tells reports how their run was made: command, day, version, models, parameters (fedtext.datasets.run_facts)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.corpora.clients import client_of
from fedtext.datasets.models import PublicModelDataset
from fedtext.datasets.run_facts import RunFactsDataset
from fedtext.params.corpus import Corpus, Partition
from fedtext.wiring.config import active_parameters
from fedtext.wiring.hooks.command import repeating_command
from fedtext.wiring.hooks.tracking import revision

FACTS = "run_facts"
SHARED = ("privacy", "chunking", "evaluation")
OF_CORPUS = ("source", "description", "max_clients", "public_texts")  # not where private files lie


class RunFactsHook:
    """Before a run; nothing that it tells is private, and of the time only the day, which no private text shows in."""

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Fills in the data set, where a node of the run reads it."""
        if FACTS not in pipeline.inputs() or not isinstance(facts := catalog.get(FACTS), RunFactsDataset):
            return
        facts.tell(
            {
                "command": repeating_command(run_params),
                "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "version": _version(Path(run_params["project_path"])),
                "models": dict(_models(pipeline, catalog)),
                "parameters": _parameters(pipeline),
            }
        )


def _version(project: Path) -> str:
    known = revision(project).get("git.revision", "")
    return f"fedtext {metadata.version('fedtext')}" + (f", {known[:10]}" if known else "")


def _models(pipeline: Pipeline, catalog: DataCatalog) -> Iterator[tuple[str, str]]:
    """Each public model by its source, or by its id and commit."""
    for name in sorted(pipeline.inputs()):
        if name in catalog and isinstance(model := catalog.get(name), PublicModelDataset):
            source, identity = model._describe().get("source"), str(model.identity())
            yield name, identity if "@" in identity or source is None else str(source)


def _parameters(pipeline: Pipeline) -> dict[str, Any]:
    """The groups of the run's algorithms, and of what all of them share."""
    made = {name.removesuffix("_report") for name in pipeline.all_outputs() if name.endswith("_report")}
    given = active_parameters()
    return {"corpus": corpus_facts(given), **{name: value for name, value in given.items() if name in {*made, *SHARED}}}


def corpus_facts(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What a report may say of the corpus, and what a client of it is."""
    said = {name: value for name, value in parameters["corpus"].items() if name in OF_CORPUS}
    return {**said, "a client is": told_client(parameters)}


def told_client(parameters: Mapping[str, Any]) -> str | None:
    """What a client of the run's corpus is, in words (`client_of`)."""
    return client_of(Corpus.model_validate(parameters["corpus"]), Partition.model_validate(parameters["partition"]))
