"""`python -m fedtext`: `kedro run` with its options, for schedulers, containers and Python itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedro.framework.cli.utils import find_run_command
from kedro.framework.project import configure_project


def main(arguments: Sequence[str] | None = None, **options: Any) -> Any:
    """Run Kedro's command `run`; the working directory is the project, with its `conf`.

    Args:
        arguments: The options of `kedro run`, as `["--env", "tiny"]`; None: those of the command line, which ends the
            process. With arguments a failed run raises its error.
        options: click's options, as Kedro passes them to a packaged project.

    Returns:
        The return value of the run.
    """
    package = Path(__file__).parent.name
    configure_project(package)
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = {"standalone_mode": arguments is None, "prog_name": f"python -m {package}"} | options
    return find_run_command(package)(given, **options)


if __name__ == "__main__":
    main()
