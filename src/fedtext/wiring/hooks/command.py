"""The command line that repeats a run."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

CHOICES = {  # options of `kedro run`, and what Kedro calls them
    "pipelines": "pipeline_names",
    "tags": "tags",
    "nodes": "node_names",
    "namespaces": "namespaces",
    "from-nodes": "from_nodes",
    "to-nodes": "to_nodes",
    "from-inputs": "from_inputs",
    "to-outputs": "to_outputs",
}


def repeating_command(run_params: Mapping[str, Any], conf_source: str | None = None) -> str:
    """Return the `kedro run` command with all options that chose the run, for a shell.

    Args:
        run_params: What Kedro hands to hooks.
        conf_source: Where the configuration lies, if not in the project.
    """
    values = [f"{name}={_as_given(value)}" for name, value in leaves(run_params.get("runtime_params") or {})]
    chosen = {option: ",".join(run_params.get(name) or ()) for option, name in CHOICES.items()}
    versions = [f"{name}:{version}" for name, version in (run_params.get("load_versions") or {}).items()]
    options = {
        "conf-source": conf_source,
        **chosen,
        "load-versions": ",".join(versions),
        "env": run_params.get("env"),
        "params": ",".join(values),
    }
    words = [word for name, value in options.items() if value for word in (f"--{name}", value)]
    return shlex.join(["kedro", "run", *words])


def leaves(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield values by their dotted names; an empty group is a value."""
    for key, value in parameters.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, name)
        else:
            yield name, value


def _as_given(value: Any) -> str:
    """Return one value as `--params` reads it: YAML, a list as words."""
    if isinstance(value, list | tuple):
        value = " ".join(map(str, value))
    plain = value if value is None or isinstance(value, str | int | float) else str(value)
    return str(yaml.safe_dump(plain, width=math.inf, allow_unicode=True)).partition("\n")[0]
