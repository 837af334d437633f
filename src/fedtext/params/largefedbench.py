"""How a LargeFedBench snapshot is built from raw pages, released and exported.

`LargeFedBench` says what is read, cleaned, left out, cut and split. `Release` says which snapshot a release follows,
when it is published and to which repository it is pushed; no token is a parameter. `Export` names the snapshot that is
written in the format of POPri's authors.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from fedtext.params import Parameters, Seed, words
from fedtext.params.corpus import Spans
from fedtext.params.ingest import BaseUrl
from fedtext.system.errors import InputError, MissingFileError

Source = Literal["ca", "uk", "us", "biorxiv", "medrxiv", "pubmed", "openreview", "scitldr"]
ClientUnit = Literal["speech", "speaker_day", "speaker"]
LicenseId = Literal[
    "public_domain_us", "open_parliament_3", "speakers_permission_ca", "cc0", "cc_by", "cc_by_4_0", "cc_by_nc",
    "cc_by_nd", "cc_by_nc_nd", "pubmed", "apache_2_0",
]  # fmt: skip


class Splitting(Parameters):
    """`hash`: by the client id, so that new data move no client. `temporal`: by date, newest text for testing.

    The shares and the seed belong to `hash`; the dates, the first of each split's clients, to `temporal`.
    """

    method: Literal["hash", "temporal"]
    validation_share: float = Field(ge=0, lt=1)
    test_share: float = Field(ge=0, lt=1)
    seed: Seed
    validation_from: datetime.date | None
    test_from: datetime.date | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.validation_share + self.test_share >= 1:
            raise InputError(
                "validation_share and test_share leave nothing to train on: make their sum less than 1",
                code="nothing-left-to-train-on",
                parameter="largefedbench.split",
            )
        dates = f"largefedbench.split.validation_from {self.validation_from} and test_from {self.test_from}"
        if self.method == "hash" and (self.validation_from or self.test_from):
            raise InputError(
                f"{dates} say nothing in a split by hash: leave them null, or set method=temporal",
                code="dates-without-meaning",
                parameter="largefedbench.split.method",
                value="hash",
            )
        if self.method == "temporal":
            if self.validation_from is None or self.test_from is None:
                raise InputError(
                    f"a temporal split needs two dates, but has {dates}: set both",
                    code="one-date-missing",
                    parameter="largefedbench.split.method",
                    value="temporal",
                )
            if self.validation_from >= self.test_from:
                raise InputError(
                    f"{dates} leave no day for validation: set an earlier validation_from",
                    code="no-day-for-validation",
                    parameter="largefedbench.split.validation_from",
                )
        return self


def half_year(name: str, *, parameter: str = "largefedbench.window") -> tuple[datetime.date, datetime.date]:
    """Return first and last day of a half-year such as `2025H1`, the value of a parameter.

    Raises:
        InputError: the name is no half-year's.
    """
    match = re.fullmatch(r"(\d{4})H([12])", name)
    if match is None or match[1] == "0000":
        raise InputError(
            f"{parameter}={name!r} is no half-year: write one such as 2025H1",
            code="not-a-half-year",
            parameter=parameter,
            value=name,
        )
    year, half = int(match[1]), int(match[2])
    return (datetime.date(year, 1, 1), datetime.date(year, 6, 30)) if half == 1 else (
        datetime.date(year, 7, 1), datetime.date(year, 12, 31)
    )  # fmt: skip


class LargeFedBench(Parameters):
    """One snapshot. Sources without raw pages are left out.

    `model_cutoff` keeps only text dated after it; undated text is dropped if any date is set. `exclude_licenses` names
    licence ids (docs/largefedbench). A spoken sentence with a smaller share of letters than `min_letter_share` is
    dropped: the paper's rule, with a number counted as one character; 0 keeps them. `client` defines a client: a speech
    as in the paper, a speaker's speeches of a day, or all of a speaker's; each text without a speaker is a client of
    its own. `near_duplicates`: `drop` keeps the first text of a cluster, `group` keeps all and puts them into the first
    one's split, `report` only lists them, `ignore` does not search. `near_duplicate_similarity` starts at 0.7, where
    MinHash's bands find 99% of the pairs; at 0.5 they find 64%. `window` is a half-year by name (`2025H1`) in place of
    `from_date` and `to_date`. `takedown` is a file of clients and speakers to leave out; by default
    `<raw_dir>/takedown.txt`, if it exists. `personal_data: remove` removes telephone numbers and e-mail addresses from
    the texts, `flag` only marks the texts that have them. `date_published` is for the Croissant description; by default
    it is the date of the newest text. `shard_bytes` changes how a build runs, never its bytes.
    """

    raw_dir: str
    out_dir: str
    snapshot: str | None
    sources: tuple[Source, ...]
    cleaning: Literal["clean", "published"]
    min_letter_share: float = Field(ge=0, le=1)
    on_bad_page: Literal["continue", "stop"]
    window: str | None
    from_date: datetime.date | None
    to_date: datetime.date | None
    model_cutoff: datetime.date | None
    exclude_licenses: tuple[LicenseId, ...]
    takedown: str | None
    personal_data: Literal["flag", "remove"]
    date_published: datetime.date | None
    tokenizer: str
    chunking: Spans
    split: Splitting
    client: ClientUnit
    near_duplicates: Literal["drop", "group", "report", "ignore"]
    near_duplicate_similarity: float = Field(ge=0.7, le=1)
    shard_bytes: int = Field(ge=1)

    @model_validator(mode="before")
    @classmethod
    def _dates_of_window(cls, values: object) -> object:
        if not isinstance(values, dict) or values.get("window") is None:
            return values
        first, last = half_year(str(values["window"]))
        asked = {"from_date": first, "to_date": last}
        for name, day in asked.items():
            if values.get(name) is not None and str(values[name]) != str(day):
                raise InputError(
                    f"largefedbench.{name}={values[name]} and window={values['window']} contradict each other: "
                    "leave one out",
                    code="window-contradicts-dates",
                    parameter=f"largefedbench.{name}",
                    value=values[name],
                )
        return values | asked

    @field_validator("snapshot", mode="before")
    @classmethod
    def _number_as_name(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value  # 2025.1 on the command line is a number

    _words = field_validator("sources", "exclude_licenses", mode="before")(words)

    @field_validator("snapshot")
    @classmethod
    def _plain_name(cls, value: str | None) -> str | None:
        if value is not None and (not value or "/" in value or value.startswith(".")):
            raise InputError(
                f"snapshot name {value!r} is not a plain directory name: use one such as 2025.1",
                code="not-a-directory-name",
                parameter="largefedbench.name",
                value=value,
            )
        return value

    @model_validator(mode="after")
    def _one_client_one_split(self) -> Self:
        if self.client == "speaker" and self.split.method == "temporal":
            raise InputError(
                "largefedbench.client=speaker has no date to split by, for one speaker speaks on many days: set "
                "client=speaker_day or split.method=hash",
                code="speaker-has-no-date",
                parameter="largefedbench.client",
                value="speaker",
            )
        if self.client != "speech" and self.near_duplicates == "group":
            raise InputError(
                f"largefedbench.near_duplicates=group would bind the splits of all {self.client} clients that share a "
                "formula: set near_duplicates=drop, or client=speech",
                code="formulas-bind-clients",
                parameter="largefedbench.near_duplicates",
                value="group",
            )
        return self

    def content_parameters(self) -> dict[str, object]:
        """Return the parameters that determine a snapshot's bytes, for its provenance: no paths and no resources."""
        left_out = {"raw_dir", "out_dir", "shard_bytes", "takedown", "window"}
        return self.model_dump(mode="json", exclude=left_out) | {"takedown_sha256": self.takedown_sha256()}

    def takedown_file(self) -> Path | None:
        """Return the takedown list in use, None if there is none.

        Raises:
            MissingFileError: the list is not a file: a device, a folder, a link to nowhere, or nothing.
        """
        usual = Path(self.raw_dir) / "takedown.txt"
        if self.takedown is None and not os.path.lexists(usual):
            return None
        path = usual if self.takedown is None else Path(self.takedown)
        if not path.is_file():  # whoever asked to be left out must not come back because a link broke
            raise MissingFileError(
                f"largefedbench.takedown={path} is not a file: name the list, or null",
                code="missing-takedown",
                parameter="largefedbench.takedown",
                value=str(path),
            )
        return path

    def takedown_sha256(self) -> str:
        """Return the digest of the takedown list, empty without one; a snapshot never contains the list itself."""
        path = self.takedown_file()
        return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""


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
            raise InputError(
                f"release.repository={value!r} is not owner/name: write one such as ada/largefedbench",
                code="not-a-repository",
                parameter="release.repository",
                value=value,
            )
        return value


class Export(Parameters):
    """One config of a snapshot: a name below `largefedbench.out_dir`, or a directory."""

    snapshot: str | None
    config: str | None

    @field_validator("snapshot", mode="before")
    @classmethod
    def _number_as_name(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value  # 2025.1 on the command line is a number
