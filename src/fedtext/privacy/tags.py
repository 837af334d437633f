"""Tags of nodes, by which a node declares itself to the privacy flow check, the runner and the resume decision."""

from __future__ import annotations

from enum import StrEnum


class Tag(StrEnum):
    """All tags with a meaning; the rules of the first six are in `fedtext.privacy.flow`.

    Attributes:
        RELEASE: Releases private data through a mechanism that charges the ledger.
        HELD_OUT: Measures on held-out text; no output of a pipeline may depend on it.
        REPORT: Shows measurements.
        CONTROL: Uses protected text without noise, for comparison alone; no epsilon covers it.
        COUNT: Writes the number of units.
        SPLIT: Makes the held-out data sets.
        BUDGET: Refuses a plan beyond the budget, so the runner puts it and its inputs before all long work.
        CHECK: Refuses data that cannot be used, so the runner puts it and its inputs next.
        START: Returns weights to begin with, of which a plan needs the number alone.
        KEEP: Has outputs that are never made anew, whatever code changed (a secret key).
        LOOKS_AGAIN: Runs in every run: what it looks at changes behind a run's back, and it keeps what has not changed.
        READS_PACKAGES: Has outputs that depend on every installed distribution.
    """

    RELEASE = "release"
    HELD_OUT = "held_out_evaluation"
    REPORT = "report"
    CONTROL = "unprotected_control"
    COUNT = "public_count"
    SPLIT = "splits_clients"
    BUDGET = "budget"
    CHECK = "check"
    START = "starting_weights"
    KEEP = "keep"
    LOOKS_AGAIN = "looks_again"
    READS_PACKAGES = "reads_installed_packages"
