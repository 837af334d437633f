"""Check that the GPUs are there that a preference training of the run is to use, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedro.pipeline import Pipeline

from fedtext.training.processes import validate_gpus

TRAINED = ("popri", "dpprefsyn")  # groups of parameters that have a preference training


def check_gpus(pipeline: Pipeline, parameters: Mapping[str, Any]) -> None:
    """Check the number of GPUs of every group of parameters that the pipeline reads.

    Raises:
        InputError: there are fewer.
    """
    for group in TRAINED:
        if f"params:{group}" in pipeline.inputs():
            gpus = parameters[group]["preference"]["gpus"]
            if isinstance(gpus, int):  # anything else is refused as a value that is no number
                validate_gpus(gpus, f"{group}.preference.gpus")
