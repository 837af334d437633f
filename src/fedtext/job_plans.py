"""The plans of a pipeline's runs: one of a job, and one of every entry of a comparison, as if it were run alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kedro.framework import project

from fedtext.params.compare import Compare
from fedtext.pipelines.compare.children import merged
from fedtext.planning.pace import Paces
from fedtext.planning.plan import Plan
from fedtext.wiring.config import ProjectConfigLoader, loader_for
from fedtext.wiring.planning import plan_of

COMPARISON = "compare"


def plans_of(name: str, loader: ProjectConfigLoader, paces: Paces) -> Iterator[Plan]:
    """Yield the plan of a pipeline; of a comparison those of its entries, for one seed each.

    Entries share what does not depend on their parameters, so that a comparison takes less than all of its plans.
    """
    if name != COMPARISON:
        yield plan_of(name, project.pipelines[name], loader, {}, paces)
        return
    compare = Compare.model_validate(loader.parameters[COMPARISON])
    given = {group: values for group, values in (loader.runtime_params or {}).items() if group != COMPARISON}
    for entry, chosen in compare.chosen.items():
        own = loader_for(loader.env, merged(given, chosen.params), loader.named_source or str(loader.conf_source))
        project.pipelines.configure(f"{project.PACKAGE_NAME}.pipeline_registry")  # graphs follow the active parameters
        graph = project.pipelines[chosen.algorithm]
        yield replace(plan_of(chosen.algorithm, graph, own, {}, paces), job=f"{entry}, for one seed")
