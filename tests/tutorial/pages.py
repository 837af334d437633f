"""Tutorials as programs: the files that a page shows, written into a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
COPIED = ("src", "conf", "tests", "audits", "docs", "README.md", "pyproject.toml")
SHOWN = re.compile(r"^(?:In )?`([\w./]+)`(?:(?!\n\n).)*\n\n```(\w+)\n(.*?)^```", re.M | re.S)


class Shown(NamedTuple):
    """A file of a page: a whole one, or (`diff`) lines added to and taken from one that is there."""

    path: str
    language: str
    text: str


def files(page: str) -> list[Shown]:
    """The files that a page shows: a path at the start of a line, then a block of code."""
    found = [Shown(*groups) for groups in SHOWN.findall((ROOT / "docs" / page).read_text("utf-8"))]
    assert len({one.path for one in found}) == len(found), "a file is shown once"
    return found


def copy_of_the_project(folder: Path) -> Path:
    """The project's sources, parameters and tests, with a data folder of its own."""
    for name in COPIED:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, folder / name, ignore=shutil.ignore_patterns("__pycache__", "local", "bundled"))
        else:
            shutil.copy(place, folder / name)
    (folder / "conf" / "local").mkdir(exist_ok=True)
    (folder / "src" / "fedtext" / "bundled").symlink_to(ROOT / "src" / "fedtext" / "bundled")
    return folder


def write(shown: list[Shown], project: Path) -> None:
    """Every shown file in its place; a diff's lines go where the lines around them are."""
    for one in shown:
        place = project / one.path
        if one.language == "diff":
            place.write_text(patched(place.read_text("utf-8"), one.text), "utf-8")
        else:
            assert not place.exists(), f"{one.path} is there already: show a diff of it"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(one.text, "utf-8")


def patched(text: str, diff: str) -> str:
    """The text after a diff's hunks, each of which names lines that are there once.

    Raises:
        ValueError: a hunk's lines are not in the text, or are there more than once.
    """
    for hunk in re.split(r"^@@.*\n", diff, flags=re.M):
        lines = hunk.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in marks) for marks in (" -", " +"))
        if text.count(before) != 1 and lines:
            raise ValueError(f"{before!r} is there {text.count(before)} times: a hunk must name one place")
        text = text.replace(before, after) if lines else text
    return text


def run(project: Path, *command: str) -> str:
    """What a command in the copy says; it must succeed."""
    env = {**os.environ, "PYTHONPATH": str(project / "src"), "FEDTEXT_PROGRESS": "0", "FEDTEXT_TRACKING": "off"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout
