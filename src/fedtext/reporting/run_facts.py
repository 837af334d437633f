"""The facts of a run for its report: command, day, version, models and the parameters that shaped it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from fedtext.generation.languages import wanted_language
from fedtext.models.languages import ENGLISH, THAT_WRITES, may_know
from fedtext.reporting.tables import table

UNSAID = ("seed",)
GENERATORS = ("generator", "plm_")  # roles of the models that write
WRITTEN, MADE = "Of the run that wrote this report", "Of the runs that made what it reports on, as far as it was read"


def facts_table(facts: Mapping[str, Any]) -> Markup:
    """Return a table of words; empty where no facts are known, as in a notebook.

    Args:
        facts: What `fedtext.datasets.run_facts.RunFactsDataset` holds.
    """
    if not facts:
        return Markup()
    run = [[name, facts[name]] for name in ("command", "date", "version") if name in facts]
    made = [[f"model: {role.replace('_', '-')}", name] for role, name in facts.get("models", {}).items()]
    made += [[f"{role.replace('_', '-')} reads", how] for role, how in facts.get("readings", [])]
    made += [row for group, values in facts.get("parameters", {}).items() for row in _rows(group, values)]
    if unrecorded := facts.get("unrecorded"):
        made.append(["not on record", f"how {', '.join(unrecorded)} came to be"])
    return Markup().join(
        table(title, ["what", "value"], rows, kind="words") for title, rows in ((WRITTEN, run), (MADE, made)) if rows
    )


def language_notes(facts: Mapping[str, Any]) -> list[str]:
    """Return a sentence on generators that write English alone where texts of another language were described.

    Figures say nothing of it: a small model learns the letters and the short words of texts that make no sense.

    Args:
        facts: As `facts_table` takes them.
    """
    corpus = facts.get("parameters", {}).get("corpus", {})
    wanted = wanted_language(corpus.get("description"), corpus.get("openings") or ())
    if wanted is None:
        return []
    writers = {name for role, name in facts.get("models", {}).items() if role.startswith(GENERATORS)}
    lacking = sorted(name for name in writers if not may_know(name, wanted))
    if not lacking:
        return []
    return [
        f"The texts were to be in {wanted}, and {' and '.join(lacking)} writes {ENGLISH} alone: hardly any will make "
        f"sense, whatever the figures say. Name a model that knows the language, such as {THAT_WRITES}."
    ]


def _rows(name: str, values: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield a row for the group's own values, and one for each group in it; unset values are left out."""
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    shown = {key: value for key, value in plain.items() if key not in UNSAID and value not in (None, [], "")}
    said = [f"{key} {_shown(value)}" for key, value in shown.items()]
    if said:
        yield [name, ", ".join(said)]
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _rows(f"{name}.{key}", value)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
