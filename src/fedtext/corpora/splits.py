"""Train, validation and test clients, separated by a hash of the client id, or by the corpus's own splits.

By hash a client's split depends on its own id and the seed alone: appending clients to a corpus, or reordering it,
never moves one from test to train. If few silos hold all records, records are split instead, by a hash of their text:
every silo of some hundred records has records of each split, and two copies of a text are never on both sides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import Literal, cast

import pandas as pd

from fedtext.corpora.records import SPLIT_COLUMN, SPLITS
from fedtext.params.corpus import Partition
from fedtext.params.privacy import Privacy
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError

Split = Literal["train", "validation", "test"]
FEWEST = {"train": 1, "validation": 1, "test": 4}  # clients: FID's floor lays two against two others
OTHER_DRAW = "change the shares, or change partition.seed (now"
OWN_SPLITS = "set partition.split=hash to split its clients anew, or correct the corpus"


def split_of(client_id: str, *, validation_share: float, test_share: float, seed: int) -> Split:
    """Return the split of one client; test, validation and train are successive parts of the range of its id's SHA-256.

    Raises:
        ValueError: The two shares leave nothing to train on.
    """
    return _at(derived_seed(seed, "split", client_id) / 2**63, validation_share, test_share)


def _at(position: float, validation_share: float, test_share: float) -> Split:
    if validation_share + test_share >= 1:
        raise InputError(
            f"partition.validation_share {validation_share} and partition.test_share {test_share} leave no training "
            "clients: make their sum less than 1",
            code="no-training-clients",
            parameter="partition.test_share",
            value=test_share,
        )
    if position < test_share:
        return "test"
    return "validation" if position < test_share + validation_share else "train"


def splits_of(client_ids: Iterable[str], *, validation_share: float, test_share: float, seed: int) -> dict[str, Split]:
    """Return the split of every client id, each once."""
    return {
        one: split_of(one, validation_share=validation_share, test_share=test_share, seed=seed)
        for one in dict.fromkeys(map(str, client_ids))
    }


def client_splits(records: pd.DataFrame, params: Partition) -> dict[str, Split]:
    """Return the split of every client of the records: the corpus's own if it has one and keeps it, else by hash.

    Raises:
        ValueError: The corpus's own splits are invalid.
    """
    if _keeps_own(records, params):
        return corpus_splits(records["client_id"], records[SPLIT_COLUMN])
    shares = {"validation_share": params.validation_share, "test_share": params.test_share}
    return splits_of(records["client_id"], **shares, seed=params.seed)


def record_splits(records: pd.DataFrame, params: Partition) -> list[Split]:
    """Return the split of every record under `partition.split=record`, by its text's hash, so that copies share one."""
    return text_splits(records["text"], params)


def text_splits(texts: pd.Series, params: Partition) -> list[Split]:
    """Return the split of every text, by a hash of it."""
    known = {text: hashlib.sha256(text.encode()).hexdigest() for text in set(texts)}
    splits = {
        text: _at(
            derived_seed(params.seed, "split of records", digest) / 2**63, params.validation_share, params.test_share
        )
        for text, digest in known.items()
    }
    return [splits[text] for text in texts]


def with_splits(records: pd.DataFrame, params: Partition) -> pd.DataFrame:
    """Return the records, each with its own split if records are split and not clients."""
    return records.assign(**{SPLIT_COLUMN: record_splits(records, params)}) if params.split == "record" else records


def validate_splits(records: pd.DataFrame, params: Partition) -> None:
    """Raise ValueError if a split of a public corpus has too little to learn from or to measure by.

    The splits of a private corpus are not checked, for an error could depend on a single client. Such a corpus is
    checked by its declared number or list of clients, and the release of an empty split is noise alone.
    """
    if params.split == "record" and SPLIT_COLUMN in records:
        held, of = records.drop_duplicates("text")[SPLIT_COLUMN].tolist(), "different records"
    else:
        held, of = [*client_splits(records, params).values()], "clients"
    by_hash = f"by hash, at {_shares(params)}: have more {of.split()[-1]}, {OTHER_DRAW} {params.seed})"
    own = f"in the corpus's own splits: {OWN_SPLITS}, or raise corpus.max_clients if it is set"
    validate_split_size(held, own if _keeps_own(records, params) else by_hash, of)


def validate_split_size(splits: Collection[str], where_and_remedy: str, of: str = "clients") -> None:
    """Raise ValueError if a split has too few of the `splits`; the error does not name the number."""
    held = list(splits)
    for name in SPLITS:
        if held.count(name) < FEWEST[name]:
            few = "none" if FEWEST[name] == 1 else f"fewer than {FEWEST[name]}"
            raise InputError(f"{few} of the {of} fall into the {name} split {where_and_remedy}", code="split-too-small")


def validate_held_out_count(samples: int) -> None:
    """Raise ValueError if non-private figures would be computed on too few held-out samples."""
    if samples < FEWEST["test"]:
        raise InputError(
            f"fewer than {FEWEST['test']} held-out samples hold text, and open figures need as many: have more clients "
            "or longer texts, raise partition.test_share, or change partition.seed",
            code="held-out-text-too-little",
        )


def sample_splits(samples: pd.DataFrame, clients: pd.DataFrame, params: Partition) -> pd.Series:
    """Return the split of every sample: its record's own, or its client's.

    Args:
        samples: Samples of the clients' records, with `SPLIT_COLUMN` if records are split.
        clients: The clients' records.
        params: How they are split.
    """
    return (
        samples[SPLIT_COLUMN] if params.split == "record" else samples["client_id"].map(client_splits(clients, params))
    )


def validate_client_split(params: Partition, privacy: Privacy) -> None:
    """Raise ValueError if records would be split while the unit of privacy is a whole client."""
    if params.split == "record" and privacy.unit != "record":
        raise InputError(
            f"partition.split is record and privacy.unit {privacy.unit}: a client with records on both sides would be "
            "asked twice, and protected once; set privacy.unit=record, or partition.split=hash",
            code="record-split-of-clients",
            parameter="partition.split",
            value="record",
        )


def corpus_splits(owners: Iterable[str], given: Iterable[str]) -> dict[str, Split]:
    """Return the split of every client by the corpus's own splits: record by record `owners` and their `given` split.

    Raises:
        ValueError: A split has another name, or a client is in two splits.
    """
    splits: dict[str, Split] = {}
    for owner, split in zip(owners, given, strict=True):
        if split not in SPLITS:
            raise InputError(
                f"the corpus puts a client into the split {split!r}: it must be one of {', '.join(SPLITS)}",
                code="unknown-split",
            )
        if splits.setdefault(owner, cast(Split, split)) != split:
            raise InputError(
                f"the corpus has records of one client in {splits[owner]} and in {split}: {OWN_SPLITS}",
                code="client-in-two-splits",
            )
    return splits


def _keeps_own(records: pd.DataFrame, params: Partition) -> bool:
    """Return whether the corpus defines the clients' splits and `params` keeps them."""
    return params.split == "corpus" and SPLIT_COLUMN in records


def _shares(params: Partition) -> str:
    return f"partition.validation_share {params.validation_share} and partition.test_share {params.test_share}"
