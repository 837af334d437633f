"""What the active parameters let a data set spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from fedtext.params.privacy import Privacy
from fedtext.privacy.allowance import Allowance
from fedtext.wiring.config import active_parameters, corpus_is_public


def active_allowance() -> Allowance:
    """By the run's declarations; what a private corpus may spend where Kedro will find them faulty."""
    parameters = active_parameters()
    return Allowance(corpus_is_public(parameters), _total(parameters.get("privacy") or {}))


def _total(privacy: Mapping[str, Any]) -> float | None:
    """As a number: the command line gives `inf` as a word."""
    try:
        return Privacy.model_validate(privacy).total_epsilon
    except ValidationError:
        return None
