"""What a run says: its stages on the console (conf/logging.yml), everything in a file of the data root."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STAGES = "fedtext.console"
LOG_FILE = "run.log"
FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


def say(line: str) -> None:
    """A line for whoever watches the run."""
    logging.getLogger(STAGES).info("%s", line)


@contextmanager
def written_down(folder: Path) -> Iterator[Path]:
    """Appends all that is logged to a file in `folder`, Python's warnings too; the file is its owner's alone."""
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
