"""A silo's audit log: a line for each inquiry, with what was asked, its cost and what was replied; never any text."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

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
    """Append one line."""
    make_own_folder(folder)
    with (folder / FILE).open("a", encoding="utf-8") as file:
        file.write(entry.model_dump_json() + "\n")


def entries(folder: Path) -> list[Entry]:
    """Return all lines; a last one that was cut off by a kill is left out."""
    file = folder / FILE
    lines = file.read_text("utf-8").split("\n")[:-1] if file.exists() else []
    return [Entry.model_validate_json(line) for line in lines]
