"""Several generators in a pipeline: which ones the configuration names, and how a node takes them as inputs.

A node of which one parameter is `**generators: Generator` takes them all. `create_pipeline` is given the `settings`:

    node(write, {"prompts": "prompts", **generator_inputs(settings.generators)}, "texts")
    def write(prompts: pd.DataFrame, **generators: Generator) -> pd.DataFrame: ...
"""

from __future__ import annotations

from collections.abc import Iterable

PREFIX = "plm_"  # of the catalog entry of every one


def generator_inputs(names: Iterable[str]) -> dict[str, str]:
    """Return a node's inputs for the named generators, the catalog entry `plm_NAME` of each.

    Without a name it is the run's one `generator`.
    """
    return {name: f"{PREFIX}{name}" for name in names} or {"generator": "generator"}
