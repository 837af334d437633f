"""Tags of nodes: what a node declares itself to be, for the privacy flow check, the runner and the resume decision."""

from __future__ import annotations

from enum import StrEnum


class Tag(StrEnum):
    """All tags that mean something; the rules of the first six stand in `fedtext.privacy.flow`.

    Attributes:
        RELEASE: Private data leave here, through a door that charges the ledger.
        HELD_OUT: Measures on held-out text; nothing that a pipeline makes may depend on it.
        REPORT: Shows what was measured.
        CONTROL: Made of protected text, for comparison alone; no epsilon covers it.
        COUNT: Writes the number of units.
        SPLIT: Makes the held-out data sets.
        BUDGET: Refuses a plan beyond the budget, so the runner puts what it needs before all long work.
        CHECK: Refuses data that cannot be used, so the runner puts what it needs next.
        KEEP: An output that is there is never made anew, whatever code changed (a secret key).
        READS_PACKAGES: The output depends on every installed distribution.
    """

    RELEASE = "release"
    HELD_OUT = "held_out_evaluation"
    REPORT = "report"
    CONTROL = "unprotected_control"
    COUNT = "public_count"
    SPLIT = "splits_clients"
    BUDGET = "budget"
    CHECK = "check"
    KEEP = "keep"
    READS_PACKAGES = "reads_installed_packages"
