"""The privacy flow check: private data may leave a pipeline only through nodes that declare how they are protected.

Every data set is `private`, `released` or `public`. A node that reads private data writes private data only, unless a
tag declares otherwise; it has at most one of these tags:

- `release`: it takes a ledger, returns the charged one, and its other outputs may be `released`;
- `held_out_evaluation`: it reads `private_test` or `private_validation`, or data sets derived from no other private
  ones; its outputs may be shown where the corpus is public or exact figures are declared (`Declared`), but no output of
  any pipeline may depend on them, so only nodes tagged `held_out_evaluation` or `report` may read them, or data sets
  derived from them;
- `unprotected_control`: it writes private data that held-out evaluations may read, although they are derived from
  protected text: the non-private bound of every method. With a private corpus it must be declared, and the privacy
  report states that no epsilon covers it;
- `public_count`: it writes the data set `population` only, the number of units, and counts private data only where the
  corpus is declared public.

The two held-out data sets are written by the one node tagged `splits_clients` alone. A ledger is a data set whose
name's last part starts with `ledger` or ends in `_ledger`, a privacy report one whose name's last part ends in
`privacy_report`. Every charge must reach a report: some node reads each ledger that a release returns, and no report is
made from a ledger that was charged again.

The check is pure: it reads names, tags and paths, never data. `fedtext.wiring.guard` refuses what shows only while a
node runs; docs/leaks.md lists which leak is stopped by which.
"""

from __future__ import annotations

from fedtext.privacy.flow.check import (
    GraphNode,
    Violation,
    check_files,
    check_flow,
    check_further_files,
    check_private_places,
)
from fedtext.privacy.flow.declared import Declared

__all__ = [
    "Declared",
    "GraphNode",
    "Violation",
    "check_files",
    "check_flow",
    "check_further_files",
    "check_private_places",
]
