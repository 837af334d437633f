"""The guard: what a mistake can do that no graph shows is refused while a node runs, before anything is saved.

- `Guard` watches every node of a run and judges what it gives out (run, leaving, release);
- `side_effects` and `watch` refuse what a node does beside its outputs, by Python's audit hooks;
- `catalog`, `parameters` and `bound` read off the configuration and the functions what the flow check has to know.

A node that is written to cheat gets past all of it: text can be packed into the numbers of a release. docs/leaks.md.
"""

from __future__ import annotations

from fedtext.wiring.guard.release import release_faults
from fedtext.wiring.guard.run import Guard

__all__ = ["Guard", "release_faults"]
