"""A silo's audit log: a line for each inquiry, with what was asked, its cost and what was replied; never any text."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from fedtext.params import Parameters
from fedtext.system.folders import make_own_folder

FILE = "asked.jsonl"
Outcome = Literal["answered", "repeated", "refused", "failed"]


class Entry(Parameters):
    """One inquiry.

    Attributes:
        when: When it came, in UTC.
        question: The kind of question; empty if it could not be read.
        name: The query's name.
        round: The query's round.
        numbers: How many numbers were asked.
        noise_multiplier: The deviation of the noise over the clip norm.
        epsilon: What this release costs by itself, by the silo's own account.
        outcome: `answered`; `repeated`, the same bytes as before at no cost; `refused`; or `failed`.
        sentence: Why it was refused.
        silos: How many silos are in the secure sum that it is for; 0: it is for a sum of this silo alone.
    """

    when: str
    question: str
    name: str
    round: int
    numbers: int
    noise_multiplier: float
    epsilon: float | None
    outcome: Outcome
    sentence: str
    silos: int = Field(0, ge=0)


def add_entry(folder: Path, entry: Entry) -> None:
    """Append one line; behind one that was cut off by a kill it begins anew."""
    make_own_folder(folder)
    with (folder / FILE).open("a+b") as file:
        file.seek(max(file.tell() - 1, 0))
        begun = file.read() not in (b"", b"\n")
        file.write(b"\n" * begun + entry.model_dump_json().encode() + b"\n")


def entries(folder: Path) -> list[Entry]:
    """Return all lines; one that was cut off by a kill is left out."""
    file = folder / FILE
    lines = file.read_bytes().split(b"\n") if file.exists() else []
    return [entry for line in lines if (entry := _read(line)) is not None]


def _read(line: bytes) -> Entry | None:
    try:
        return Entry.model_validate_json(line)
    except ValidationError:
        return None
