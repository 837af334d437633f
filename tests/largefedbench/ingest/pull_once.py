"""One pull in a process of its own: `python -m tests.largefedbench.ingest.pull_once PARAMETERS_AS_JSON [KILL_AT]`.

With KILL_AT the process kills itself (SIGKILL) just before its so-manyth fsync or rename.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from fedtext.largefedbench.ingest.pull import pull
from fedtext.params.ingest import Ingest
from tests.parameters import conf_base


def main() -> None:
    steps = 0

    def killing(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments)

        return call

    if len(sys.argv) > 2:
        os.fsync, os.replace = killing(os.fsync), killing(os.replace)
    pull(conf_base(Ingest, json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
