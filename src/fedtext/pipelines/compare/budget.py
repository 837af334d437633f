"""Checks, before the first run of a comparison: each entry's settings, and the budget for the releases of all runs.

A run settles its releases before it reads anything private (the nodes tagged `budget`). Each entry is planned in a
process of its own; the seeds change no privacy cost. The sum of the releases not yet made is compared with the budget.
Of entries that spend none of it, as on a public corpus, the settings alone are checked.

The sum is never too large. It may be too small: two entries of one seed whose releases have one name and one noise are
taken to release the same bytes, and entries of other clients or records (`TELL_UNITS`) are left out. Every run checks
its own budget again, and so finds what the sum misses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fedtext.params.compare import Entry
from fedtext.params.privacy import Privacy
from fedtext.pipelines.compare.children import ChildRun, merged, start
from fedtext.privacy.data_set_budget import DataSetBudget
from fedtext.privacy.history import History, release_history
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.spending import Rules, Spent, TotalExceeded, not_yet_made
from fedtext.privacy.team_registry import registry_at
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.own_run import RunParameters

TELL_UNITS = frozenset({"corpus", "partition", "chunking", "models", "evaluation"})  # groups of parameters


class PlannedReleases(NamedTuple):
    """The releases that an entry's run with one seed has yet to make, from the clients of one ledger."""

    seed: int
    ledger: Ledger
    releases: tuple[Release, ...]
    rules: Rules


def is_planned(entry: Entry) -> bool:
    """Return whether an entry has the same units as the others, so that its privacy cost adds to theirs."""
    return not TELL_UNITS & entry.params.keys()


def release_planner(
    child: ChildRun, ledgers: Mapping[str, Path], roots: Mapping[int, Collection[Path]], rules: Rules
) -> Callable[[bool], list[PlannedReleases]]:
    """Create the node that plans the releases of an entry's runs.

    Args:
        child: The entry's run of one of the seeds.
        ledgers: Paths, below its data root, of the ledgers that its nodes open.
        roots: By seed, the data roots in which the entry may have released already, the first to be read.
        rules: The identity of its privacy units.
    """

    def plan_releases(checked: bool) -> list[PlannedReleases]:
        place = _asked(child, "--to-nodes", ",".join(ledgers))
        opened = [Ledger.model_validate_json((place / path).read_text(encoding="utf-8")) for path in ledgers.values()]
        return [
            PlannedReleases(seed, ledger, tuple(not_yet_made(_released(own), ledger, rules)), rules)
            for seed, own in roots.items()
            for ledger in opened
        ]

    return plan_releases


def settings_checker(child: ChildRun, node: str) -> Callable[[bool], list[PlannedReleases]]:
    """Create the node that checks an entry's settings as its run does before anything, and plans no release.

    Args:
        child: The entry's run of one of the seeds.
        node: A node of the run that takes no time and reads nothing private, which is all that is run.
    """

    def check_settings(checked: bool) -> list[PlannedReleases]:
        _asked(child, "--nodes", node)
        return []

    return check_settings


def budget_checker(data_root: Path) -> Callable[..., bool]:
    """Create the node that refuses runs whose total is beyond the budget; `data_root` is the comparison's."""

    def check_budget(privacy: Privacy, *plans: Sequence[PlannedReleases]) -> bool:
        asked, refused = [one for plan in plans for one in plan], list[TotalExceeded]()
        for rules, part in dict.fromkeys((one.rules, one.ledger.part) for one in asked):
            history = History(data_root, registry=registry_at(privacy.history))
            account = DataSetBudget(history, public=False, total=privacy.total_epsilon, rules=rules)
            own = [one for one in asked if (one.rules, one.ledger.part) == (rules, part)]
            new = dict.fromkeys((one.seed, release) for one in own for release in one.releases)
            try:
                account.validate_runs_together([one.ledger for one in own], [release for _, release in new])
            except TotalExceeded as error:
                refused.append(error)
        if refused:
            raise RunRefusedError(
                "the budget does not pay for all runs of this comparison, and none was started: "
                f"{max(refused, key=lambda error: error.total)}. Or compare fewer: compare.algorithms, compare.seeds",
                code="comparison-beyond-budget",
                parameter="privacy.total_epsilon",
            )
        return True

    return check_budget


def _asked(child: ChildRun, *options: str) -> Path:
    """Run a part of an entry's run in a data root of its own, and return that.

    The run's, once it is there, would no longer start from another entry's files.
    """
    place = child.data_root.parent / f"plan_{child.name}"
    params = RunParameters(merged(child.params.values, {"data_root": str(place)}))
    start(replace(child, params=params, data_root=place), *options, quiet=True)
    return place


def _released(roots: Collection[Path]) -> Sequence[Spent]:
    """Return the history of the first of the data roots that exists."""
    return next((release_history(root) for root in roots if root.exists()), ())
