"""Clients of a corpus: which spellings of an id are one client, and who is enrolled.

- A description of a client of the corpus, which `privacy.unit: client` protects, for the start of a run and its report.
- Enrolment: the ids in a file, and which of the enrolled clients a run takes.
- Normalisation of ids: capitals, width, dashes, invisible characters and numbers.

The id column decides who is protected. `C021` and `c021`, or one name in two of Unicode's normal forms, are mostly one
person, who would be two clients, and half protected. Only the user knows. So ids are compared as they look, and two
that look alike end the run, unless `corpus.client_ids` declares them one (`folded`) or two (`exact`).

Letters of several alphabets that look alike, and typing errors, are not compared.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

import pandas as pd

from fedtext.corpora.columns import column_names
from fedtext.corpora.formats import text_lines
from fedtext.corpora.headings import is_heading, owner_columns
from fedtext.corpora.published.known import PUBLISHED
from fedtext.params.corpus import PUBLISHED_NAMES, ClientIds, Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError, MissingFileError
from fedtext.system.missing import INVISIBLE


def client_of(corpus: Corpus, partition: Partition) -> str | None:
    """Return a description of a client, as `each value of column 'patient_id'` or `each row`.

    The names of a table's columns are read, and no row. None for the bundled stand-ins, and if the columns cannot be
    read.
    """
    if not corpus.has_path or corpus.path is None:
        return None
    if partition.method != "natural":
        return f"made up by partition.method={partition.method}"
    if corpus.source in PUBLISHED_NAMES:
        return PUBLISHED[corpus.source].unit
    names = column_names(Path(corpus.path).expanduser())
    if corpus.client_column in names:
        alike = ", those that look alike being one" if corpus.client_ids == "folded" else ""
        return f"each value of column '{corpus.client_column}'{alike}"
    used = (corpus.text_column, corpus.label_column, corpus.date_column, corpus.silo_column)
    refused = corpus.client_column is not None and bool(owner_columns(names, used))
    return "each row" if names and not refused else None


_FORMAT, _CONTROL, _DASH, _DIGIT = "Cf", "Cc", "Pd", "Nd"
_MINUS = "\u2212"
_APOSTROPHES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u00b4`"), "'")
_DOTTED_I = "i\u0307"  # what a Turkish capital becomes
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,2})?")


def folded(one: str) -> str:
    """Return the id as it looks: without capitals, width, spaces and invisible characters, and with uniform dashes.

    Apostrophes are uniform too. Whole numbers are one however they were saved: `007`, `7.0` and `7e0` are `7`.
    """
    looks = ""
    while looks != one:  # a step may make room for another: a space that goes lets an accent join its letter
        looks, one = one, _step(one)
    if _NUMBER.fullmatch(looks) and (number := Decimal(looks)) == (whole := number.to_integral_value()):
        return f"{whole:f}" if whole else "0"  # not by int, which reads 4,300 digits at most
    return looks


def _step(one: str) -> str:
    shown = "".join(filter(None, map(_plain, INVISIBLE.sub("", one).translate(_APOSTROPHES))))
    looks = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold())
    return "".join(looks.replace(_DOTTED_I, "i").split())


def _plain(character: str) -> str:
    """Return a character as it looks: uniform digits and dashes, and nothing for an invisible character."""
    category = unicodedata.category(character)
    if category == _DIGIT:
        return str(unicodedata.decimal(character))
    if category == _DASH or character == _MINUS:
        return "-"
    return "" if category in (_FORMAT, _CONTROL) and not character.isspace() else character


def client_ids(given: Sequence[str], mode: ClientIds, where: str) -> list[str]:
    """Return the client ids of the `given` ids, which were read in `where`.

    Raises:
        ValueError: Two ids look alike and `mode` does not decide whether they are one, or an id is invisible.
    """
    if mode == "exact":
        return list(given)
    validate_distinct_ids(given, mode, where)
    looks = {one: folded(one) if mode == "folded" else one for one in set(given)}
    return [looks[one] for one in given]


def named_owners(owners: Sequence[str | None], digests: Sequence[str], mode: ClientIds, where: str) -> list[str]:
    """Return the clients of rows: their owners, or the digest of a row without an owner.

    Raises as `client_ids` does.
    """
    ids = iter(client_ids([owner for owner in owners if owner is not None], mode, where))
    return [digest if owner is None else next(ids) for owner, digest in zip(owners, digests, strict=True)]


def validate_distinct_ids(ids: Iterable[str], mode: ClientIds, where: str) -> None:
    """Raise ValueError if two different ids look alike and `corpus.client_ids` does not say whether they are one.

    The message names both in ASCII, so that every difference is visible; only a user with a table of their own sees it.
    """
    seen: dict[str, str] = {}
    for one in dict.fromkeys(ids) if mode != "exact" else ():
        looks = folded(one)
        if not looks:
            raise InputError(
                f"{where}: an id of invisible characters alone, {one!a}: give its rows an id",
                code="invisible-client-id",
            )
        other = seen.setdefault(looks, one)
        if other != one and mode is None:
            first, second = sorted([other, one])
            raise InputError(
                f"{where}: the ids {first!a} and {second!a} look alike, and as two clients one person would be half "
                "protected: set corpus.client_ids=folded if such ids are one client, or corpus.client_ids=exact if "
                "they are two",
                code="client-ids-look-alike",
                parameter="corpus.client_ids",
            )


def existing_list(path: str) -> Path:
    """Return the path of a file of ids without reading it; raises FileNotFoundError if there is none."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise MissingFileError(
            f"privacy.enrolment {path} is not a file: give a text file with one client id a line",
            code="missing-enrolment",
            parameter="privacy.enrolment",
            value=str(path),
        )
    return file


def listed_ids(path: str, mode: ClientIds = None) -> list[str]:
    """Return the ids in the file `path`, one a line, as the client column of the corpus has them.

    Args:
        path: The file.
        mode: `corpus.client_ids`.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is empty, or holds an id twice, or two that look alike.
    """
    file = existing_list(path)
    ids = [line.strip() for line in "".join(text_lines(file)).splitlines() if line.strip()]
    if ids and any(is_heading(cell) for cell in re.split("[,;\t]", ids[0])):
        raise InputError(
            f"privacy.enrolment {path} begins with the name of a column, which would be somebody enrolled: give one "
            "client id a line and nothing else",
            code="enrolment-with-header",
            parameter="privacy.enrolment",
            value=str(path),
        )
    if not ids:
        raise InputError(
            f"privacy.enrolment {path} holds no id: write one client id a line",
            code="empty-enrolment",
            parameter="privacy.enrolment",
            value=str(path),
        )
    if len(set(ids)) < len(ids):
        raise InputError(
            f"privacy.enrolment {path} holds an id twice: leave one line of it",
            code="id-enrolled-twice",
            parameter="privacy.enrolment",
            value=str(path),
        )
    return list(dict.fromkeys(client_ids(ids, mode, f"privacy.enrolment {path}")))


def declared_number(corpus: Corpus, privacy: Privacy) -> int:
    """Return the declared number of enrolled units, of which a run takes about `corpus.max_clients`.

    Raises:
        ValueError: A private corpus has no declaration.
    """
    if privacy.enrolment is not None:
        return len(listed_ids(privacy.enrolment.path, corpus.client_ids))
    if privacy.population is None:
        raise InputError(
            f"privacy.population is not set: how many {privacy.unit}s are enrolled, silent ones included, is declared "
            "and not read from private text. Give privacy.population=NUMBER (an estimate from what you may know), or "
            "privacy.enrolment=FILE with one client id a line; corpus.declared_public=true if the text is public",
            code="population-not-set",
            parameter="privacy.population",
        )
    return privacy.population


def is_selected(client_id: str, most: int | None, enrolled: int) -> bool:
    """Return whether a run of about `most` of the `enrolled` clients takes this one, by a hash of its id alone."""
    return most is None or derived_seed(0, "max_clients", client_id) / 2**63 < most / enrolled


def selected_clients(records: pd.DataFrame, corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Return the records of the clients that `corpus.max_clients` takes, each decided by its own id alone.

    Raises:
        ValueError: A private corpus has no declared population.
    """
    if corpus.max_clients is None:
        return records
    ids = records["client_id"]
    enrolled = ids.nunique() if corpus.is_public else declared_number(corpus, privacy)
    selected = {one for one in set(ids) if is_selected(one, corpus.max_clients, enrolled)}
    return records[ids.isin(selected)].reset_index(drop=True)
