"""Gives reports the facts of the run that writes them: command, day, version (fedtext.datasets.run_facts)."""

from __future__ import annotations

import time
from importlib import metadata
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.wiring.config import active_loader
from fedtext.wiring.hooks.command import repeating_command
from fedtext.wiring.hooks.tracking import revision
from fedtext.wiring.made_with import corpus_facts, facts_in

__all__ = ["RunFactsHook", "corpus_facts"]


class RunFactsHook:
    """Runs before a run. No fact is private; of the time it gives the day only, which no private text influences."""

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Fill in the data set, if a node of the run reads it."""
        if (facts := facts_in(pipeline.inputs(), catalog)) is not None:
            facts.add_facts(
                {
                    "command": repeating_command(run_params, active_loader().named_source),
                    "date": time.strftime("%Y-%m-%d", time.gmtime()),
                    "version": _version(Path(run_params["project_path"])),
                }
            )


def _version(project: Path) -> str:
    known = revision(project).get("git.revision", "")
    return f"fedtext {metadata.version('fedtext')}" + (f", {known[:10]}" if known else "")
