"""What the private text added, in words and as tables: the share of what is left above the best control.

Public text and the release alone already bring a model most of the way, so the share of the whole gap flatters every
algorithm. This share is over what they leave (decision 47).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from fedtext.evaluation.measures.known import measure, measures_in_document
from fedtext.evaluation.measures.measure import ABSENT, Measure, PerText, fixed
from fedtext.evaluation.wording import UNKNOWN, count, share, share_ends
from fedtext.params.conditions import CONDITIONS, PRIVATE
from fedtext.reporting.tables import table


def added_sentence(accuracy: Mapping[str, Any]) -> str:
    """Return the sentence on the share of what is left and on the worth; empty where it was not measured.

    A share without private samples above the control would be a number without a meaning: it is said in words.
    """
    lead, *_ = measures_in_document(accuracy)
    found = accuracy.get("remaining_gap", {}).get(lead.name)
    if found is None:
        return ""
    conditions, judged = accuracy["conditions"], accuracy["judged"]
    control, made = CONDITIONS[found["control"]], CONDITIONS[judged].label
    levels = {name: lead.shown(conditions[name][lead.name]) for name in (control.name, judged, PRIVATE.name)}
    if found["share"] is None:
        return (
            f"What the private text added cannot be said as a share: private samples ({levels[PRIVATE.name]}) are not "
            f"measurably better than the best control, {control.phrase} ({levels[control.name]}). The {made} come to "
            f"{levels[judged]}."
        )
    percent = f"{fixed(100 * found['share'], 0)}%"
    ends = share_ends(found)
    unclear = "" if ends == UNKNOWN or found["low"] > 0 or found["high"] < 0 else ", which may be nothing"
    within = ends if ends == UNKNOWN else f"95% interval {ends}{unclear}"
    brought = f"{percent} ({within})" if found["share"] > 0 else f"nothing ({percent}; {within})"
    return (
        f"Of what private samples add to the best control, {control.phrase}, the private text brought {brought}: "
        f"the on-device model's {lead.title} is {levels[control.name]} after the control, "
        f"{levels[judged]} after the {made} and {levels[PRIVATE.name]} after private samples."
        f"{_worth(accuracy, control.name, judged, made)}"
    )


def _worth(accuracy: Mapping[str, Any], control: str, judged: str, made: str) -> str:
    """Return the sentence on how many private samples teach as much; empty where no curve was measured."""
    found = accuracy.get("worth")
    if not found:
        return ""
    ours, theirs = (_samples(found, name) for name in (judged, control))
    return f" The {made} are worth {ours} private samples, the control {theirs}."


def _samples(found: Mapping[str, Any], name: str) -> str:
    samples = found["samples"].get(name)
    return f"more than {count(found['most'])}" if samples is None else f"about {count(samples)}"


def added_tables(accuracy: Mapping[str, Any]) -> Markup:
    """Return the table of the share by accuracy and by cross-entropy, and that of the curve of private samples."""
    found = accuracy.get("remaining_gap")
    if not found:
        return Markup()
    rows = [
        [
            measure(name).title,
            CONDITIONS[own["control"]].label,
            *(_level(measure(name), accuracy, one) for one in (own["control"], accuracy["judged"], PRIVATE.name)),
            "not above the control" if own["share"] is None else share(own),
        ]
        for name, own in found.items()
    ]
    made = CONDITIONS[accuracy["judged"]].label
    shares = table(
        "What the private text added: the share of what private samples add to the best control (95% intervals)",
        ["by", "best control", "control", made, "private samples", "of what is left"],
        rows,
    )
    return shares + _curve(accuracy)


def _level(each: Measure, accuracy: Mapping[str, Any], condition: str) -> str:
    return each.shown(accuracy["conditions"][condition].get(each.name))


def _curve(accuracy: Mapping[str, Any]) -> Markup:
    curve = accuracy.get("private_curve")
    if not curve:
        return Markup()
    lead, *_ = measures_in_document(accuracy)
    others = [measure(name) for name in accuracy["remaining_gap"] if name != lead.name]
    rows = [
        [
            count(row["texts"]),
            count(row["draws"]),
            lead.shown(row[lead.name]),
            _draws(lead, row),
            *(each.shown(row[each.name]) for each in others),
        ]
        for row in curve
    ]
    return table(
        "The on-device model after fewer and fewer private samples: the median draw",
        ["private samples", "draws", lead.noun, "lowest to highest", *(each.noun for each in others)],
        rows,
    )


def _draws(lead: PerText, row: Mapping[str, Any]) -> str:
    return ABSENT if row["draws"] == 1 else f"{lead.shown(row['low'])} to {lead.shown(row['high'])}"
