"""`report.html`: one file that works offline and loads nothing from a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from fedtext.evaluation.wording import count
from fedtext.params.conditions import CONDITIONS
from fedtext.reporting.added import added_tables
from fedtext.reporting.headline import heading
from fedtext.reporting.page import bullets, figure_html, glossary, page
from fedtext.reporting.run_facts import facts_table, language_notes
from fedtext.reporting.tables import (
    accuracy_table,
    cost_table_html,
    distance_table,
    protection_table,
    published_table,
    task_tables,
    texts_table,
)
from fedtext.reporting.templates import render
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SAMPLES, SHOWN_SEED = 10, 0  # texts that a report shows, and the seed of their draw

# name of the figure -> (section, what to see in it)
FIGURES = {
    "accuracy": (
        "accuracy",
        "Whiskers are 95% intervals over held-out clients.",
    ),
    "pca_sets": ("distribution", "Where texts fall on a plane of two largest variances."),
    "rounds": ("rounds", "What changed round by round."),
    "pca_rounds": (
        "rounds",
        "The same plane over the rounds: clusters that tighten warn of overfitting to the scores.",
    ),
    "models": ("rounds", "Which model wrote how much of each round, and whose texts were called good."),
    "examples": ("rounds", "What the next prompts show as good and as bad; both are released texts."),
    "classes": ("rounds", "How many texts each class has; class sizes of the private text are never read."),
    "votes": ("samples", "How many votes the texts of a code got; the more unequal, the more choosing changed."),
    "gaps": ("samples", "How far the scores of the best and the worst answer to a public prompt are apart."),
    "privacy": ("privacy", "ε after each release, against the declared budget."),
    "trade_off": ("privacy", "The most that an attacker who knows everything else finds, against its false alarms."),
    "tokens": ("data", "How much text a held-out client has."),
}


class Sample(NamedTuple):
    """A released text to show, and the class that was requested for it, if any."""

    text: str
    label: str | None = None


def render_report(
    card: Mapping[str, Any],
    figures: Mapping[str, Figure],
    samples: Sequence[Sample],
    facts: Mapping[str, Any] | None = None,
) -> str:
    """Render the report of a `scorecard`: first sentences beside ten texts, the terms; then figures, tables, limits.

    Args:
        card: What `fedtext.reporting.scorecard.scorecard` returned.
        figures: By the names of `FIGURES`; one that is missing is left out, an unknown name is refused.
        samples: Released synthetic texts, drawn at random; the first ten are shown.
        facts: How the run was made (`fedtext.reporting.run_facts`), where that is known.
    """
    unknown = sorted(figures.keys() - FIGURES.keys())
    if unknown:
        raise InputError(
            f"the report has no place for figure {unknown[0]!r}; it knows {', '.join(FIGURES)}",
            code="unknown-figure",
            value=unknown[0],
        )
    title = heading(CONDITIONS[card["accuracy"]["judged"]].made, card)
    drawn = {
        name: figure_html(name, figures[name], _caption(name, figures[name])) for name in FIGURES if name in figures
    }
    sections = _sections(card, drawn) | {"made": ("How it was made", facts_table(facts or {}))}
    notes = [*language_notes(facts or {}), *card["notes"]]
    text = " ".join([*card["headline"], *notes, *(body for _, body in sections.values())])
    sections["words"] = ("Words", glossary(text))
    beside = _samples(samples, card["synthetic_texts"])
    return page(title, card["headline"], sections, notes=notes, drawn=bool(drawn), beside=beside)


def _caption(name: str, figure: Figure) -> str:
    """Return what to see in a figure."""
    shaded = name == "accuracy" and figure.layout.shapes
    return FIGURES[name][1] + (" Shaded is what private samples add to the best control." if shaded else "")


def _sections(card: Mapping[str, Any], drawn: Mapping[str, Markup]) -> dict[str, tuple[str, Markup]]:
    tables = {
        "accuracy": added_tables(card["accuracy"])
        + accuracy_table(card["accuracy"])
        + published_table(card["accuracy"])
        + task_tables(card),
        "distribution": distance_table(card["distribution"]) if card["distribution"] else Markup(),
        "texts": texts_table(card["texts"]),
        "privacy": protection_table(card["protection"], card["terms"]["tested"])
        + _assumptions(card["protection"]["assumptions"]),
        "cost": cost_table_html(card["cost"]),
    }
    titles = {
        "accuracy": "What it is worth",
        "distribution": "How near it is to the private text",
        "rounds": "Rounds",
        "texts": "What the texts are like",
        "privacy": "Privacy",
        "cost": "Cost",
        "data": "Held-out data",
        "limits": "Limits",
    }
    figures = {
        name: Markup().join(drawn[f] for f, (home, _) in FIGURES.items() if home == name and f in drawn)
        for name in titles
    }
    bodies = {name: figures[name] + tables.get(name, Markup()) for name in titles}
    bodies["limits"] = bullets(card["limits"])
    return {name: (titles[name], body) for name, body in bodies.items()}


def _samples(samples: Sequence[Sample], total: int) -> Markup:
    shown = [sample for sample in samples if sample.text.strip()][:SAMPLES]
    if not shown:
        return Markup()
    drawn = f"drawn at random (seed {SHOWN_SEED}) and not picked"
    intro = f"{count(len(shown))} of the {count(total)} synthetic texts, {drawn}."
    intro += " Over each stands its class." if any(each.label for each in shown) else ""
    return render("samples", intro=intro, samples=shown)


def _assumptions(assumptions: Sequence[str]) -> Markup:
    return bullets(assumptions, intro="The guarantee assumes:") if assumptions else Markup()
