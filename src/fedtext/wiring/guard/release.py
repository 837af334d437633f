"""Checks a release against the release mechanisms: the ledger before and after, and the releases made in between."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fedtext.privacy.ledger import Ledger, Release
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard.output_checks import release_outputs

LASTING = ("declaration", "population", "part", "parties", "planned", "planned_unaccounted")  # what no release changes


def release_faults(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], passed: Sequence[Release], *, private: Collection[str] = ()
) -> list[RunRefusedError]:
    """Return what is wrong with a release that ran, each with the end of a sentence that begins with the node.

    Args:
        inputs: Its inputs by data set.
        outputs: What it returned by data set.
        passed: The releases that the mechanisms reported while it ran, in order; a mechanism of many rounds reports
            its one release in each of them.
        private: Names of outputs that are private and so do not leave.
    """
    before = {name: value for name, value in inputs.items() if type(value) is Ledger}
    after = {name: value for name, value in outputs.items() if type(value) is Ledger}
    if len(before) != 1 or len(after) != 1:
        return [
            RunRefusedError(
                f"takes the ledgers {_names(before)} in and gives {_names(after)} out: a release takes one "
                "fedtext.privacy.ledger.Ledger and returns the one that the release mechanism returns",
                code="not-one-ledger",
            )
        ]
    (old,), (new,), ledger = before.values(), after.values(), next(iter(after))
    given = {name: value for name, value in outputs.items() if name not in private and name != ledger}
    return [*_ledger_faults(old, new, passed, ledger, given), *release_outputs(given)]


def _ledger_faults(
    old: Ledger, new: Ledger, passed: Sequence[Release], ledger: str, given: Mapping[str, Any]
) -> Iterator[RunRefusedError]:
    if any(getattr(new, field) != getattr(old, field) for field in LASTING):
        yield RunRefusedError(
            f"changes {', '.join(LASTING)} in the ledger '{ledger}': return the release mechanism's ledger",
            code="ledger-changed",
        )
    kept = len(old.unaccounted)
    if new.unaccounted[:kept] != old.unaccounted:
        yield RunRefusedError(
            f"takes unaccounted reads out of the ledger '{ledger}': return the release mechanism's ledger",
            code="unaccounted-reads-dropped",
        )
    paid = [release for release in passed if release.rounds > 1 and release in old.releases]
    charged = tuple(release for release in passed if release not in paid)
    if new.releases != (*old.releases, *charged):
        yield RunRefusedError(
            f"gives out the ledger '{ledger}' with {_listed(new.releases[len(old.releases) :])} charged, but it "
            f"released {_listed(charged)}: return the release mechanism's ledger",
            code="wrongly-charged",
        )
    if not passed and len(new.unaccounted) == kept:
        for name, value in given.items():
            if not (isinstance(value, np.ndarray) and value.size == 0):
                yield RunRefusedError(
                    f"gives '{name}' out and nothing was released: call release_noisy_sum, correlated_sum or "
                    "release_noisy_steps of fedtext.federation, or enter the read by Ledger.unaccounted_read",
                    code="nothing-released",
                )


def _names(ledgers: Mapping[str, Any]) -> str:
    return ", ".join(f"'{name}'" for name in ledgers) or "none"


def _listed(releases: Sequence[Release]) -> str:
    return ", ".join(f"'{one.name}' of round {one.round}" for one in releases) or "nothing"
