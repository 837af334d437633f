"""A release of a snapshot: what it follows, when it is published, and where it is pushed. No token is a parameter."""

from __future__ import annotations

import datetime
import re

from pydantic import field_validator

from fedtext.params import Parameters
from fedtext.params.ingest import BaseUrl
from fedtext.system.errors import InputError


class Release(Parameters):
    """The release of `largefedbench.snapshot`.

    `previous` is the snapshot or release that the changelog starts from, by name or directory; null for a first one.
    `date` is the day of publication (null: today, in UTC). `repository` is the dataset on the hub, `owner/name`.
    """

    previous: str | None
    out_dir: str
    date: datetime.date | None
    repository: str | None
    endpoint: BaseUrl
    private: bool

    @field_validator("previous", mode="before")
    @classmethod
    def _number_as_name(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value

    @field_validator("repository")
    @classmethod
    def _owner_and_name(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[\w.-]+/[\w.-]+", value):
            raise InputError(f"release.repository={value!r} is not owner/name: write one such as ada/largefedbench")
        return value
