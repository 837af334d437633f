"""A plan in words: one line for a console, and a page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fedtext.planning.plan import Plan, Step, gigabytes
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.signal_to_noise import signal_line
from fedtext.privacy.wording import table
from fedtext.system.duration import duration

THOUSAND, MILLION = 10**3, 10**6


def plan_line(plan: Plan) -> str:
    """Return the plan in one line."""
    parts = [
        *map(_released, plan.ledgers),
        f"{_count(plan.texts, 'text')} to be written",
        f"{_short(plan.tokens)} tokens",
        f"{gigabytes(plan.memory)} of memory",
        f"{gigabytes(plan.disk)} of disk",
        _when(plan),
    ]
    short = "; not all of it fits here" if plan.misfits else ""
    return f"the plan: {', '.join(parts)}{short}"


def _released(ledger: Ledger) -> str:
    """Return the number and the cost of a ledger's planned releases."""
    planned = ledger.planned or ()
    whose = " of test clients' text" if ledger.part == "test" else ""
    if not planned:
        return f"no release{whose}"
    return f"{_count(len(planned), 'release')}{whose} at ε = {_planned(ledger).spent():.3g}"


def _when(plan: Plan) -> str:
    if math.isnan(plan.seconds):
        return f"no time for {plan.device.name} yet, which `kedro plan` measures"
    fitting = " for what fits" if plan.misfits else ""
    return f"about {duration(plan.seconds)}{fitting} on {plan.device.name}"


def plan_page(plan: Plan) -> str:
    """Return the plan as a page in Markdown."""
    return "\n".join([f"# A plan of {plan.job}", "", *_lines(plan), ""])


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{plan_line(plan).removeprefix('the plan: ')}."
    yield ""
    if plan.misfits:
        yield "**This does not fit here:**"
        yield ""
        yield from (f"- {one}." for one in plan.misfits)
    else:
        yield f"It fits here: {plan.device.name} has {gigabytes(plan.device.memory)} of memory."
    yield ""
    yield "## Releases"
    yield ""
    if any(ledger.planned for ledger in plan.ledgers):
        yield from table(["release", "times", "noise over sensitivity", "sampling", "together"], [*_release_rows(plan)])
    else:
        yield "Nothing private is released."
    for ledger in plan.ledgers:
        if (line := signal_line(ledger)) is not None:
            yield ""
            yield f"{line}."
    yield ""
    yield "## Steps"
    yield ""
    yield from table(["stage", "step", "texts", "tokens", "memory", "disk", "time"], [*_step_rows(plan)])
    yield ""
    yield "## What is assumed"
    yield ""
    yield from _assumptions(plan)


def _planned(ledger: Ledger) -> Ledger:
    return ledger.model_copy(update={"releases": ledger.planned or ()})


def _release_rows(plan: Plan) -> Iterator[list[str]]:
    for ledger in plan.ledgers:
        names = dict.fromkeys(one.name for one in ledger.planned or ())
        for name in names:
            own = [one for one in ledger.planned or () if one.name == name]
            spent = ledger.model_copy(update={"releases": tuple(own)}).spent()
            times = sum(one.steps * one.rounds for one in own)
            first = own[0]
            yield [name, f"{times:,}", f"{first.noise_multiplier:.4g}", first.sampling, f"ε = {spent:.4g}"]


def _step_rows(plan: Plan) -> Iterator[list[str]]:
    for stage, steps in plan.stages:
        for step in steps:
            yield [stage, f"{step.node}{f' ({step.times} times)' if step.times > 1 else ''}", *_cells(step)]


def _cells(step: Step) -> list[str]:
    texts = f"{step.texts:,}{f' ({step.served:,} by a server)' if step.served else ''}" if step.texts else ""
    memory = gigabytes(step.memory) if step.memory else ""
    disk = gigabytes(step.disk) if step.disk else ""
    when = "does not fit" if step.remedy else duration(step.seconds)
    return [texts, _short(step.tokens) if step.tokens else "", memory, disk, when]


def _assumptions(plan: Plan) -> Iterator[str]:
    yield "- A sample has the share `plan.filled` of `chunking.length`, and a written one of `max_new_tokens`."
    yield "- A client has `plan.samples` samples. Lists and answers are as long as `max_new_tokens` allows."
    yield f"- Times are {plan.device.name}'s, measured for a few seconds with a part of each model."
    yield "- A server's time is not known, nor that of steps that use no model."
    if not plan.counted:
        yield "- The population is assumed: it is counted from a corpus that the generator writes itself."
    for name, source in plan.tabled.items():
        yield f"- The architecture of `{name}` ({source}) is that of a table, since no file here names it."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _short(number: float) -> str:
    for unit, name in ((MILLION, " million"), (THOUSAND, " thousand")):
        if number >= unit:
            return f"{float(f'{number / unit:.3g}'):g}{name}"
    return f"{number:.0f}"
