"""What is said before a run, and in its reports, of signal and noise: one line, with remedies where noise drowns units.

The remedies are the accountant's: with all of the plan's noise made smaller by one factor, what epsilon would be; and
with more units asked at the same rate, which changes no privacy cost, how many it takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.signal import TOLERABLE, Signal
from fedtext.privacy.wording import table

MOST_EPSILON = 20.0  # a larger epsilon bounds next to nothing, and is no remedy


def loudest_noise(ledger: Ledger) -> Signal | None:
    """Return the releases with the most noise for their signal; None where nothing is released."""
    return max(ledger.signals, key=lambda signal: signal.ratio / TOLERABLE[signal.use], default=None)


def drowns(ledger: Ledger) -> bool:
    """Return whether the noise is beyond what is tolerable."""
    worst = loudest_noise(ledger)
    return worst is not None and worst.drowns


def signal_line(ledger: Ledger) -> str | None:
    """Return a line on signal and noise of the plan, with remedies if the noise drowns the units; None if no release.

    It is computed from public values alone.
    """
    worst = loudest_noise(ledger)
    if worst is None:
        return None
    declared = ledger.declaration
    strength = f"ε = {declared.epsilon:g}" if declared.noise_multiplier is None else "the declared noise"
    said = f"{worst.population:,} {worst.unit}s at {strength}: {_compared(worst)}"
    if not drowns(ledger):
        return said
    return f"{said}; {_remedies(ledger, worst)}{_under_secure(worst, declared)}"


def _remedies(ledger: Ledger, worst: Signal) -> str:
    """Return how many units, and which epsilon, would make the noise tolerable."""
    wanted = TOLERABLE[worst.use]
    number = _rounded_up(worst.population_for(wanted))
    units = f"{number:,.0f} {worst.unit}s{_declared_for(number, worst, ledger.declaration)}"
    if worst.asked < worst.population:
        units += f", {worst.asked * number / worst.population:,.0f} of them at a time"
    needed = epsilon_for(ledger, worst, wanted)
    strength = f", or ε = {_rounded_up(needed):g}," if needed <= MOST_EPSILON else ""
    return f"{units}{strength} would bring it to {'a quarter' if wanted < 1 else 'as much as they can say'}"


def _declared_for(units: float, worst: Signal, declared: Privacy) -> str:
    """Return the population to declare for so many asked units, where some are held out of the declared one."""
    if declared.population is None or declared.population <= worst.population:
        return ""
    return f" (privacy.population={_rounded_up(units * declared.population / worst.population):.0f})"


def epsilon_for(ledger: Ledger, signal: Signal, ratio: float) -> float:
    """Compute epsilon of the plan with all its noise scaled by one factor, so that `signal` has this ratio."""
    factor = ratio / signal.ratio
    scaled = [one.model_copy(update={"noise_stddev": one.noise_stddev * factor}) for one in ledger.planned or ()]
    return ledger.model_copy(update={"releases": tuple(scaled)}).spent()


def signal_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """Return a row of the privacy report for the releases of each name."""
    return [{**signal.model_dump(), "ratio": signal.ratio} for signal in ledger.signals]


def signal_lines(rows: Sequence[dict[str, Any]], line: str | None) -> list[str]:
    """Return the Markdown section on signal and noise; empty where nothing is released."""
    if line is None:
        return []
    head = ["releases", "used as", "asked", "numbers", "noise over clip norm", "steps", "noise over signal"]
    cells = [
        [
            row["release"],
            row["use"],
            f"{row['asked']:,.6g}",
            f"{row['numbers']:,}",
            f"{row['noise']:.4g}",
            f"{row['steps']:,}",
            f"{row['ratio']:.2g}",
        ]
        for row in rows
    ]
    return ["", "## Signal and noise", "", f"{line}.", "", *table(head, cells)]


def _compared(signal: Signal) -> str:
    """Return the comparison of noise and signal in words."""
    if signal.use == "votes":
        return (
            f"the noise is {_two_digits(signal.noise)} votes a candidate, so one of {signal.numbers:,} stands out if "
            f"it gets {_two_digits(signal.ratio)} times all votes"
        )
    ratio = f"the noise is {_two_digits(signal.ratio)} times the most that they can say"
    if signal.use == "vector":
        return ratio
    return f"{ratio} in {signal.steps:,} steps ({_two_digits(signal.of_one_step)} times in one)"


def _two_digits(number: float) -> str:
    """Format with two digits, without an exponent."""
    return f"{float(f'{number:.2g}'):,.12g}"


def _under_secure(signal: Signal, declared: Privacy) -> str:
    """Return what secure aggregation would do, where every data holder adds all of the noise."""
    if signal.draws <= 1:
        return ""
    once = signal.ratio / math.sqrt(signal.draws * declared.honest_fraction)
    return f"; privacy.aggregation=secure would make it {once:.2g}"


def _rounded_up(number: float) -> float:
    """Round up to two digits: less would not be enough."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return float(f"{math.ceil(number / unit * (1 - 1e-9)) * unit:.2g}")
