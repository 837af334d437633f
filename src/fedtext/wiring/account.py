"""What the active parameters declare about the budget of the data set (fedtext.privacy.data_set_budget)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from fedtext.params.privacy import Privacy
from fedtext.privacy.allowance import Allowance
from fedtext.privacy.registry import ReleaseRegistry
from fedtext.privacy.team_registry import TeamRegistry, is_installed, registry_at
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.config import active_parameters, corpus_is_public


def active_registry() -> ReleaseRegistry | None:
    """Return the registry of releases that the run declares, a team's or the user's own; None: nobody's text is read.

    Releases of a public corpus are counted alone, and silos know and count those of their own people.
    """
    parameters = active_parameters()
    if corpus_is_public(parameters) or (parameters.get("corpus") or {}).get("source") == "silos":
        return None
    return registry_at((parameters.get("privacy") or {}).get("history"))


def check_history(parameters: Mapping[str, Any]) -> None:
    """Check that a team's history answers, before anything is read.

    Raises:
        RunRefusedError: it does not, or its driver is not installed.
    """
    if (address := (parameters.get("privacy") or {}).get("history")) is None:
        return
    if not is_installed():
        raise RunRefusedError(
            "privacy.history is a PostgreSQL database, and its driver is not installed: pip install "
            "'fedtext[postgresql]'",
            code="postgresql-not-installed",
            parameter="privacy.history",
        )
    TeamRegistry(address).check()


def active_allowance() -> Allowance:
    """Return the allowance that the run declares; that of a private corpus if its declarations are faulty."""
    parameters = active_parameters()
    return Allowance(corpus_is_public(parameters), _total(parameters.get("privacy") or {}))


def _total(privacy: Mapping[str, Any]) -> float | None:
    """Return the total budget as a number: the command line gives `inf` as a word."""
    try:
        return Privacy.model_validate(privacy).total_epsilon
    except ValidationError:
        return None
