"""Preference pairs as the private corpus of a run: `corpus` names the file, its form, and who takes part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from fedtext.corpora.enrolment import taken_clients
from fedtext.corpora.preferences import PAIR_COLUMNS, PairForm, read_pairs
from fedtext.corpora.published.dialogues import ASSISTANT, HUMAN
from fedtext.corpora.records import SPLIT_COLUMN
from fedtext.corpora.rows import own_names
from fedtext.corpora.splits import splits_of, text_splits
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.system.errors import InputError, MissingFileError

# The form of the pairs that each source of a corpus has.
FORMS: Mapping[str, PairForm] = MappingProxyType(
    {"hh": "hh", "openassistant": "openassistant", "tldr": "tldr", "table": "table"}
)
COPIED = 0.2  # share of public prompts that may stand among the private ones by chance


def private_pairs(corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """The pairs of `corpus.path` in `PAIR_COLUMNS`, of about `corpus.max_clients` clients.

    Raises:
        FileNotFoundError: no such file.
        ValueError: the source has no pairs, the file is of another form, or one client holds all of them.
    """
    path = existing_pairs(corpus)
    pairs = read_pairs(pair_form(corpus), path, corpus.client_column, corpus.client_ids)
    refuse_alone(pairs, str(path))
    return taken_clients(pairs, corpus, privacy)


def existing_pairs(corpus: Corpus) -> Path:
    """The file `corpus.path`, of which nothing is read.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no path is given, or the source has no pairs.
    """
    form = pair_form(corpus)
    if corpus.path is None:
        raise InputError(f"corpus.path is not set: name the file of preference pairs of the form '{form}'")
    path = Path(corpus.path).expanduser()
    if not path.is_file():
        raise MissingFileError(f"corpus.path {path} is not a file: check the path (relative to {Path.cwd()})")
    return path


def pair_form(corpus: Corpus) -> PairForm:
    """In which form a source has pairs.

    Raises:
        ValueError: it has none.
    """
    if corpus.source not in FORMS:
        raise InputError(
            f"corpus.source '{corpus.source}' has no preference pairs: give corpus.path and corpus.source="
            f"{' or '.join(FORMS)}"
        )
    return FORMS[corpus.source]


def refuse_alone(pairs: pd.DataFrame, where: str) -> None:
    """Raise ValueError if one client holds all pairs: there is nobody to hide among."""
    if pairs["client_id"].nunique() < 2:
        raise InputError(f"{where} has the pairs of one client only: nobody to hide among; give a file of more")


def refuse_private_prompts(pairs: pd.DataFrame, prompts: pd.DataFrame, where: str) -> None:
    """Raise ValueError if many of the public prompts are private ones: all of them would be shown."""
    private = set().union(*map(_questions, pairs["prompt"]))
    shared = sum(not _questions(prompt).isdisjoint(private) for prompt in prompts["prompt"])
    if shared > COPIED * len(prompts):
        raise InputError(
            f"corpus.public_path {where} holds prompts of the private pairs, and all its prompts would be public: name "
            "a file of public prompts"
        )


def _questions(prompt: str) -> set[str]:
    """What a prompt asks, with single spaces: all of it, and each person's turn where it is a transcript.

    HH and OpenAssistant write `Human: X`, a blank line and `Assistant:`, where a file of prompts has `X`.
    """
    said = [turn.partition(ASSISTANT)[0] for turn in f"\n\n{prompt}".split(HUMAN)[1:]]
    return {" ".join(turn.split()) for turn in (prompt, *said)} - {""}


def dealt_by_prompt(pairs: pd.DataFrame, params: Partition) -> pd.DataFrame:
    """The pairs with a split of their own, where some are clients of their own: by a hash of the prompt alone.

    So no prompt of such pairs is in training and held out. A pair's split follows from the pair itself, and that of a
    pair that somebody owns from the owner's id, as ever. `partition.split=hash` goes by names in either case.
    """
    digests = own_names(*(pairs[column].tolist() for column in PAIR_COLUMNS[:3]))
    ownerless = [
        name.partition("-")[0] == digest.partition("-")[0]  # equal pairs are numbered
        for name, digest in zip(pairs["client_id"], digests, strict=True)
    ]
    if not any(ownerless):
        return pairs
    by_prompt = text_splits(pairs["prompt"], params)
    shares = {"validation_share": params.validation_share, "test_share": params.test_share}
    by_owner = splits_of(pairs["client_id"], **shares, seed=params.seed)
    own = zip(ownerless, by_prompt, pairs["client_id"], strict=True)
    return pairs.assign(**{SPLIT_COLUMN: [split if alone else by_owner[name] for alone, split, name in own]})


def with_new_prompts(train: pd.DataFrame, validation: pd.DataFrame, test: pd.DataFrame) -> list[pd.DataFrame]:
    """The splits, the held-out ones without pairs whose prompt stands in a split before: they would not be held out.

    Which pairs are left depends on what training clients hold, so this is for public pairs alone.

    Raises:
        ValueError: nothing is left.
    """
    kept, known = [train], set(train["prompt"])
    for name, pairs in (("validation", validation), ("test", test)):
        new = pairs[~pairs["prompt"].isin(known)].reset_index(drop=True)
        if new.empty:
            raise InputError(
                f"the prompts of all {len(pairs)} {name} pairs stand in training as well, so none is held out: give a "
                "corpus of more prompts, or leave out its column of clients and set partition.split to corpus"
            )
        kept, known = [*kept, new], known | set(new["prompt"])
    return kept


def as_records(pairs: pd.DataFrame) -> pd.DataFrame:
    """Pairs with a `text` of each, all that it holds, by which a pair that is a unit has its code."""
    held = pairs[list(PAIR_COLUMNS[:3])].to_numpy().tolist()
    return pairs.assign(text=["\x1e".join(one) for one in held])
