"""The privacy flow check: private data may leave a pipeline only where something is declared that protects them.

Every data set is `private`, `released` or `public`. A node that reads private data writes private data only, unless a
tag says what it is, and it has one of these tags at most:

- `release`: it takes a ledger in, gives the charged one out, and its other outputs may be `released`;
- `held_out_evaluation`: it reads `private_test` or `private_validation`, or what is made of nothing private but them;
  its outputs may be shown where the corpus is public or exact figures were asked for (`Declared`), but nothing that any
  pipeline produces may depend on them, so only nodes tagged `held_out_evaluation` or `report` may read them, or
  anything made of them;
- `unprotected_control`: it writes private data that held-out evaluations may read, although they are made of protected
  text: the upper bound that every method is compared with. A private corpus has one where it was asked for, and the
  privacy report says that no epsilon covers it;
- `public_count`: it writes the data set `population` only, the number of units, and counts private data only where the
  corpus is declared public.

The two held-out data sets are made by the one node tagged `splits_clients`, and by nobody else. A ledger is a data set
whose name's last part starts with `ledger` or ends in `_ledger`, a privacy report one whose name's last part ends in
`privacy_report`. Every charge must reach a report: a ledger that a release gives out is read by somebody, and no report
is of a ledger that was charged again.

The check is pure: it sees names, tags and paths, never data. What only shows while a node runs is refused by
`fedtext.wiring.guard`; docs/leaks.md says which leak is stopped by which.
"""

from __future__ import annotations

from fedtext.privacy.flow.check import GraphNode, Violation, check_files, check_flow, check_private_places
from fedtext.privacy.flow.declared import Declared

__all__ = ["Declared", "GraphNode", "Violation", "check_files", "check_flow", "check_private_places"]
