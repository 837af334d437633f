"""The half-yearly round of a benchmark's maintainer: which half-year, what is pulled, and what counts as a change."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from fedtext.params import Parameters, words
from fedtext.params.ingest import LiveSource
from fedtext.params.largefedbench import half_year


class Calendar(Parameters):
    """One half-year's round: pull, build, compare, and show what a person must look at.

    `half_year` is its name, such as 2026H1, and the name of the snapshot unless `largefedbench.snapshot` has one.
    `sources` are pulled before the build; none of them builds from the pages that are there. `previous` is the snapshot
    to compare with (null: that of the half-year before, if it is there). A count is shown if it lies more than
    `deviations` standard deviations from that of the half-years before.
    """

    half_year: str | None
    sources: Annotated[tuple[LiveSource, ...], BeforeValidator(words)]
    previous: str | None
    deviations: float = Field(gt=0)

    @field_validator("half_year")
    @classmethod
    def _is_one(cls, value: str | None) -> str | None:
        if value is not None:
            half_year(value, parameter="calendar.half_year")
        return value

    @field_validator("previous", mode="before")
    @classmethod
    def _number_as_name(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value


def half_year_before(name: str) -> str:
    """Return the name of the half-year before."""
    year, half = int(name[:4]), name[4:]
    return f"{year}H1" if half == "H2" else f"{year - 1}H2"
