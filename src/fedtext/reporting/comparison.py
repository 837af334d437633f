"""Compare scorecards of several algorithms and seeds: means over seeds, paired differences, verdicts on claims.

Every mean has Student's t interval over the seeds, every difference is paired by seed. The split of the clients is the
same throughout, so intervals cover noise, sampling and training, not the sampling of the clients; each run's own report
covers that. Claims are tested one by one, without a correction for their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from fedtext.evaluation.cost import cost_rows, with_seconds
from fedtext.evaluation.intervals import Interval, mean_interval, paired_difference
from fedtext.evaluation.measures.distances import FID, FID_CHOSEN, FID_REJECTED, MEDIAN_DISTANCE
from fedtext.evaluation.measures.known import MEASURES, measure, measures_in_document
from fedtext.evaluation.measures.measure import Direction, Measure, OnHeldOut
from fedtext.evaluation.measures.preferences import DOCUMENT as WIN_RATES
from fedtext.evaluation.wording import count, spent
from fedtext.federation.communication import Cost
from fedtext.params.compare import Claim, Claims
from fedtext.params.conditions import BESIDE, CONDITIONS, EPS0, PRIVATE
from fedtext.system.errors import InputError

BySeed = dict[int, float]
Scored = tuple[float | None, ...]  # a condition in one run
REPRODUCED, REFUTED, UNDECIDED = "reproduced", "not reproduced", "undecided at this size"
CURVES = (FID.name, MEDIAN_DISTANCE.name, FID_CHOSEN.name, FID_REJECTED.name)


class Run(NamedTuple):
    """One entry with one seed, from its scorecard and its privacy report; `released` are digests."""

    entry: str
    algorithm: str
    seed: int
    params: dict[str, Any]
    card: dict[str, Any]
    privacy: dict[str, Any]
    released: list[str]

    def value(self, measure: Measure, condition: str | None = None) -> float | None:
        """Return a measure of a condition, by default the run's own output; None where it was not computed."""
        document = self.card.get(measure.HOME[0]) or {}
        return measure.within(self.card, condition or document.get("judged") or self.judged)

    @property
    def led(self) -> Mapping[str, Any]:
        """The document with the run's main measure: held-out accuracies, or, where there are none, win rates.

        Raises:
            ValueError: it has neither.
        """
        document: Mapping[str, Any] | None = self.card["accuracy"] or self.card.get(WIN_RATES)
        if document is None:
            raise InputError(
                f"{self.entry} with seed {self.seed} has no figure to compare: declare the corpus public, or name a "
                "judge (policies.judge=model)",
                code="nothing-to-compare",
                value=self.entry,
            )
        return document

    @property
    def judged(self) -> str:
        """The condition that evaluates the run's own output."""
        return str(self.led["judged"])

    def change(self, measure: Measure, start: str, end: str | None = None) -> float | None:
        """Return the improvement from one condition to another; None where one was not scored."""
        before, after = self.value(measure, start), self.value(measure, end)
        return None if before is None or after is None else measure.improvement(after - before)

    @property
    def share_of_gap(self) -> float | None:
        """The share of the whole gap that it closes; None where it is undefined, or the gap is within noise."""
        share: float | None = self.led["gap_closed"].get(self.judged, {}).get("share")
        return share

    def share_of_what_is_left(self, measure: Measure) -> float | None:
        """Return the share of what is left above the best baseline; None where it is undefined or was not measured."""
        found = self.led.get("remaining_gap", {}).get(measure.name)
        share: float | None = found["share"] if found else None
        return share


def compare_runs(runs: Sequence[Run], claims: Claims) -> dict[str, Any]:
    """Compute the whole comparison, ready for JSON.

    Returns:
        `corpus`, `seeds`; `measures`: names, the main one first; `entries`: name -> algorithm, params, epsilon,
        intervals of the `measures`, of the gain over the public model, the gap closed and the remaining gap closed,
        and curves by round;
        `conditions`: name -> `condition`, `of` (entries, where they disagree on it), epsilon and intervals of the
        `measures`; `claims`; `simulated`: whether any noise came
        from a public seed; `public`: whether the text is, for every run; `fid_sizes`: texts a side of the runs' FIDs.
        At more than one size distances do not compare and are left out.
    """
    sizes = sorted({run.card["distribution"]["bias"]["size"] for run in runs if _bias(run)})
    if len(sizes) > 1:
        runs = [run._replace(card={**run.card, "distribution": None}) for run in runs]
    entries = {name: [run for run in runs if run.entry == name] for name in dict.fromkeys(run.entry for run in runs)}
    lead, *_ = measures_in_document(runs[0].led)
    measures = list(dict.fromkeys((lead, *_asked(claims.measures, runs))))
    return {
        "corpus": runs[0].card["corpus"],
        "seeds": sorted({run.seed for run in runs}),
        "measures": [each.name for each in measures],
        "entries": {name: _entry(own, lead, measures) for name, own in entries.items()},
        "conditions": _conditions(runs, lead, measures),
        "claims": evaluate_claims(entries, claims),
        "simulated": any(run.card["protection"]["simulated"] for run in runs),
        "public": all((run.card["protection"]["total"] or {}).get("public", False) for run in runs),
        "fid_sizes": sizes,
    }


def main_measure(comparison: Mapping[str, Any]) -> Measure:
    """Return the main measure of the runs."""
    return measure(comparison["measures"][0])


def evaluate_claims(entries: Mapping[str, Sequence[Run]], claims: Claims) -> dict[str, dict[str, Any]]:
    """Test each claim whose sides were both run, by differences paired by seed.

    Returns:
        By name, the claim and `measured`: by the name of the measure the interval of the difference of `better` and
        `worse`, positive where `better` is better, and its `verdict`; for a claim of `alike` the `tolerance` as well,
        None where no model was trained on the private text.
    """
    found = {}
    for name, claim in claims.judged.items():
        own = [run for side in (claim.better, claim.worse) for run in entries.get(side, ())]
        asked = _asked(claim.measures or claims.measures, own)
        differences = {each: _difference(each, claim, entries) for each in asked if _can_judge(each, claim)}
        measured = {
            each.name: _judged(each, claim, difference, entries[claim.entry], claims.margin)
            for each, difference in differences.items()
            if difference is not None
        }
        if measured:
            found[name] = {**claim.model_dump(), "measured": measured}
    return found


def _asked(names: Sequence[str], runs: Sequence[Run]) -> list[Measure]:
    """Return the named measures; without names all that a run has of its own output."""
    if names:
        return [measure(name) for name in names]
    ranks = [each for run in runs for each in measures_in_document(run.led)]
    known = dict.fromkeys((*ranks, *MEASURES))
    return [each for each in known if any(run.value(each) is not None for run in runs)]


def _can_judge(each: Measure, claim: Claim) -> bool:
    """Return whether a claim can be tested by this measure; `alike` needs a gap, which only held-out measures have."""
    return claim.relation == "more" or isinstance(each, OnHeldOut)


def _judged(each: Measure, claim: Claim, difference: Interval, runs: Sequence[Run], margin: float) -> dict[str, Any]:
    if claim.relation == "more":
        return {**difference._asdict(), "verdict": verdict(claim, difference, None)}
    gaps = [gap for run in runs if (gap := run.change(each, EPS0.name, PRIVATE.name)) is not None]
    tolerance = margin * mean_interval(gaps).mean if gaps else None
    return {**difference._asdict(), "tolerance": tolerance, "verdict": verdict(claim, difference, tolerance)}


def verdict(claim: Claim, difference: Interval, tolerance: float | None) -> str:
    """Return the verdict on a claim from the interval of the difference; a single seed or a missing gap is undecided.

    Without a condition trained on the private text (`tolerance` None) the gap is unknown, so nothing is called alike.
    """
    low, high = difference.low, difference.high
    if low is None or high is None:
        return UNDECIDED
    if claim.relation == "more":
        return REPRODUCED if low > 0 else REFUTED if high < 0 else UNDECIDED
    if tolerance is None or tolerance <= 0:
        return UNDECIDED
    if -tolerance <= low and high <= tolerance:
        return REPRODUCED
    return REFUTED if high < -tolerance or low > tolerance else UNDECIDED


def measured_costs(timed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of Table 2: each entry's exchanges as counted, and seconds as measured, means over its seeds.

    `timed` has one document a run: `entry`, `units`, `cost` (the run's row, as its scorecard has it), and seconds by
    node, `clients` and `server`.
    """
    rows = []
    for name in dict.fromkeys(run["entry"] for run in timed):
        own = [
            with_seconds(_cost(run["cost"]), units=run["units"], clients=run["clients"], server=run["server"])
            for run in timed
            if run["entry"] == name
        ]
        means = {key: _mean([getattr(row, key) for row in own]) for key in ("client_seconds", "server_seconds")}
        rows.append(own[0].model_copy(update={"method": name, **means}))
    return cost_rows(rows)


def privacy_cost_sentence(price: Mapping[str, Any], delta: float, what: str, *, simulated: bool = False) -> str:
    """Return the sentence on the privacy cost of publishing `what` together (`privacy.composition.compose_runs`)."""
    if price["epsilon"] is None:
        return f"Publishing {what} together has no finite ε: {price['reason']}."
    if price["runs"] == 0:
        return (
            f"Publishing {what} together costs nobody anything: none of them released anything of the text to protect."
        )
    cost = f"{'would cost' if simulated else 'costs'} ε = {spent(price['epsilon'])} at δ = {delta:g}"
    sets = "there is one set of releases, whoever used it"
    if price["runs"] > 1:
        sets = f"{price['runs']} different sets of releases of the same text compose"
        sets += ", whatever each run's own report says"
    public = "; but noise came from a public seed, so nobody is protected" if simulated else ""
    return f"Publishing {what} together {cost}: {sets}{public}."


def figures_cost_sentence(runs: Sequence[Run], what: str) -> str | None:
    """Return the sentence on what publishing the figures of `what` costs the test units; None if they are exact.

    Each run prices its own figures, in `terms.tested` of its scorecard. Their sum bounds the cost of all: two runs that
    asked the same are not told apart.
    """
    tested = [found for run in runs if (found := run.card["terms"]["tested"])]
    if not tested:
        return None
    simulated = any(one["simulated"] for one in tested)
    units, delta = max(one["units"] for one in tested), sum(one["delta"] for one in tested)
    cost = f"{'would cost' if simulated else 'costs'} each of about {count(units)} test {tested[0]['unit']}s"
    epsilon = spent(sum(one["epsilon"] for one in tested))
    return (
        f"Publishing the figures of {what} together {cost} at most ε = {epsilon} at δ = {delta:g}: the prices that the "
        "runs' own reports tell, added up."
    )


def _entry(runs: Sequence[Run], lead: Measure, measures: Sequence[Measure]) -> dict[str, Any]:
    gains = [run.change(lead, EPS0.name) for run in runs]
    shares = [share for run in runs if (share := run.share_of_gap) is not None]
    left = [share for run in runs if (share := run.share_of_what_is_left(lead)) is not None]
    return {
        "algorithm": runs[0].algorithm,
        "name": runs[0].card["algorithm"],
        "params": runs[0].params,
        "made": runs[0].judged,
        "epsilon": _largest(runs),
        "delta": runs[0].card["protection"]["delta"],
        "units": runs[0].card["protection"]["units"],
        "measures": {each.name: _interval([run.value(each) for run in runs]) for each in measures},
        "gain": _interval(gains),
        # an average of shares only where every seed has a measurable gap to close: over one within noise a share may
        # be anything
        "gap_closed": _interval(shares) if len(shares) == len(runs) else None,
        "remaining_gap": _interval(left) if len(left) == len(runs) else None,
        "curves": _curves(runs),
    }


def _conditions(runs: Sequence[Run], lead: Measure, measures: Sequence[Measure]) -> dict[str, dict[str, Any]]:
    """Return each condition with its epsilon and measures, from the first run of a seed that has it.

    Entries may disagree on one: each release has public texts that match it, each generator writes texts of its own.
    Then every other version stands beside the first, and `of` names the entries of each; else it is empty.
    """
    found = {}
    for name in BESIDE:
        own = [run for run in runs if any(run.value(each, name) is not None for each in (lead, *measures))]
        versions = _versions(own, partial(_as_scored, condition=name, measures=(lead, *measures)))
        for version in versions:
            entries = list(dict.fromkeys(run.entry for run in version))
            first = list({run.seed: run for run in reversed(version)}.values())
            values = {each.name: _interval([run.value(each, name) for run in first]) for each in measures}
            found[name if name not in found else f"{name}_of_{entries[0]}"] = {
                "condition": name,
                "of": entries if len(versions) > 1 else [],
                "epsilon": CONDITIONS[name].spent(_largest(first)),
                "measures": values,
            }
    return found


def _as_scored(run: Run, condition: str, measures: Sequence[Measure]) -> Scored:
    """Return a condition's epsilon and values in one run; None is what it did not measure."""
    spent = CONDITIONS[condition].spent(_largest([run]))
    return (math.inf if spent is None else spent, *(run.value(each, condition) for each in measures))


def _versions(runs: Sequence[Run], scored: Callable[[Run], Scored]) -> list[list[Run]]:
    """Group the runs by entries that agree on every seed which they share."""
    groups: list[list[Run]] = []
    for entry in dict.fromkeys(run.entry for run in runs):
        own = [run for run in runs if run.entry == entry]
        alike = (group for group in groups if all(_agree(scored(a), scored(b)) for a, b in _of_one_seed(group, own)))
        if (group := next(alike, None)) is None:
            groups.append(own)
        else:
            group.extend(own)
    return groups


def _of_one_seed(some: Sequence[Run], others: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    return ((one, other) for one in some for other in others if one.seed == other.seed)


def _agree(some: Scored, others: Scored) -> bool:
    """Return whether all is equal that both have."""
    return all(a == b for a, b in zip(some, others, strict=True) if a is not None and b is not None)


def _interval(values: Sequence[float | None]) -> dict[str, Any] | None:
    """Return the interval over the seeds that have a value; None where none has."""
    known = [value for value in values if value is not None]
    return mean_interval(known)._asdict() if known else None


def _curves(runs: Sequence[Run]) -> dict[str, list[list[Any]]]:
    """Return by quantity one list a seed of its values over the rounds; empty for a model, which has no candidates."""
    rounds = [run.card["distribution"]["rounds"] for run in runs if run.card["distribution"]]
    return {name: [[row.get(name) for row in own] for own in rounds] for name in CURVES}


def _difference(each: Measure, claim: Claim, entries: Mapping[str, Sequence[Run]]) -> Interval | None:
    """Return the interval of the improvement of `better` over `worse`, over the seeds that both have."""
    better, worse = (_side(side, each, claim, entries) for side in (claim.better, claim.worse))
    seeds = sorted(better.keys() & worse.keys())
    if not seeds:
        return None
    a, b = (worse, better) if each.direction is Direction.LOWER else (better, worse)
    return paired_difference([a[seed] for seed in seeds], [b[seed] for seed in seeds])


def _side(side: str, each: Measure, claim: Claim, entries: Mapping[str, Sequence[Run]]) -> BySeed:
    """Return a measure by seed, of an entry, or of a condition in the runs of the claim's entry."""
    condition = side if side in CONDITIONS else None
    found = {run.seed: run.value(each, condition) for run in entries.get(claim.entry if condition else side, ())}
    return {seed: value for seed, value in found.items() if value is not None}


def _bias(run: Run) -> Mapping[str, Any] | None:
    """Return FID's self-distance, where there is an FID."""
    bias: Mapping[str, Any] | None = (run.card["distribution"] or {}).get("bias")
    return bias


def _largest(runs: Sequence[Run]) -> float | None:
    """Return the largest epsilon; None is infinity."""
    epsilons = [run.card["protection"]["epsilon"] for run in runs]
    return None if None in epsilons else max(epsilons)


def _cost(row: Mapping[str, Any]) -> Cost:
    return Cost(**{name: row[name] for name in Cost.model_fields})


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
