"""Published data sets that are read from local files in their original format: facts about each of them.

Pages, errors and reports take these facts from here. Every data set becomes the project's records. The types that
readers of published formats (`readers.py`) return, and the error for a file of another format, are here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from fedtext.params.corpus import PublishedName
from fedtext.system.errors import InputError


@dataclass(frozen=True)
class Published:
    """One data set, described for a table and for sentences.

    Attributes:
        title: Its name in a report.
        form: The file that is read.
        suffixes: Suffixes of such a file's name.
        directory: Whether a directory of files may stand in its place.
        unit: What a client is, hence what `privacy.unit: client` protects.
        label: What a record's label is; None: it has none.
        licence: The licence of its makers; the file is the user's, and so is the duty to comply.
    """

    title: str
    form: str
    suffixes: tuple[str, ...]
    directory: bool
    unit: str
    label: str | None
    licence: str


JSON_LINES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
SQUAD = Published(
    title="SQuAD's paragraphs",
    form="train or dev JSON of version 1.1 or 2.0, with data, paragraphs and context",
    suffixes=(".json", ".json.gz"),
    directory=False,
    unit="an article of Wikipedia",
    label=None,
    licence="CC BY-SA 4.0",
)
PUBLISHED: Mapping[PublishedName, Published] = MappingProxyType(
    {
        "alpaca": Published(
            title="Alpaca's instructions",
            form="a JSON list, or JSON lines, of objects with instruction, input and output",
            suffixes=JSON_LINES,
            directory=False,
            unit="one instruction with its input",
            label=None,
            licence="CC BY-NC 4.0",
        ),
        "banking77": Published(
            title="Banking77's questions",
            form="train.csv or test.csv with the columns text and category",
            suffixes=(".csv",),
            directory=False,
            unit="one question",
            label="the category (intent)",
            licence="CC BY 4.0",
        ),
        "hh": Published(
            title="Anthropic's helpful and harmless conversations",
            form="JSON lines with chosen and rejected, two transcripts of turns by Human and Assistant",
            suffixes=JSON_LINES,
            directory=False,
            unit="the conversations that open with the same human turn",
            label=None,
            licence="MIT",
        ),
        "imdb": Published(
            title="IMDb's reviews",
            form="the directory aclImdb with train/pos/*.txt and its like, or a CSV with review and sentiment",
            suffixes=(".csv",),
            directory=True,
            unit="one review",
            label="positive or negative",
            licence="none stated; the reviews are their writers'",
        ),
        "openassistant": Published(
            title="OpenAssistant's conversations",
            form="message trees or messages as JSON lines, or messages as Parquet",
            suffixes=(*JSON_LINES, ".parquet"),
            directory=False,
            unit="a writer (user_id); a conversation tree where a message has none",
            label="the language",
            licence="Apache 2.0",
        ),
        "pubmed": Published(
            title="PubMed's abstracts",
            form="PubMed XML (PubmedArticleSet), or a directory of such files",
            suffixes=(".xml", ".xml.gz"),
            directory=True,
            unit="one article",
            label="the first major MeSH heading",
            licence="NLM's terms; the abstracts are their publishers'",
        ),
        "safe_rlhf": Published(
            title="PKU-SafeRLHF's prompts",
            form="JSON lines with prompt, response_0 and response_1",
            suffixes=JSON_LINES,
            directory=False,
            unit="one comparison of two responses",
            label=None,
            licence="CC BY-NC 4.0",
        ),
        "squad": SQUAD,
        "squad_questions": replace(SQUAD, title="SQuAD's questions with answers and paragraphs"),
        "tldr": Published(
            title="TL;DR's posts with summaries that workers compared",
            form="JSON lines with info.post, two summaries, choice and worker",
            suffixes=JSON_LINES,
            directory=False,
            unit="a worker",
            label=None,
            licence="none stated; the posts are their writers'",
        ),
        "xsum": Published(
            title="XSum's articles",
            form="JSON lines or Parquet with document, summary and id",
            suffixes=(*JSON_LINES, ".parquet"),
            directory=False,
            unit="one article",
            label=None,
            licence="none stated; the articles are the BBC's",
        ),
        "yelp": Published(
            title="Yelp's reviews",
            form="yelp_academic_dataset_review.json, JSON lines with user_id, stars, text and date, or its directory",
            suffixes=JSON_LINES,
            directory=True,
            unit="a user",
            label="the stars, 1 to 5; or by code_columns the category of the business, or both",
            licence="Yelp Dataset Terms of Use: academic use, no redistribution",
        ),
    }
)


class Row(NamedTuple):
    """One record; without a `client_id` it is a client of its own."""

    client_id: str | None
    text: str
    label: str | None = None
    date: str | None = None


class FormError(InputError):
    """What a file lacks; the code that catches it adds the file, the expected format, and the remedy."""


def text_of(holder: object, name: str, where: str) -> str:
    """Return the text `holder[name]`; FormError if there is none. `where` is the place in the file."""
    value = value_of(holder, name, where)
    if not isinstance(value, str) or not value.strip():
        raise FormError(f"{where}: '{name}' is not text, or empty", code="not-text")
    return value


def list_of(holder: object, name: str, where: str) -> list[Any]:
    """Return the list `holder[name]`; FormError if there is none."""
    value = value_of(holder, name, where)
    if not isinstance(value, list):
        raise FormError(f"{where}: '{name}' is not a list", code="not-a-list")
    return value


def value_of(holder: object, name: str, where: str) -> Any:
    """Return the value `holder[name]`; FormError if there is none."""
    if not isinstance(holder, Mapping) or holder.get(name) is None:
        raise FormError(f"{where}: no '{name}'", code="missing-name")
    return holder[name]


def columns_named(*wanted: str) -> Any:
    """Return a function that chooses these columns of a table; its FormError names the first missing one."""

    def choose(names: list[str]) -> list[str]:
        for name in wanted:
            if names.count(name) != 1:
                raise FormError(
                    f"{names.count(name) or 'no'} column{'s' if name in names else ''} '{name}'", code="not-one-column"
                )
        return list(wanted)

    return choose
