"""The last lines of a run: the report's first sentences, the total privacy cost on record, and where results are."""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.evaluation.wording import count, spent
from fedtext.privacy.report import privacy_report
from fedtext.resuming.records import STORE
from fedtext.system.duration import duration
from fedtext.wiring.account import active_allowance
from fedtext.wiring.algorithm import Outputs
from fedtext.wiring.config import active_data_root, is_private_name
from fedtext.wiring.console import LOG_FILE

WIDTH, LABELS = 100, 16
PAGES = "comparison_page"
MADE = ("_cost", "_synthetic")  # data sets of every algorithm, of which a part of a run may make one alone


class OutcomeHook:
    """Prints the outcome to standard output, so that `kedro run > FILE` keeps it alone; nothing of it is private."""

    def __init__(self) -> None:
        self._began = 0.0

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    @hook_impl(trylast=True)
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Print the outcome of the run, also if every result was up to date."""
        print("\n".join(outcome(pipeline, catalog, time.monotonic() - self._began)))
        sys.stdout.flush()


def outcome(pipeline: Pipeline, catalog: DataCatalog, seconds: float) -> Iterator[str]:
    """Yield the lines of the outcome."""
    made = pipeline.all_outputs()
    ends = [(name, end) for name in sorted(made) for end in MADE if name.endswith(end) and not is_private_name(name)]
    for ours in map(Outputs, dict.fromkeys(name.removesuffix(end) for name, end in ends)):
        if ours.scorecard in made:
            yield ""
            card = catalog.load(ours.scorecard)
            for sentence in card["headline"]:
                yield from textwrap.wrap(sentence, WIDTH)
            yield ""
            yield _labelled("epsilon so far", _so_far(pipeline, catalog, ours, card))
        for label, name in {"texts": ours.synthetic, "to read first": ours.for_reading, "report": ours.report}.items():
            if name in made:
                yield _labelled(label, _place(catalog, name))
            elif name in catalog and catalog.exists(name):  # such as texts for reading beside newer synthetic texts
                yield _labelled(label, f"{_place(catalog, name)} (as an earlier run left it)")
    if PAGES in made:
        yield _labelled("comparison", _place(catalog, PAGES))
    data_root = active_data_root()
    yield _labelled("data", data_root)
    if (log := data_root / STORE / LOG_FILE).exists():
        yield _labelled("log", log)
    yield _labelled("took", duration(seconds))


def _so_far(pipeline: Pipeline, catalog: DataCatalog, ours: Outputs, card: Mapping[str, Any]) -> str:
    """Return the cost of all releases on record now if the run knows the ledger, else as of the report."""
    writers = [node for node in pipeline.nodes if ours.privacy_report in node.outputs]
    ledgers = [name for node in writers for name in node.inputs if name.endswith("_ledger")]
    total: Mapping[str, Any] | None = card["protection"]["total"]
    if ledgers:  # an algorithm that depends on another has that one's
        ledger, history = catalog.load(ledgers[0]), catalog.load("release_history")
        total = privacy_report(ledger, history=history, allowance=active_allowance())["data_set"]
    if total is None or total["epsilon"] is None:
        return "infinite"
    epsilon, releases = float(total["epsilon"]), total["releases"]
    cost = spent(epsilon) if math.isfinite(epsilon) else "infinite"
    return f"{cost}, {count(releases)} release{'' if releases == 1 else 's'} ({_allowed(total)})"


def _allowed(total: Mapping[str, Any]) -> str:
    if total["public"]:
        return "public text: counted, not refused"
    budget = float(total["budget"])
    return f"of {spent(budget)} that may be spent" if math.isfinite(budget) else "private text, without a limit"


def _place(catalog: DataCatalog, name: str) -> Path:
    return Path(str(getattr(catalog.get(name), "_filepath", name)))


def _labelled(label: str, value: object) -> str:
    return f"{label:{LABELS}}{value}"
