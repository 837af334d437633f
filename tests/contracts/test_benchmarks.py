"""Every benchmark finds what it imports, started as pages say: `python -m benchmarks.NAME`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES = sorted(file.stem for file in (ROOT / "benchmarks").glob("*.py") if file.stem != "__init__")
# One process for all: each is imported from the root alone, which is what -m puts on the path.
IMPORT_EACH = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(f"benchmarks.{name}")
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}")
"""


def failures(*names: str) -> list[str]:
    """What the import of each module of benchmarks said, where it failed."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EACH, *names], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_every_benchmark_finds_what_it_imports() -> None:
    assert failures(*NAMES) == []


def test_one_that_does_not_is_named() -> None:
    assert failures("no_such") == ["no_such: ModuleNotFoundError: No module named 'benchmarks.no_such'"]
