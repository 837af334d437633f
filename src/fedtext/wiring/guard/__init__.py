"""The guard: refuses, before anything is saved, the leaks that only show while a node runs.

- `Guard` watches every node of a run and checks its outputs (run, output_checks, release);
- `side_effects` and `watch` refuse side effects of a node, by Python's audit hooks;
- `catalog`, `parameters` and `bound` read from the configuration and the functions what the flow check needs.

It protects against mistakes only. A malicious node gets past it: text can be packed into the numbers of a release
(docs/leaks.md).
"""

from __future__ import annotations

from fedtext.wiring.guard.release import release_faults
from fedtext.wiring.guard.run import Guard

__all__ = ["Guard", "release_faults"]
