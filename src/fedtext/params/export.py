"""Which snapshot is written in the form of POPri's authors."""

from __future__ import annotations

from pydantic import field_validator

from fedtext.params import Parameters


class Export(Parameters):
    """One config of a snapshot: a name below `largefedbench.out_dir`, or a directory."""

    snapshot: str | None
    config: str | None

    @field_validator("snapshot", mode="before")
    @classmethod
    def _number_as_name(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value  # 2025.1 on the command line is a number
