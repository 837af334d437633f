"""Who is enrolled: the ids in a file, and which of the enrolled clients a run takes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fedtext.corpora.client_ids import client_ids
from fedtext.params.corpus import ClientIds, Corpus
from fedtext.params.privacy import Privacy
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError, MissingFileError


def existing_list(path: str) -> Path:
    """The file `path` of ids, of which nothing is read; raises FileNotFoundError if there is none."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise MissingFileError(f"privacy.enrolment {path} is not a file: give a text file with one client id a line")
    return file


def listed_ids(path: str, mode: ClientIds = None) -> list[str]:
    """The ids in the file `path`, one a line, as the client column of the corpus has them; `mode`: `corpus.client_ids`.

    Raises:
        FileNotFoundError: no such file.
        ValueError: it is empty, or holds an id twice, or two that look alike.
    """
    file = existing_list(path)
    ids = [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not ids:
        raise InputError(f"privacy.enrolment {path} holds no id: write one client id a line")
    if len(set(ids)) < len(ids):
        raise InputError(f"privacy.enrolment {path} holds an id twice: leave one line of it")
    return list(dict.fromkeys(client_ids(ids, mode, f"privacy.enrolment {path}")))


def declared_number(corpus: Corpus, privacy: Privacy) -> int:
    """How many units are enrolled, by declaration, of which a run takes about `corpus.max_clients`.

    Raises:
        ValueError: a private corpus without a declaration.
    """
    if privacy.enrolment is not None:
        return len(listed_ids(privacy.enrolment.path, corpus.client_ids))
    if privacy.population is None:
        raise InputError(
            f"privacy.population is not set: how many {privacy.unit}s are enrolled, silent ones included, is declared "
            "and not read from private text. Give privacy.population=NUMBER (an estimate from what you may know), or "
            "privacy.enrolment=FILE with one client id a line; corpus.declared_public=true if the text is public"
        )
    return privacy.population


def is_taken(client_id: str, most: int | None, enrolled: int) -> bool:
    """Whether a run that takes about `most` of the `enrolled` clients takes this one: by a hash of its id alone."""
    return most is None or derived_seed(0, "max_clients", client_id) / 2**63 < most / enrolled


def taken_clients(records: pd.DataFrame, corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Records of the clients that `corpus.max_clients` takes: no client's place depends on who else is there.

    Raises:
        ValueError: a private corpus without a declared population.
    """
    if corpus.max_clients is None:
        return records
    ids = records["client_id"]
    enrolled = ids.nunique() if corpus.is_public else declared_number(corpus, privacy)
    taken = {one for one in set(ids) if is_taken(one, corpus.max_clients, enrolled)}
    return records[ids.isin(taken)].reset_index(drop=True)
