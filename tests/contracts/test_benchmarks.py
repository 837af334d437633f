"""Every benchmark finds what it imports, started as pages say (`python -m benchmarks.NAME`), and says its defaults."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("name", NAMES)
def test_its_first_lines_say_its_defaults(name: str) -> None:
    """A page's command may leave out what the usage says is the default."""
    source = (ROOT / "benchmarks" / f"{name}.py").read_text("utf-8")
    for said in re.finditer(r"\[--(?P<option>[\w-]+) (?P<values>[\d.]+(?: [\d.]+)*)\]", source.split('"""')[1]):
        written = rf'add_argument\("--{said["option"]}",[^\n]*default=(\[[\d., ]+\]|[\d.]+)\)'
        defaults = [numbers(found) for found in re.findall(written, source)]
        assert not defaults or numbers(said["values"]) in defaults, f"{said.group()}, but {defaults}"


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[\d.]+", text)]
