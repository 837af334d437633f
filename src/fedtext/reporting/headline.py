"""The headline of a report: its title, and sentences on what was protected, at which epsilon, and the gain.

It makes no claim that the figures do not support.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedtext.evaluation.measures.known import measures_in_document
from fedtext.evaluation.measures.measure import PerText, fixed
from fedtext.evaluation.wording import MEASURED, UNKNOWN, count, interval, scientific, spent
from fedtext.params.conditions import CONTROLS, EPS0

NEIGHBOURS = {
    "zero_out": "had any one {unit} contributed nothing",
    "add_remove": "had any one {unit} been left out or added",
    "replace_one": "had any one {unit} held other text",
}


def heading(made: str, card: Mapping[str, Any]) -> str:
    """Return the title of a report: what was made, by which algorithm, and from which text, if it depends on any."""
    source = "beside" if released_nothing(card["protection"]) else "from"
    return f"{made} by {card['algorithm']} {source} {card['corpus']}"


def released_nothing(protection: Mapping[str, Any]) -> bool:
    """Return whether the output does not depend on the protected units' data."""
    return not (protection["released"] or protection["unaccounted"])


def protection_sentence(protection: Mapping[str, Any]) -> str:
    """Return the first sentence of the report: what was protected, or that nothing of it was released."""
    unit = protection["unit"]
    if released_nothing(protection):
        return (
            f"What this run made was made without the text of the {count(protection['units'])} {unit}s: nothing was "
            "released of it."
        )
    neighbours = NEIGHBOURS[protection["adjacency"]].format(unit=unit)
    units, protects = f"{count(protection['units'])} {unit}s{_declared(protection)}", "protects"
    if protection["simulated"] or protection["unaccounted"]:
        protects = "simulates protecting" if protection["simulated"] else "was meant to protect"
    return (
        f"This run {protects} each of {units} with all of its text: what was released would be nearly as likely "
        f"{neighbours}."
    )


def _declared(protection: Mapping[str, Any]) -> str:
    """Return whose number the units' is where it was declared: a count of private text would be a release."""
    declared = protection.get("declared")
    if declared is None:
        return ""
    of_all = "" if declared == protection["units"] else f"of {count(declared)}, "
    return f" ({of_all}as you declared: nobody counted them)"


def epsilon_sentence(protection: Mapping[str, Any]) -> str:
    """Return epsilon, what voids it, what an attacker gains, and the privacy cost of all recorded releases together."""
    return _guarantee(protection) + _gain(protection) + _total(protection.get("total"), protection["unit"])


def _gain(protection: Mapping[str, Any]) -> str:
    """Return what the guarantee lets an attacker gain, where there is a guarantee."""
    void = protection["simulated"] or protection["unaccounted"] or released_nothing(protection)
    said = protection.get("attacker", "")
    return f" {said}" if said and not void else ""


def _total(total: Mapping[str, Any] | None, unit: str) -> str:
    """Return what is recorded of all runs on the same units' text, where the report has it."""
    if total is None:
        return ""
    whose, number = f"these {unit}s' text", total["releases"]
    if number == 0:
        return f" No release of {whose} is on record."
    epsilon = math.inf if total["epsilon"] is None else float(total["epsilon"])  # "infinity" too
    cost = f"ε = {spent(epsilon)}" if math.isfinite(epsilon) else "no finite ε"
    said = "It is the only release on record" if number == 1 else f"All {count(number)} releases on record"
    where = f", {count(total['elsewhere'])} of them in another data root," if total.get("elsewhere") else ""
    return f" {said} of {whose}{where}{':' if number == 1 else ' come to'} {cost}{_limit(total)}."


def _limit(total: Mapping[str, Any]) -> str:
    """Return the budget of the releases; public text, and private text without a budget, have no limit."""
    if total["public"]:
        return f"{_strained(total)}; the text is public, so releases are counted and not refused"
    budget = float(total["budget"])
    if math.isinf(budget):
        return f"{_strained(total)}; the text is private, and nothing limits what its releases cost"
    return f" of a budget of {spent(budget)}{_strained(total)}"


def _strained(total: Mapping[str, Any]) -> str:
    """Return the declaration, of several, whose budget is used up most."""
    if len(total.get("promises") or ()) < 2:
        return ""
    worst = total["promise"]
    delta = scientific(worst["delta"])
    return f", counted as one run promised it ({worst['unit']}, {worst['adjacency']}, δ = {delta})"


def _guarantee(protection: Mapping[str, Any]) -> str:
    if protection["unaccounted"]:
        return f"The run has no finite ε, because {'; '.join(protection['unaccounted'])}."
    if released_nothing(protection):
        return "It costs them no privacy, ε = 0."
    price = f"ε = {spent(protection['epsilon'])} at δ = {scientific(protection['delta'])}"
    if protection["simulated"]:
        return (
            f"The guarantee would be {price}, but the noise came from a public seed, so this run gives no protection."
        )
    return f"The guarantee is {price} for the whole run, all releases together."


def accuracy_sentence(accuracy: Mapping[str, Any]) -> str:
    """Return the third sentence: the change of the main measure, and the verdict against every scored baseline.

    A baseline that does better is mentioned first, and every verdict is given whether the measure changed or not.
    """
    measure, *_ = measures_in_document(accuracy)
    gain = accuracy["gains"][accuracy["judged"]][EPS0.name]
    better, equal, worse = _controls(measure, accuracy)
    said = _step(measure, accuracy, gain)
    if worse:
        said = f"{_listed(worse, 'and')} do better than this run: {said}"
    verdicts = [f"better than {_listed(better, 'and')}"] if better else []
    verdicts += [f"not told apart from {_listed(equal, 'and')}"] if equal else []
    if verdicts:
        said = f"{said}; that is {_listed(verdicts, 'and')}"
    elif not worse:
        said = f"{said}; no control was scored, so what the private text contributed is unknown"
    return f"{_capital(said)}."


def _step(measure: PerText, accuracy: Mapping[str, Any], gain: Mapping[str, Any]) -> str:
    """Return the change from the public model with its interval, and the share of the gap where there was a gain."""
    judged, conditions = accuracy["judged"], accuracy["conditions"]
    levels = " to ".join(measure.shown(conditions[name][measure.name]) for name in (EPS0.name, judged))
    ends = interval(measure, gain)
    step = f"{measure.change(gain['estimate'])} {measure.unit.step}".rstrip()
    change = f"{step}, {ends if ends == UNKNOWN else f'{MEASURED} {ends}'}"
    if not gain["measurable"]:
        return f"the on-device model's {measure.title} did not measurably change (from {levels}; {change})"
    went = "rose" if gain["estimate"] > 0 else "fell"
    if measure.improvement(gain["estimate"]) < 0:
        return f"the on-device model became worse: its {measure.title} {went} from {levels} ({change})"
    closed = accuracy["gap_closed"].get(judged, {}).get("share")
    of_gap = "" if closed is None else f", {fixed(100 * closed, 0)}% of the gap to training on the private text itself"
    return f"the on-device model's {measure.title} {went} from {levels} ({change}){of_gap}"


def _controls(measure: PerText, accuracy: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Return the baselines that the run is better than, those without a measurable difference, and the better ones."""
    conditions, gains = accuracy["conditions"], accuracy["gains"][accuracy["judged"]]
    verdicts: dict[int, list[str]] = {1: [], 0: [], -1: []}
    for one in CONTROLS:
        if one.name in conditions:
            gain = gains[one.name]
            verdict = math.copysign(1, measure.improvement(gain["estimate"])) if gain["measurable"] else 0
            level = measure.shown(conditions[one.name][measure.name])
            verdicts[int(verdict)].append(f"{one.phrase} ({level}, {one.epsilon.value})")
    return verdicts[1], verdicts[0], verdicts[-1]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _listed(items: Sequence[str], last: str) -> str:
    *first, end = items
    return f"{', '.join(first)} {last} {end}" if first else end
