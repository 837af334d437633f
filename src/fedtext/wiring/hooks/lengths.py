"""Whether the models of a run read as many tokens at once as its samples may have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.system.refusal import RunRefusedError


def check_lengths(pipeline: Pipeline, catalog: DataCatalog, parameters: Mapping[str, Any]) -> None:
    """A sample is embedded, trained on and scored as a whole, with a start token.

    Raises:
        RunRefusedError: a model that the pipeline reads takes fewer tokens than a sample may have.
    """
    if "params:chunking" not in pipeline.inputs():
        return
    length = parameters["chunking"]["length"]
    for name in sorted(pipeline.inputs()):
        limit = getattr(catalog.get(name), "context", None) if name in catalog else None
        if limit is not None and length >= limit:
            raise RunRefusedError(
                f"chunking.length is {length}, but '{name}' reads {limit} tokens at once: make it smaller, or choose a "
                "model with a longer context"
            )
