"""Comparison nodes: one run each, then tables, figures and verdicts from the runs' results."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from plotly.graph_objects import Figure

from fedtext.evaluation.measures.known import measures_of_kind
from fedtext.evaluation.measures.measure import Measure
from fedtext.params.compare import Claims, Compare
from fedtext.params.privacy import Privacy
from fedtext.pipelines.compare.children import ChildRun, node_seconds, release_receipts, run
from fedtext.privacy.composition import compose_runs
from fedtext.reporting import figures_comparison as figures
from fedtext.reporting.comparison import (
    Run,
    compare_runs,
    figures_cost_sentence,
    measured_costs,
    privacy_cost_sentence,
)
from fedtext.reporting.comparison_text import render_markdown, render_page, table1_csv, table2_csv
from fedtext.system.engine import current
from fedtext.system.errors import InputError
from fedtext.system.refusal import refusal_of

SETS_MAP = "sets_map"


def entry_checker(known: Collection[str]) -> Callable[[Compare, Claims], bool]:
    """Create the node that checks that all entries and claims of a comparison exist, before any run."""

    def check_entries(compare: Compare, claims: Claims) -> bool:
        try:
            claims.validate_names({*compare.entries, *known})
            for names in (claims.measures, *(claim.measures for claim in claims.judged.values())):
                measures_of_kind(Measure, names)
        except InputError as error:
            raise refusal_of(error) from None
        return True

    return check_entries


def entries_runner(children: Sequence[ChildRun]) -> Callable[..., tuple[Any, ...]]:
    """Create the node that makes or completes runs and reads their results.

    Runs that share a data root follow each other, a lane; the engine has lanes side by side. The node returns the
    results in the order of the lanes (`lanes_of`), then the seconds, then True. Each run is an argument of its own,
    which the guard looks at by itself (`fedtext.wiring.guard.bound`).
    """
    return partial(_run_and_collect, *children)


def lanes_of(children: Iterable[ChildRun]) -> list[list[ChildRun]]:
    """Return the runs by data root, in the order in which the first of each comes."""
    lanes: dict[Path, list[ChildRun]] = {}
    for child in children:
        lanes.setdefault(child.data_root, []).append(child)
    return list(lanes.values())


def _run_and_collect(*given: ChildRun | bool) -> tuple[Any, ...]:
    """Make or complete the runs among `given`; the rest says that the earlier ones are made."""
    lanes = lanes_of(one for one in given if isinstance(one, ChildRun))
    found = [one for lane in current().map(_run_lane, lanes) for one in lane]
    return *(result for result, _ in found), *(seconds for _, seconds in found), True


def _run_lane(lane: Sequence[ChildRun]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Make or complete runs one after the other; return the result and the seconds of each."""
    return [_run_and_read(child) for child in lane]


def _run_and_read(child: ChildRun) -> tuple[dict[str, Any], dict[str, Any]]:
    run(child)
    named = {"entry": child.name, "algorithm": child.entry.algorithm, "seed": child.seed}
    card, privacy, drawn = (_json(child.data_root / path) for path in child.left)
    result = {
        **named,
        "params": child.entry.params,
        "card": card,
        "privacy": privacy,
        "released": release_receipts(child, privacy),
        SETS_MAP: drawn,
    }
    timed = {**named, "units": card["protection"]["units"], "cost": card["cost"][0]}
    return result, {**timed, **node_seconds(child, privacy)}


def tabulate(claims: Claims, privacy: Privacy, *results: dict[str, Any]) -> tuple[dict[str, Any], str, str]:
    """Tabulate `comparison.json`, `table1.csv` and `comparison.md`."""
    runs = [_run(result) for result in results]
    first = min(run.seed for run in runs)
    whole = {f"all runs of seed {first}": [r for r in runs if r.seed == first], "all runs of all seeds": runs}
    comparison = compare_runs(runs, claims)
    prices = {
        what: compose_runs([r.privacy for r in own], [r.released for r in own], privacy) for what, own in whole.items()
    }
    comparison["prices"] = [
        privacy_cost_sentence(price, privacy.delta, what, simulated=comparison["simulated"])
        for what, price in prices.items()
    ]
    comparison["prices"] += filter(None, (figures_cost_sentence(own, what) for what, own in whole.items()))
    return comparison, table1_csv(comparison), render_markdown(comparison)


def tabulate_costs(*timed: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """Tabulate `costs.json` and `table2.csv`: exchanged floats as counted, seconds as measured, means over seeds."""
    costs = measured_costs(timed)
    return costs, table2_csv(costs)


def draw_figures(comparison: dict[str, Any], *results: dict[str, Any]) -> tuple[Figure, ...]:
    """Draw POPri's figures 1, 2, 3, 4 (curves), 6 and 8, WASP's sweeps, pairs and curves, and the strong silos'."""
    maps = {result["entry"]: result[SETS_MAP] for result in results if result[SETS_MAP]}
    return (
        figures.accuracy_by_entry(comparison),
        figures.sets_panels(maps),
        figures.participation(comparison),
        figures.rounds(comparison),
        figures.scoring(comparison),
        figures.rejected_rank(comparison),
        figures.epsilon_sweep(comparison),
        figures.models_sweep(comparison),
        figures.votes_sweep(comparison),
        figures.records_sweep(comparison),
        figures.pairs_of_models(comparison),
        figures.models_by_round(comparison),
        figures.strong_sweep(comparison),
        figures.smoothing_sweep(comparison),
        figures.total_clients(comparison),
    )


def write_page(comparison: dict[str, Any], costs: list[dict[str, Any]], *drawn: Figure) -> str:
    """Write `comparison.html`."""
    return render_page(comparison, costs, {f"comparison-{i}": figure for i, figure in enumerate(drawn)})


def _run(result: dict[str, Any]) -> Run:
    return Run(**{name: result[name] for name in Run._fields})


def _json(path: Path) -> dict[str, Any]:
    """Read the document, or return an empty one if the algorithm writes none."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found
