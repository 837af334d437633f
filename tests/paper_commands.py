"""The commands that conf/paper prints, read from its comments: each runs one paper's method with its models."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

PAPER = Path(__file__).parents[1] / "conf" / "paper"
COMMAND = re.compile(r"kedro run --env paper --pipelines (?P<pipeline>\w+) --params\n(?P<params>(?:#[^\n]*\n)+)")
PLACEHOLDER = re.compile(r"[A-Z]+(\.json)?")  # what the reader puts a value of their own for


class Command(NamedTuple):
    """A printed command: the file that prints it, its pipeline and its `--params`."""

    file: str
    pipeline: str
    given: dict[str, str]


def printed_commands() -> list[Command]:
    """Return all of them, in the order of files; a value in capitals is the reader's own."""
    found = []
    for file in sorted((PAPER / "parameters").glob("*.yml")):
        for match in COMMAND.finditer(file.read_text("utf-8")):
            found.append(Command(file.stem, match["pipeline"], _given(match["params"])))
    return found


def _given(comment: str) -> dict[str, str]:
    """Return names and values of the lines that end with a comma, and of the one after them."""
    told = ""
    for line in comment.splitlines():
        told += line.lstrip("# ")
        if not told.endswith(","):
            break
    (whole,) = shlex.split(told)
    given: dict[str, str] = {}
    for part in whole.split(","):
        name, is_pair, value = part.partition("=")
        if is_pair:
            given[name] = value
        else:
            given[[*given][-1]] += f",{part}"
    return given


def without_placeholders(given: dict[str, str]) -> dict[str, str]:
    """Return what the command says itself."""
    return {name: value for name, value in given.items() if not PLACEHOLDER.fullmatch(value)}
