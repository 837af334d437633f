"""Whether the data set's budget pays for all runs of a comparison: found out before the first of them.

A run settles what it will release before it reads anything private (the nodes tagged `budget`). Each entry is asked for
that, in a process of its own; the seeds change no price. The sum of what is not yet made is held against the budget.

The sum is never too large. It may be too small: two entries of one seed whose releases have one name and one noise are
taken to release the same bytes, and entries of other clients or records (`TELL_UNITS`) are left out. What it misses the
run itself finds, as every run does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fedtext.params.compare import Entry
from fedtext.params.privacy import Privacy
from fedtext.pipelines.compare.children import Child, merged, start
from fedtext.privacy.history import History, release_history
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.registry import Registry
from fedtext.privacy.spending import Rules, Spent, TotalExceeded, not_yet_made
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.account import Account
from fedtext.wiring.own_run import RunParameters

TELL_UNITS = frozenset({"corpus", "partition", "chunking", "models", "evaluation"})  # groups of parameters


class EvaluationQuery(NamedTuple):
    """What an entry's run with one seed has yet to release of the clients of one ledger."""

    seed: int
    ledger: Ledger
    releases: tuple[Release, ...]
    rules: Rules


def is_planned(entry: Entry) -> bool:
    """Whether an entry is of the same units as the others, so that its price adds to theirs."""
    return not TELL_UNITS & entry.params.keys()


def planning(
    child: Child, ledgers: Mapping[str, Path], roots: Mapping[int, Collection[Path]], rules: Rules
) -> Callable[[bool], list[EvaluationQuery]]:
    """The node that asks what an entry's runs will release.

    Args:
        child: The entry's run of one of the seeds.
        ledgers: Where, below its data root, the nodes that open ledgers leave them.
        roots: By seed, the data roots in which the entry may have released already, the one to look into first.
        rules: How it tells units apart.
    """

    def plan_releases(checked: bool) -> list[EvaluationQuery]:
        # In a data root of its own: the run's, once it is there, no longer starts from another entry's files.
        place = child.data_root.parent / f"plan_{child.name}"
        params = RunParameters(merged(child.params.values, {"data_root": str(place)}))
        asked = replace(child, params=params, data_root=place)
        start(asked, "--to-nodes", ",".join(ledgers), quiet=True)
        opened = [Ledger.model_validate_json((place / path).read_text(encoding="utf-8")) for path in ledgers.values()]
        return [
            EvaluationQuery(seed, ledger, tuple(not_yet_made(_released(own), ledger, rules)), rules)
            for seed, own in roots.items()
            for ledger in opened
        ]

    return plan_releases


def affording(data_root: Path) -> Callable[..., bool]:
    """The node that refuses runs that cannot all be paid for; `data_root` is the comparison's."""

    def check_budget(privacy: Privacy, *plans: Sequence[EvaluationQuery]) -> bool:
        asked, refused = [one for plan in plans for one in plan], list[TotalExceeded]()
        for rules, part in dict.fromkeys((one.rules, one.ledger.part) for one in asked):
            history = History(data_root, registry=Registry())
            account = Account(history, public=False, total=privacy.total_epsilon, rules=rules)
            own = [one for one in asked if (one.rules, one.ledger.part) == (rules, part)]
            new = dict.fromkeys((one.seed, release) for one in own for release in one.releases)
            try:
                account.validate_runs_together([one.ledger for one in own], [release for _, release in new])
            except TotalExceeded as error:
                refused.append(error)
        if refused:
            raise RunRefusedError(
                "the budget does not pay for all runs of this comparison, and none was started: "
                f"{max(refused, key=lambda error: error.total)}. Or compare fewer: compare.algorithms, compare.seeds"
            )
        return True

    return check_budget


def _released(roots: Collection[Path]) -> Sequence[Spent]:
    """The history of the first of the data roots that is there."""
    return next((release_history(root) for root in roots if root.exists()), ())
