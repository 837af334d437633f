"""Scorecards of several algorithms and seeds as one comparison: means over seeds, paired differences, verdicts.

Every mean has Student's t interval over the seeds, every difference is paired by seed. The split of the clients is the
same throughout, so intervals say how results vary with noise, sampling and training, not with the draw of the clients;
that is in each run's own report. Claims are judged one by one, without a correction for their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fedtext.evaluation.conditions import CONDITIONS, MATCHED, PRIVATE, PUBLIC, SYNTHETIC
from fedtext.evaluation.cost import cost_rows, with_seconds
from fedtext.evaluation.intervals import Interval, mean_interval, paired_difference
from fedtext.federation.communication import Cost
from fedtext.params.compare import Claim, Claims
from fedtext.reporting.wording import spent

BySeed = dict[int, float]
REPRODUCED, REFUTED, UNDECIDED = "reproduced", "not reproduced", "undecided at this size"
CURVES = ("fid", "median_distance")


class Run(NamedTuple):
    """One entry with one seed, as its scorecard and its privacy report tell it; `released` are digests."""

    entry: str
    algorithm: str
    seed: int
    params: dict[str, Any]
    card: dict[str, Any]
    privacy: dict[str, Any]
    released: list[str]


Measure = Callable[[Run, str | None], float | None]


def compare_runs(runs: Sequence[Run], claims: Claims) -> dict[str, Any]:
    """The whole comparison, ready for JSON.

    Returns:
        `corpus`, `seeds`; `entries`: name -> algorithm, params, epsilon, intervals of accuracy, gain over the public
        model, gap closed and FID, and curves by round; `conditions`: name -> epsilon, intervals of accuracy and FID;
        `claims`; `simulated`: whether any noise came from a public seed; `fid_sizes`: texts a side of the runs' FIDs.
        At more than one size they do not compare and are left out.
    """
    measured = [run.card["distribution"] for run in runs if run.card["distribution"]]
    sizes = sorted({distribution["bias"]["size"] for distribution in measured if distribution["bias"]})
    if len(sizes) > 1:
        runs = [run._replace(card={**run.card, "distribution": None}) for run in runs]
    entries = {name: [run for run in runs if run.entry == name] for name in dict.fromkeys(run.entry for run in runs)}
    return {
        "corpus": runs[0].card["corpus"],
        "seeds": sorted({run.seed for run in runs}),
        "entries": {name: _entry(own) for name, own in entries.items()},
        "conditions": _conditions(runs),
        "claims": judged_claims(entries, claims),
        "simulated": any(run.card["protection"]["simulated"] for run in runs),
        "fid_sizes": sizes,
    }


def judged_claims(entries: Mapping[str, Sequence[Run]], claims: Claims) -> dict[str, dict[str, Any]]:
    """Each claim both of whose sides were run: differences paired by seed, and what they say of it.

    Returns:
        By name, the claim; `accuracy` (of `better` minus of `worse`) and, of what is to be `more` and has texts on both
        sides, `fid` (of `worse` minus of `better`), intervals with a `verdict`; `tolerance` of what is to be `alike`,
        None where the private text itself was not trained on.
    """
    found = {}
    for name, claim in claims.judged.items():
        accuracy = _difference(claim.better, claim.worse, _accuracy, claim, entries)
        if accuracy is None:
            continue
        nearer = _difference(claim.worse, claim.better, _fid, claim, entries) if claim.relation == "more" else None
        gaps = [gap for run in entries[claim.entry] if (gap := _gap(run)) is not None]
        tolerance = claims.margin * mean_interval(gaps).mean if gaps else None
        found[name] = {
            **claim.model_dump(),
            "tolerance": tolerance if claim.relation == "alike" else None,
            "accuracy": {**accuracy._asdict(), "verdict": verdict(claim, accuracy, tolerance)},
            "fid": nearer and {**nearer._asdict(), "verdict": verdict(claim, nearer, tolerance)},
        }
    return found


def verdict(claim: Claim, difference: Interval, tolerance: float | None) -> str:
    """What the interval of the difference says of the claim; neither one seed nor a gap that is none decides it.

    Without a control trained on the private text (`tolerance` None) nobody knows the gap, so nothing is called alike.
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
    """Rows of Table 2: what each entry exchanges as counted, seconds as measured, a mean over its seeds.

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


def price_sentence(price: Mapping[str, Any], delta: float, what: str, *, simulated: bool = False) -> str:
    """What publishing `what` together costs (`fedtext.privacy.together.price_together`)."""
    if price["epsilon"] is None:
        return f"Publishing {what} together has no finite ε: {price['reason']}."
    cost = f"{'would cost' if simulated else 'costs'} ε = {spent(price['epsilon'])} at δ = {delta:g}"
    sets = "there is one set of releases, whoever used it"
    if price["runs"] > 1:
        sets = f"{price['runs']} different sets of releases on the same private text compose"
        sets += ", whatever each run's own report says"
    public = "; but noise came from a public seed, so nobody is protected" if simulated else ""
    return f"Publishing {what} together {cost}: {sets}{public}."


def _entry(runs: Sequence[Run]) -> dict[str, Any]:
    gaps = [gap if (gap := _gap(run)) and gap > 0 else None for run in runs]
    shares = [(_top(run) - _top(run, PUBLIC)) / gap for run, gap in zip(runs, gaps, strict=True) if gap]
    fid = [found for run in runs if (found := _fid(run)) is not None]
    return {
        "algorithm": runs[0].algorithm,
        "name": runs[0].card["algorithm"],
        "params": runs[0].params,
        "made": runs[0].card["accuracy"]["judged"],
        "epsilon": _largest(runs),
        "delta": runs[0].card["protection"]["delta"],
        "units": runs[0].card["protection"]["units"],
        "top_1": mean_interval([_top(run) for run in runs])._asdict(),
        "gain": paired_difference([_top(run) for run in runs], [_top(run, PUBLIC) for run in runs])._asdict(),
        # an average of shares only where every seed has a gap to close
        "gap_closed": mean_interval(shares)._asdict() if len(shares) == len(runs) else None,
        "fid": mean_interval(fid)._asdict() if fid else None,
        "curves": _curves(runs),
    }


def _conditions(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Epsilon, accuracy and FID of what every run is compared with; the first run of a seed that has it is asked."""
    found = {}
    for name in CONDITIONS:
        own = [run for run in runs if run.card["accuracy"]["judged"] != name and _accuracy(run, name) is not None]
        if own:
            distances = [fid for run in _first_of_seed(own) if (fid := _fid(run, name)) is not None]
            found[name] = {
                "epsilon": _largest(_first_of_seed(own)) if name == MATCHED else None if name == PRIVATE else 0.0,
                "top_1": mean_interval([_top(run, name) for run in _first_of_seed(own)])._asdict(),
                "fid": mean_interval(distances)._asdict() if distances else None,
            }
    return found


def _first_of_seed(runs: Sequence[Run]) -> list[Run]:
    return list({run.seed: run for run in reversed(runs)}.values())


def _curves(runs: Sequence[Run]) -> dict[str, list[list[Any]]]:
    """By quantity, one list a seed of its values over the rounds; empty for a model, which has no candidates."""
    rounds = [run.card["distribution"]["rounds"] for run in runs if run.card["distribution"]]
    return {name: [[row.get(name) for row in own] for own in rounds] for name in CURVES}


def _difference(
    a: str, b: str, measure: Measure, claim: Claim, entries: Mapping[str, Sequence[Run]]
) -> Interval | None:
    """Interval of a - b over the seeds that both sides have; None if there is no such seed."""
    first, second = (_side(side, measure, claim, entries) for side in (a, b))
    seeds = sorted(first.keys() & second.keys())
    return paired_difference([first[s] for s in seeds], [second[s] for s in seeds]) if seeds else None


def _side(side: str, measure: Measure, claim: Claim, entries: Mapping[str, Sequence[Run]]) -> BySeed:
    """`measure` by seed, of an entry or of a condition beside the entry that the claim is about."""
    condition = side if side in CONDITIONS else None
    found = {run.seed: measure(run, condition) for run in entries.get(claim.entry if condition else side, ())}
    return {seed: value for seed, value in found.items() if value is not None}


def _accuracy(run: Run, condition: str | None = None) -> float | None:
    """Top-1 accuracy under a condition, by default of what the run itself made; None if it was not scored."""
    accuracy = run.card["accuracy"]
    value: float | None = accuracy["conditions"].get(condition or accuracy["judged"], {}).get("top_1")
    return value


def _top(run: Run, condition: str | None = None) -> float:
    """`_accuracy` of what every run has."""
    value = _accuracy(run, condition)
    assert value is not None
    return value


def _fid(run: Run, condition: str | None = None) -> float | None:
    """FID of a condition's texts, by default of the run's own; None where none was taken."""
    sets = (run.card["distribution"] or {}).get("sets", {})
    value: float | None = sets.get(condition or SYNTHETIC, {}).get("fid")
    return value


def _largest(runs: Sequence[Run]) -> float | None:
    """The largest epsilon; None is infinity."""
    epsilons = [run.card["protection"]["epsilon"] for run in runs]
    return None if None in epsilons else max(epsilons)


def _cost(row: Mapping[str, Any]) -> Cost:
    return Cost(**{name: row[name] for name in Cost.model_fields})


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _gap(run: Run) -> float | None:
    """What training on the private text itself gains; None where nobody did."""
    private = _accuracy(run, PRIVATE)
    return None if private is None else private - _top(run, PUBLIC)
