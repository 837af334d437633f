"""Parameters that a node gives to a run that it starts as a process of its own, as a comparison does.

Such a run reads its own parameters, and passes the flow check and the guard by itself. The node that starts it does not
read the files that they name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedtext.system.atomic import write_text


@dataclass(frozen=True)
class RunParameters:
    """Parameters of a run to be started, which may name private files: the guard lets a node hold them.

    It allows nothing else with such a path. A node that writes non-private outputs is refused where it opens the file,
    whether it holds the path or not (fedtext.wiring.guard.watch).
    """

    values: Mapping[str, Any]

    def write(self, file: Path) -> None:
        """Write the parameters to `file`, as `kedro run --config` reads it."""
        import yaml

        write_text(file, yaml.safe_dump({"run": {"params": dict(self.values)}}, sort_keys=True))
