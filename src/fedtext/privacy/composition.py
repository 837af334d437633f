"""Composition of several runs on the same private text: their total epsilon, which exceeds each run's budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.report import reported_releases


def compose_runs(
    reports: Sequence[Mapping[str, Any]], released: Sequence[Sequence[str]], declaration: Privacy
) -> dict[str, Any]:
    """Compute epsilon of all releases of several runs under composition, at `declaration.delta`.

    Runs that released the very same bytes, and no others, count once: a repeated release is one release. Runs that
    share a part of their releases count in full, so the epsilon is an upper bound. Runs that released nothing do not
    count.

    Args:
        reports: Each run's privacy report (`fedtext.privacy.report.privacy_report`).
        released: For each run the digests of its released data; an empty list never equals another.
        declaration: Delta and adjacency of the total; each run must have declared the same.

    Returns:
        `epsilon` (None where there is no finite one), `reason` (None where there is one), `runs` (how many counted).
    """
    different = {
        tuple(given) or ("unknown", str(i)): report
        for i, (report, given) in enumerate(zip(reports, released, strict=True))
        if report["releases"] or report["unaccounted"]
    }
    kinds = {(report["delta"], report["adjacency"], report["unit"]) for report in different.values()}
    if any(report["unaccounted"] for report in different.values()):
        return _unbounded("private data were read without a mechanism in at least one of them", different)
    if kinds - {(declaration.delta, declaration.adjacency, declaration.unit)}:
        return _unbounded("they declare different deltas, adjacencies or units", different)
    releases = [release for report in different.values() for release in reported_releases(report)]
    if len({report.get("partition") for report in different.values()}) > 1:  # parties of two may share units
        releases = [release.model_copy(update={"parties": None}) for release in releases]
    population = max((report["population"] for report in different.values()), default=1)
    ledger = Ledger(declaration=declaration, population=population, releases=tuple(releases))
    epsilon = ledger.spent()
    if math.isinf(epsilon):
        return _unbounded("their accountant finds none", different)
    return {"epsilon": epsilon, "reason": None, "runs": len(different)}


def _unbounded(reason: str, different: Mapping[Any, Any]) -> dict[str, Any]:
    return {"epsilon": None, "reason": reason, "runs": len(different)}
