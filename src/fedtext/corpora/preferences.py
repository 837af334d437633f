"""Preference pairs from local files, public or as the private corpus of a run.

A pair has a prompt, the answer that an annotator chose, and the one that was rejected.

The formats are Anthropic's hh-rlhf; OpenAssistant's messages, whose siblings people ranked; the comparisons of OpenAI's
summarize-from-feedback (TL;DR), each with its worker; and a table. An empty prompt or answer, two answers that are the
same, or answers to two prompts are no preference. Such pairs are left out, so that their units contribute nothing and
no file is refused.

For the private corpus of a run, `corpus` names the file, its format, and who takes part.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from os.path import commonprefix
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import pandas as pd

from fedtext.corpora.clients import named_owners, selected_clients
from fedtext.corpora.columns import USUAL, chosen_columns, format_of, parquet_parts
from fedtext.corpora.formats import READERS, JsonError, json_lines
from fedtext.corpora.published.known import FormError, list_of, text_of, value_of
from fedtext.corpora.published.loader import format_error
from fedtext.corpora.published.readers import ASSISTANT, HUMAN, Message, conversation, messages
from fedtext.corpora.records import SPLIT_COLUMN
from fedtext.corpora.row_values import digest_names, name_of, validate_unicode
from fedtext.corpora.splits import splits_of, text_splits
from fedtext.params.corpus import ClientIds, Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.system.errors import InputError, MissingFileError
from fedtext.system.missing import missing
from fedtext.system.remote_files import local_path

PAIR_COLUMNS = ("prompt", "chosen", "rejected", "client_id")
PUBLIC_PAIRS = "dpprefsyn.public_pairs"
PairForm = Literal["hh", "openassistant", "tldr", "table"]


class Pair(NamedTuple):
    """Two answers to a prompt; without a `client_id` the pair is a client of its own."""

    prompt: str
    chosen: str
    rejected: str
    client_id: str | None = None


def read_pairs(
    form: PairForm,
    place: str | Path,
    client_column: str | None = USUAL["client_column"],
    client_ids: ClientIds = "exact",
) -> pd.DataFrame:
    """Read the pairs of the file `place` in `PAIR_COLUMNS`, in file order; those without an owner get a digest.

    Args:
        form: Format of the file.
        place: The file; a table may be a directory of Parquet parts.
        client_column: Column of the owners in a table, None if each pair is a client of its own; other formats define
            the owners themselves.
        client_ids: Whether owners whose ids look alike are one.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is of another format or damaged, or has no pair.
    """
    path = Path(place).expanduser()
    if not path.is_file() and not (form == "table" and path.is_dir() and parquet_parts(path)):
        raise MissingFileError(
            f"{path} is not a file: check the path of the preference pairs", code="missing-pairs", value=str(path)
        )
    described, read = PAIR_FORMS[form]
    try:
        pairs = [pair for pair in read(path, client_column) if is_preference(*pair[:3])]
        if not pairs:
            raise FormError("no pairs", code="no-pairs")
    except (FormError, JsonError) as error:
        raise format_error(path, error, f"the form '{form}'", described, "read it as form 'table'") from None
    columns = dict(zip(PAIR_COLUMNS, zip(*pairs, strict=True), strict=True))
    validate_unicode(columns, path, pd.RangeIndex(1, len(pairs) + 1, name="pairs"))
    own = digest_names(*(list(column) for column in list(zip(*pairs, strict=True))[:3]))
    owners = named_owners([pair.client_id or None for pair in pairs], own, client_ids, str(path))
    rows = [(*pair[:3], owner) for pair, owner in zip(pairs, owners, strict=True)]
    return pd.DataFrame(rows, columns=list(PAIR_COLUMNS), dtype=object)


def read_public_pairs(place: str) -> pd.DataFrame:
    """Read the table of public pairs at `place`: a file, a directory of Parquet parts, or an address of either.

    Raises:
        OSError: Nothing lies there, or it cannot be read.
        ValueError: It is of another kind or damaged, or has no pair.
    """
    return read_pairs("table", local_path(place, PUBLIC_PAIRS))


def preferred(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `pairs` that are preferences."""
    columns = (pairs[name] for name in PAIR_COLUMNS[:3])
    kept = [is_preference(*row) for row in zip(*columns, strict=True)]
    return pairs[kept].reset_index(drop=True)


def is_preference(prompt: str, chosen: str, rejected: str) -> bool:
    """Return whether the prompt is not empty, both answers are there, and they differ."""
    return all(part.strip() for part in (prompt, chosen, rejected)) and chosen.strip() != rejected.strip()


def hh_pairs(path: Path, _: str | None) -> Iterator[Pair]:
    """Yield hh-rlhf's pairs: the prompt is the shared part of both transcripts, up to the assistant's answer.

    Clients are those of `hh`. Transcripts that differ in an earlier turn as well are two prompts: their pair has no
    answers, and is left out.
    """
    for number, row in json_lines(path):
        where = f"line {number}"
        chosen, rejected = (text_of(row, name, where) for name in ("chosen", "rejected"))
        shared = commonprefix([chosen, rejected])  # noqa: RUF071 - of texts, not of paths
        end = shared.rfind(ASSISTANT) + len(ASSISTANT)
        if end < len(ASSISTANT):
            raise FormError(f"{where}: 'chosen' and 'rejected' do not begin alike", code="answers-begin-differently")
        two_prompts = any(turn in transcript[end:] for turn in (HUMAN, ASSISTANT) for transcript in (chosen, rejected))
        better, worse = ("", "") if two_prompts else (chosen[end:].strip(), rejected[end:].strip())
        yield Pair(shared[:end].strip(), better, worse, conversation(chosen, where))


def openassistant_pairs(path: Path, _: str | None) -> Iterator[Pair]:
    """Yield the best and the worst ranked answer to each message: one pair each, so that none weighs more.

    The prompt is the conversation so far. The client is the writer of the message, or its tree if no writer is named.
    """
    known = {message.id: message for message in messages(path)}
    answers: defaultdict[str, list[Message]] = defaultdict(list)
    for message in known.values():
        if message.role == "assistant" and message.rank is not None and message.parent in known:
            answers[message.parent].append(message)
    for asked, given in answers.items():
        ranked = sorted(given, key=lambda message: message.rank or 0)
        if ranked[0].rank != ranked[-1].rank:
            yield Pair(_conversation(asked, known), ranked[0].text, ranked[-1].text, known[asked].owner)


def _conversation(name: str, known: Mapping[str, Message]) -> str:
    """Return the conversation up to a message, in turns by Human and Assistant, ready for the assistant's next."""
    turns: list[str] = []
    message: Message | None = known[name]
    while message is not None and len(turns) < len(known):  # a parent that is its own descendant must not hold us
        turns.append(f"{'Assistant' if message.role == 'assistant' else 'Human'}: {message.text}")
        message = known.get(message.parent or "")
    return "\n\n".join([*reversed(turns), "Assistant:"])


def tldr_pairs(path: Path, _: str | None) -> Iterator[Pair]:
    """Yield a post with a worker's chosen and rejected summary; the worker is the client."""
    for number, row in json_lines(path):
        where = f"line {number}"
        summaries, choice = list_of(row, "summaries", where), value_of(row, "choice", where)
        if len(summaries) != 2 or choice not in (0, 1):
            raise FormError(f"{where}: not two 'summaries' with a 'choice' of 0 or 1", code="no-choice-of-two")
        chosen, rejected = (_summary(summaries[which], where) for which in (choice, 1 - choice))
        post = str(value_of(value_of(row, "info", where), "post", where))
        yield Pair(post, chosen, rejected, text_of(row, "worker", where))


def _summary(summary: object, where: str) -> str:
    return str(value_of(summary, "text", where)).strip()


def table_pairs(path: Path, client_column: str | None) -> Iterator[Pair]:
    """Yield the rows of CSV, Parquet or JSON Lines with prompt, chosen, rejected and, if there is one, an owner."""
    choose = partial(_pair_columns, client_column, path)
    for number, row in _table_rows(path, choose):
        owner = None if client_column is None else row.get(client_column)
        prompt, chosen, rejected = (_cell(row, name, number) for name in PAIR_COLUMNS[:3])
        yield Pair(prompt, chosen, rejected, None if missing(owner) else name_of(owner))


def _table_rows(path: Path, choose: Callable[[list[str]], list[str]]) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield the rows of a table, with the numbers by which a person finds them."""
    if path.name.endswith(".jsonl.gz"):
        rows = list(json_lines(path))
        choose(list(dict.fromkeys(name for _, row in rows for name in row)))
        yield from rows
        return
    if (kind := format_of(path)) not in READERS:
        raise FormError(f"no name in {', '.join(READERS)}", code="unknown-reader")
    table = READERS[kind](path, choose)
    for number, *values in table.itertuples(name=None):
        yield number, dict(zip(table.columns, values, strict=True))


def _pair_columns(client_column: str | None, path: Path, names: list[str]) -> list[str]:
    """Return the columns of a pair and that of the owners; without the latter each pair would be a client."""
    for name in PAIR_COLUMNS[:3]:
        if name not in names:
            raise FormError(f"no column '{name}'", code="missing-pair-column", value=name)
    owners = {} if client_column is None else {"client_column": client_column}
    return [*PAIR_COLUMNS[:3], *chosen_columns(owners, list(owners), path, names)]


def _cell(row: Mapping[str, object], name: str, number: int) -> str:
    value = row.get(name)
    if missing(value):
        return ""  # no preference, which is no fault of the file
    if not isinstance(value, str):
        raise FormError(f"row {number}: '{name}' is not text", code="pair-not-text")
    return value


PAIR_FORMS: Mapping[PairForm, tuple[str, Callable[[Path, str | None], Iterator[Pair]]]] = {
    "hh": ("JSON lines with chosen and rejected, two transcripts of turns by Human and Assistant", hh_pairs),
    "openassistant": ("message trees or messages as JSON lines, or messages as Parquet", openassistant_pairs),
    "tldr": ("JSON lines with info.post, two summaries, choice and worker", tldr_pairs),
    "table": (
        "CSV, Parquet or JSON lines with prompt, chosen, rejected and perhaps corpus.client_column",
        table_pairs,
    ),
}


# The form of the pairs that each source of a corpus has.
FORMS: Mapping[str, PairForm] = MappingProxyType(
    {"hh": "hh", "openassistant": "openassistant", "tldr": "tldr", "table": "table"}
)
COPIED = 0.2  # share of public prompts that may stand among the private ones by chance


def private_pairs(corpus: Corpus, privacy: Privacy) -> pd.DataFrame:
    """Return the pairs of `corpus.path` in `PAIR_COLUMNS`, of about `corpus.max_clients` clients.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The source has no pairs, the file is of another format, or one client holds all of them.
    """
    path = existing_pairs(corpus)
    pairs = read_pairs(pair_form(corpus), path, corpus.client_column, corpus.client_ids)
    validate_pair_counts(pairs, str(path))
    return selected_clients(pairs, corpus, privacy)


def existing_pairs(corpus: Corpus) -> Path:
    """Return the path `corpus.path` without reading the file.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: No path is given, or the source has no pairs.
    """
    form = pair_form(corpus)
    if corpus.path is None:
        raise InputError(
            f"corpus.path is not set: name the file of preference pairs of the form '{form}'",
            code="pairs-not-set",
            parameter="corpus.path",
        )
    path = Path(corpus.path).expanduser()
    if not path.is_file():
        raise MissingFileError(
            f"corpus.path {path} is not a file: check the path (relative to {Path.cwd()})",
            code="missing-pairs-of-path",
            parameter="corpus.path",
            value=str(path),
        )
    return path


def pair_form(corpus: Corpus) -> PairForm:
    """Return the format of a source's pairs.

    Raises:
        ValueError: It has none.
    """
    if corpus.source not in FORMS:
        raise InputError(
            f"corpus.source '{corpus.source}' has no preference pairs: give corpus.path and corpus.source="
            f"{' or '.join(FORMS)}",
            code="source-without-pairs",
            parameter="corpus.source",
            value=corpus.source,
        )
    return FORMS[corpus.source]


def validate_pair_counts(pairs: pd.DataFrame, where: str) -> None:
    """Raise ValueError if one client holds all pairs: differential privacy could not hide it."""
    if pairs["client_id"].nunique() < 2:
        raise InputError(
            f"{where} has the pairs of one client only: nobody to hide among; give a file of more",
            code="pairs-of-one-client",
        )


def validate_private_prompts(pairs: pd.DataFrame, prompts: pd.DataFrame, where: str) -> None:
    """Raise ValueError if many of the public prompts are private ones: all of them would be revealed."""
    private = set().union(*map(_questions, pairs["prompt"]))
    shared = sum(not _questions(prompt).isdisjoint(private) for prompt in prompts["prompt"])
    if shared > COPIED * len(prompts):
        raise InputError(
            f"corpus.public_path {where} holds prompts of the private pairs, and all its prompts would be public: name "
            "a file of public prompts",
            code="public-prompts-are-private",
            parameter="corpus.public_path",
        )


def _questions(prompt: str) -> set[str]:
    """Return a prompt's questions with single spaces: all of it, and each human turn if it is a transcript.

    HH and OpenAssistant write `Human: X`, a blank line and `Assistant:`, where a file of prompts has `X`.
    """
    asked = [turn.partition(ASSISTANT)[0] for turn in f"\n\n{prompt}".split(HUMAN)[1:]]
    return {" ".join(turn.split()) for turn in (prompt, *asked)} - {""}


def split_by_prompt(pairs: pd.DataFrame, params: Partition) -> pd.DataFrame:
    """Return the pairs with a split column if some pairs are clients of their own, by a hash of the prompt alone.

    So no prompt of such pairs is both in training and held out. A pair's split follows from the pair itself; the split
    of a pair with an owner follows from the owner's id. `partition.split=hash` uses names in either case.
    """
    digests = digest_names(*(pairs[column].tolist() for column in PAIR_COLUMNS[:3]))
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
    """Return the splits, the held-out ones without pairs whose prompt is in an earlier split.

    Such pairs would not be held out. The remaining pairs depend on what training clients hold, so this is for public
    pairs alone.

    Raises:
        ValueError: Nothing is left.
    """
    kept, known = [train], set(train["prompt"])
    for name, pairs in (("validation", validation), ("test", test)):
        new = pairs[~pairs["prompt"].isin(known)].reset_index(drop=True)
        if new.empty:
            raise InputError(
                f"the prompts of all {len(pairs)} {name} pairs stand in training as well, so none is held out: give a "
                "corpus of more prompts, or leave out its column of clients and set partition.split to corpus",
                code="no-prompt-held-out",
            )
        kept, known = [*kept, new], known | set(new["prompt"])
    return kept


def as_records(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs with a `text` that holds all of a pair; it gives the control code of a pair that is a unit."""
    held = pairs[list(PAIR_COLUMNS[:3])].to_numpy().tolist()
    return pairs.assign(text=["\x1e".join(one) for one in held])
