"""Scorecard, figure and page of synthetic preference pairs, win rates of policies, and membership inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from fedtext.evaluation.cost import cost_rows
from fedtext.evaluation.measures.known import measures_in_document
from fedtext.evaluation.measures.measure import PerText
from fedtext.evaluation.measures.preferences import PEOPLE_WIN_RATE, WIN_RATE
from fedtext.evaluation.paired import ordered_conditions
from fedtext.evaluation.wording import change, count, interval
from fedtext.federation.communication import Cost
from fedtext.params.conditions import CONDITIONS, LONGER, POLICY, PREFERENCES, SHORTER, UNTUNED
from fedtext.reporting.figure_style import SYNTHETIC, styled
from fedtext.reporting.glossary import Terms
from fedtext.reporting.headline import epsilon_sentence, heading, protection_sentence, released_nothing
from fedtext.reporting.html import FIGURES
from fedtext.reporting.page import bullets, figure_html, glossary, page
from fedtext.reporting.run_facts import facts_table
from fedtext.reporting.scorecard import Protection, strict
from fedtext.reporting.tables import cost_table_html, protection_table, table
from fedtext.reporting.templates import render

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure


Document = Mapping[str, Any]


def win_rate_sentence(found: Document) -> str:
    """Return the sentence on the win rates of the policy and of the baselines against the untuned model."""
    own = found["conditions"][found["judged"]]
    beside = _beside(WIN_RATE, found, _others(found, found["judged"], UNTUNED.name))
    return (
        f"The policy's answers win {WIN_RATE.shown(own[WIN_RATE.name])} against those of the model as it was (95% "
        f"interval {interval(WIN_RATE, own)}), ties one half, over {count(found['prompts'])} held-out public prompts, "
        f"says {found['judge']}{beside}."
    )


def win_rate_table(found: Document) -> Markup:
    """Return the table of every policy against the untuned model, and of the run's policy against the others."""
    names, judged = ordered_conditions(found["conditions"]), found["judged"]
    gains = found["gains"].get(judged, {})
    rows = []
    for name in names:
        own, rate = found["conditions"][name], found["against"].get(name)
        rows.append(
            [
                CONDITIONS[name].title,
                WIN_RATE.shown(own[WIN_RATE.name]),
                interval(WIN_RATE, own) if name != UNTUNED.name else "",
                change(WIN_RATE, gains[name]) if name in gains else "",
                f"{WIN_RATE.shown(rate['estimate'])} ({interval(WIN_RATE, rate)})" if rate else "",
                f"{own['words']:.0f}",
                f"{100 * own['illegible']:.0f}%",
            ]
        )
    headers = [
        "answers of",
        "wins against the model as it was",
        "95% interval",
        "the policy's gain on it",
        "the policy wins against it",
        "words an answer",
        "illegible",
    ]
    title = f"Answers to {count(found['prompts'])} held-out public prompts, ties one half, judged by {found['judge']}"
    return table(title, headers, rows, strong=[names.index(judged)])


def people_sentence(found: Document) -> str:
    """Return the sentence on the win rates of the policy, and of the others, against the answers that people chose."""
    own, others = found["conditions"][found["judged"]], _others(found, found["judged"])
    rate = PEOPLE_WIN_RATE
    return (
        f"Against the answers that people chose the policy's win {rate.shown(own[rate.name])} (95% interval "
        f"{interval(rate, own)}), over {count(found['prompts'])} prompts of test pairs{_beside(rate, found, others)}."
    )


def people_table(found: Document) -> Markup:
    """Return the table of every policy, and of the model as it was, against the answers that people chose."""
    names, rate = ordered_conditions(found["conditions"]), PEOPLE_WIN_RATE
    rows = [
        [
            CONDITIONS[name].title,
            rate.shown((own := found["conditions"][name])[rate.name]),
            interval(rate, own),
            f"{own['words']:.0f}",
            f"{100 * own['illegible']:.0f}%",
        ]
        for name in names
    ]
    title = (
        f"Answers to the prompts of {count(found['prompts'])} test pairs against those that people chose, of "
        f"{found['words']:.0f} words on average, ties one half, judged by {found['judge']}"
    )
    headers = ["answers of", rate.title, "95% interval", "words an answer", "illegible"]
    return table(title, headers, rows, strong=[names.index(found["judged"])])


def _others(found: Document, *left_out: str) -> list[str]:
    return [name for name in ordered_conditions(found["conditions"]) if name not in left_out]


def _beside(rate: PerText, found: Document, others: Sequence[str]) -> str:
    said = [f"{CONDITIONS[name].phrase} {rate.shown(found['conditions'][name][rate.name])}" for name in others]
    return f"; beside it, {', '.join(said)}" if said else ""


def _what_follows(found: Document) -> str:
    """Return what an AUC above its bound means: a leak, unless other units' data may reveal a member."""
    if found["alone"]:
        return "that is above the bound of the privacy budget, so something leaks"
    return (
        "that is more, and nothing follows from it: other units of a member's client or prompt were trained on, "
        "and no ε bounds what they tell of it"
    )


def membership_sentence(found: Document) -> str:
    """Return the sentence on how well the policy tells its training pairs from others, and the bound of the budget."""
    auc = f"{found['auc']:.3f} (95% interval {found['low']:.3f} to {found['high']:.3f})"
    most = "no finite ε bounds it" if found["ceiling"] is None else f"the budget allows {found['ceiling']:.3f}"
    leak = f"; {_what_follows(found)}" if found["above"] else ""
    return (
        f"Whoever has the policy tells {count(found['members'])} pairs of training clients from "
        f"{count(found['others'])} of test clients with an AUC of {auc}, where 0.5 is guessing; {most}{leak}. "
        "No ε covers this figure: it was measured on the protected pairs themselves."
    )


SHOWN = 8
NOT_MEASURED = "No figure of held-out private pairs was computed: the test clients have no budget for one."

OF_PAIRS = (
    "The pairs' prompts are public and their answers a generator's: only which of them is better was learned from "
    "private pairs."
)
OF_UNLEARNED = "The pairs' prompts are public and their answers a generator's: nothing was learned from private pairs."
OF_POLICY = "The policy was trained on private prompts and answers themselves: at the run's ε, and for no other model."
UNANSWERED = "What a policy's answers are worth is not said here."
JUDGED = "A win rate is worth what its judge is worth, and is over prompts: it does not cover the draw of the training."


def preference_scorecard(
    *,
    corpus: str,
    protection: Protection,
    cost: Cost,
    pairs: int | None,
    terms: Terms,
    accuracy: Mapping[str, Any] | None,
    win_rates: Mapping[str, Any] | None = None,
    people: Mapping[str, Any] | None = None,
    membership: Mapping[str, Any] | None = None,
    purity: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the scorecard, with the keys of every other one.

    `accuracy` is None where no held-out pair was evaluated. `win_rates` (`evaluation.win_rate.compared_answers`),
    `people` (`compared_with_people`) and `membership` are None where no policy was judged; `purity` where the kinds of
    annotators are not known. `pairs` is the number of
    synthetic pairs; None: a policy was trained on the private ones.
    """
    guarded, looked_at = protection.model_dump(), any((accuracy, people, membership))
    card = {
        "headline": [
            protection_sentence(guarded),
            epsilon_sentence(guarded),
            *([] if accuracy is None else [accuracy_sentence(accuracy)]),
            *([] if looked_at else [NOT_MEASURED]),
            *([] if win_rates is None else [win_rate_sentence(win_rates)]),
            *([] if people is None else [people_sentence(people)]),
            *([] if membership is None else [membership_sentence(membership)]),
        ],
        "notes": terms.notes() if looked_at else terms.notes()[1:],
        "algorithm": cost.algorithm,
        "corpus": corpus,
        "protection": guarded,
        "terms": terms.model_dump(),
        "synthetic_texts": pairs or 0,
        "accuracy": accuracy,
        "distribution": None,
        "texts": None,
        "classification": None,
        "win_rates": win_rates,
        "people": people,
        "membership": membership,
        "purity": purity,
        "cost": cost_rows([cost]),
        "limits": [
            OF_POLICY if pairs is None else OF_UNLEARNED if released_nothing(guarded) else OF_PAIRS,
            UNANSWERED if win_rates is None else JUDGED,
        ],
    }
    return strict(card)  # type: ignore[no-any-return]


def accuracy_sentence(accuracy: Mapping[str, Any]) -> str:
    """Return the sentence on the share of held-out pairs ordered correctly, and on what length alone would achieve."""
    (measure, *_), judged = measures_in_document(accuracy), accuracy["judged"]
    said = {name: measure.shown(accuracy["conditions"][name][measure.name]) for name in (judged, *_LENGTHS)}
    own = accuracy["conditions"][judged]
    return (
        f"The {CONDITIONS[judged].label} orders {said[judged]} of held-out private pairs as their annotators did (95% "
        f"interval {interval(measure, own)}); taking the longer answer {said[LONGER.name]}, the shorter one "
        f"{said[SHORTER.name]}."
    )


_LENGTHS = (LONGER.name, SHORTER.name)


def gap_histogram(gaps: Float[np.ndarray, " pair"]) -> Figure:
    """Draw the score gaps between the best and the worst answer, over the pairs that were kept."""
    from plotly.graph_objects import Figure, Histogram

    figure = Figure(Histogram(x=gaps, nbinsx=30, marker={"color": SYNTHETIC}))
    figure.update_xaxes(title_text="score of the chosen answer less that of the rejected one")
    figure.update_yaxes(title_text="pairs")
    return styled(figure, "Score gaps of the pairs")


def render_preferences(
    card: Mapping[str, Any],
    figures: Mapping[str, Figure],
    pairs: pd.DataFrame | None,
    facts: Mapping[str, Any],
    answers: pd.DataFrame | None = None,
) -> str:
    """Render the page of a `preference_scorecard`; pairs, if there are any, are public prompts with released choices.

    `answers` are a policy's: `prompt`, public and held out, the `policy`'s answer, and the `untuned` model's.
    """
    drawn = {name: figure_html(name, figures[name], FIGURES[name][1]) for name in FIGURES if name in figures}
    accuracy = (
        Markup() if card["accuracy"] is None else drawn.get("accuracy", Markup()) + accuracy_table(card["accuracy"])
    )
    accuracy += Markup() if card["purity"] is None else purity_table(card["purity"])
    priced = Markup().join(drawn[name] for name in ("privacy", "trade_off") if name in drawn)
    privacy = priced + protection_table(card["protection"], card["terms"]["tested"])
    judged = Markup() if card["win_rates"] is None else win_rate_table(card["win_rates"])
    judged += Markup() if card["people"] is None else people_table(card["people"])
    sections = {
        "accuracy": ("What was learned", accuracy),
        "answers": ("The policy's answers", judged + (Markup() if answers is None else _answered(answers))),
        "samples": ("Preference pairs", Markup() if pairs is None else drawn.get("gaps", Markup()) + _shown(pairs)),
        "privacy": ("Privacy", privacy),
        "cost": ("Cost", cost_table_html(card["cost"])),
        "limits": ("Limits", bullets(card["limits"])),
        "made": ("How it was made", facts_table(facts)),
    }
    text = " ".join([*card["headline"], *card["notes"], *(body for _, body in sections.values())])
    sections["words"] = ("Words", glossary(text))
    title = heading((POLICY if pairs is None else PREFERENCES).made, card)
    return page(title, card["headline"], sections, notes=card["notes"], drawn=bool(drawn))


def accuracy_table(accuracy: Mapping[str, Any]) -> Markup:
    """Return the table of held-out pairs ordered correctly, by the scorer or policy and by length, with the gains."""
    measures = measures_in_document(accuracy)
    lead, names = measures[0], [name for name in CONDITIONS if name in accuracy["conditions"]]
    judged = accuracy["judged"]
    gains = accuracy["gains"].get(judged, {})
    rows = [
        [
            CONDITIONS[name].title,
            *[each.shown(accuracy["conditions"][name][each.name]) for each in measures],
            interval(lead, accuracy["conditions"][name]),
            change(lead, gains[name]) if name in gains else "",
        ]
        for name in names
    ]
    headers = ["chosen by", *[each.column for each in measures], "95% interval", "the gain on it"]
    return table("Held-out private pairs", headers, rows, strong=[names.index(judged)])


def purity_table(found: Document) -> Markup:
    """Return the table of clusters with the shares of the simulated annotators' kinds among their held-out pairs."""
    kinds = sorted({kind for own in found["clusters"] for kind in own["share"]})
    rows = [
        [str(number), count(own["pairs"]), *(f"{100 * own['share'].get(kind, 0.0):.1f}%" for kind in kinds)]
        for number, own in enumerate(found["clusters"], start=1)
    ]
    title = (
        f"Clusters and annotators: {100 * found['purity']:.1f}% of {count(found['pairs'])} held-out pairs are of their "
        f"cluster's most frequent kind, {100 * found['largest']:.1f}% without clusters, {100 * found['chance']:.1f}% "
        "where kinds are dealt to clusters of these sizes by chance"
    )
    return table(title, ["cluster", "pairs", *(f"of {kind} annotators" for kind in kinds)], rows)


def _answered(answers: pd.DataFrame) -> Markup:
    """Return prompts evenly spaced in the list, not selected, so that a doubtful win is visible."""
    spread = answers.iloc[:: -(-len(answers) // SHOWN)]
    intro = (
        f"{len(spread)} of {count(len(answers))} held-out prompts, evenly spaced: the policy's answer, the model's "
        "as it was."
    )
    return _quoted(intro, spread[["prompt", "policy", "untuned"]])


def _shown(pairs: pd.DataFrame) -> Markup:
    """Return the pairs with the largest gaps first."""
    first = pairs.sort_values("gap", ascending=False, kind="stable").head(SHOWN)
    intro = f"{len(first)} of {count(len(pairs))} pairs: a public prompt, the chosen answer, the rejected one."
    return _quoted(intro, first[["prompt", "chosen", "rejected"]])


def _quoted(intro: str, rows: pd.DataFrame) -> Markup:
    """Return a list of prompts, each with its two answers."""
    return render("answers", intro=intro, rows=rows.to_numpy().tolist())
