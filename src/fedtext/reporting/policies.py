"""Win rates of policies and what a policy gives away, as a report says them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from fedtext.evaluation.measures.win_rate import WIN_RATE
from fedtext.evaluation.paired import in_order
from fedtext.params.conditions import CONDITIONS, UNTUNED
from fedtext.reporting.tables import table
from fedtext.reporting.wording import change, count, interval

Document = Mapping[str, Any]


def win_rate_sentence(found: Document) -> str:
    """How much the policy's answers win against the generator's as it was, and how much the controls' do."""
    own = found["conditions"][found["judged"]]
    others = [name for name in in_order(found["conditions"]) if name not in (found["judged"], UNTUNED.name)]
    said = [f"{CONDITIONS[name].phrase} {WIN_RATE.shown(found['conditions'][name][WIN_RATE.name])}" for name in others]
    beside = f"; beside it, {', '.join(said)}" if said else ""
    return (
        f"The policy's answers win {WIN_RATE.shown(own[WIN_RATE.name])} against those of the generator as it was (95% "
        f"interval {interval(WIN_RATE, own)}), ties one half, over {count(found['prompts'])} held-out public prompts, "
        f"says {found['judge']}{beside}."
    )


def win_rate_table(found: Document) -> Markup:
    """Every policy against the generator as it was, and the run's own policy against every other one."""
    names, judged = in_order(found["conditions"]), found["judged"]
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
        "wins against the generator as it was",
        "95% interval",
        "the policy's gain on it",
        "the policy wins against it",
        "words an answer",
        "illegible",
    ]
    title = f"Answers to {count(found['prompts'])} held-out public prompts, ties one half, judged by {found['judge']}"
    return table(title, headers, rows, strong=[names.index(judged)])


def _what_follows(found: Document) -> str:
    """From an AUC above its ceiling: a leak, unless what tells a member may be said by units beside it."""
    if found["alone"]:
        return "that is more than was paid for, so something leaks"
    return (
        "that is more, and nothing follows from it: other units of a member's client or prompt were trained on, "
        "and no ε bounds what they tell of it"
    )


def membership_sentence(found: Document) -> str:
    """How well the policy tells its pairs from others, beside what the budget allows."""
    auc = f"{found['auc']:.3f} (95% interval {found['low']:.3f} to {found['high']:.3f})"
    most = "no finite ε bounds it" if found["ceiling"] is None else f"the budget allows {found['ceiling']:.3f}"
    leak = f"; {_what_follows(found)}" if found["above"] else ""
    return (
        f"Whoever has the policy tells {count(found['members'])} pairs of training clients from "
        f"{count(found['others'])} of test clients with an AUC of {auc}, where 0.5 is guessing; {most}{leak}. "
        "No ε covers this figure: it was measured on the protected pairs themselves."
    )
