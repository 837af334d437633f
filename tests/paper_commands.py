"""The commands that conf/paper and conf/flexible print in their comments: each runs one paper's method, its models."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

CONF = Path(__file__).parents[1] / "conf"
ENVIRONMENTS = ("paper", "flexible")
COMMAND = re.compile(
    r"kedro run --env (?P<env>paper|flexible) --pipelines (?P<pipeline>\w+) --params\n(?P<params>(?:#[^\n]*\n)+)"
)
PLACEHOLDER = re.compile(r"[A-Z]+(\.json)?")  # what the reader puts a value of their own for


class Command(NamedTuple):
    """A printed command: the file that prints it, its environment, its pipeline and its `--params`."""

    file: str
    env: str
    pipeline: str
    given: dict[str, str]


def printed_commands() -> list[Command]:
    """Return all of them, in the order of files; a value in capitals is the reader's own."""
    found = []
    for file in files_of_parameters():
        for match in COMMAND.finditer(file.read_text("utf-8")):
            found.append(Command(file.stem, match["env"], match["pipeline"], _given(match["params"])))
    return found


def files_of_parameters() -> list[Path]:
    """Return the environments' files of parameters, in order."""
    return [file for env in ENVIRONMENTS for file in sorted((CONF / env / "parameters").glob("*.yml"))]


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
