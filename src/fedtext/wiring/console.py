"""A run's output: its stages on the console (conf/logging.yml), the full log in a file of the data root."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STAGES = "fedtext.console"
LOG_FILE = "run.log"
FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def echo(line: str) -> None:
    """Print a line on the console."""
    logging.getLogger(STAGES).info("%s", line)


@contextmanager
def logged_to_file(folder: Path) -> Iterator[Path]:
    """Append all log messages and Python warnings to a file in `folder` that only its owner can read."""
    path, root = folder / LOG_FILE, logging.getLogger()
    path.touch(mode=0o600)
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter(FORMAT))
    root.addHandler(handler)
    logging.captureWarnings(True)
    try:
        yield path
    finally:
        logging.captureWarnings(False)
        root.removeHandler(handler)
        handler.close()
