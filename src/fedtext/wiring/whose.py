"""By what of a private corpus its people are known in another data root: the ids of clients, and texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fedtext.corpora.client_ids import folded
from fedtext.corpora.enrolment import listed_ids

RECORDS = "private_records"  # what every corpus is read into, before it is split or cut


def units_known_by(records: pd.DataFrame, parameters: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Ids and texts. Ids are those that a column of a table or the enrolment names: no other ones are anybody's.

    They are folded, whatever `corpus.client_ids` says: another file may spell a person in another way.
    """
    corpus, privacy = parameters.get("corpus") or {}, parameters.get("privacy") or {}
    named = corpus.get("source") == "table" and corpus.get("client_column") is not None
    ids = set(records["client_id"].astype(str)) if named else set()
    if isinstance(enrolment := privacy.get("enrolment"), str):
        ids |= set(listed_ids(enrolment))
    return set(map(folded, ids)), set(records["text"].astype(str))
