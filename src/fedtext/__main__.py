"""`python -m fedtext`: `kedro run` with its options, for schedulers and containers."""

from __future__ import annotations

import sys
from pathlib import Path

from kedro.framework.cli.utils import find_run_command
from kedro.framework.project import configure_project


def main() -> None:
    """The run of Kedro's command line; the working directory is the project, with its `conf`."""
    package = Path(__file__).parent.name
    configure_project(package)
    find_run_command(package)(sys.argv[1:], standalone_mode=True, prog_name=f"python -m {package}")


if __name__ == "__main__":
    main()
