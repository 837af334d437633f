"""Where text comes from, how it becomes clients, and how clients are split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from fedtext.params import Parameters, Seed, each_once, words
from fedtext.system.errors import InputError, did_you_mean

# Data sets of papers, read from local files in the form in which they were published (fedtext.corpora.published).
PublishedName = Literal[
    "alpaca", "banking77", "hh", "imdb", "openassistant", "pubmed", "squad", "squad_questions", "tldr", "yelp"
]
PUBLISHED_NAMES: tuple[PublishedName, ...] = get_args(PublishedName)
# What is known of a docstring: the top-level package it lives in, and the kind of object that it documents.
DocstringKind = Literal["class", "function", "method", "module", "property"]
DOCSTRING_KINDS: tuple[DocstringKind, ...] = get_args(DocstringKind)
DOCSTRING_COLUMNS = ("package", "kind")
# Whether ids that look alike are one client; None: nobody has said, and a corpus that has such ids is refused.
ClientIds = Literal["exact", "folded"] | None
# Columns that decide whose a row is: its owner's, or, where no column names one, a digest of all that the row holds.
NAMING_COLUMNS = ("client_column", "text_column", "label_column", "code_columns", "date_column")


def naming(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """What of the parameters `corpus` decides whose a row is: its source, columns, and whether ids are folded."""
    named = {name: corpus.get(name) for name in ("source", *NAMING_COLUMNS)}
    return named | ({"client_ids": "folded"} if corpus.get("client_ids") == "folded" else {})


def as_phrase(description: str) -> str:
    """The description of texts in one line and without a full stop, as sentences take it in.

    Raises:
        ValueError: Nothing is left.
    """
    phrase = " ".join(description.split()).rstrip(". ")
    if not phrase:
        raise InputError(
            "corpus.description is empty: say what the texts are, as in 'questions that customers ask their bank', or "
            "leave it out"
        )
    return phrase


def is_described(public_path: object, description: object) -> bool:
    """Whether a generator writes the public text, by the description; a file of public text comes first."""
    return public_path is None and description is not None


def as_openings(given: object) -> Sequence[str]:
    """Openings as a list; on a command line they are one string with semicolons between them.

    Raises:
        ValueError: one of them is empty or has a line's end.
    """
    listed = [part.strip() for part in given.split(";")] if isinstance(given, str) else given or []
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, str) and one.strip() for one in listed):
        raise InputError(f"corpus.openings is {given!r}: give the first words of texts, as 'My order; I received'")
    if any("\n" in one for one in listed):
        raise InputError(f"corpus.openings is {given!r}: an opening is the first words of a text, in one line")
    return listed


Openings = Annotated[tuple[str, ...], BeforeValidator(as_openings)]


class Corpus(Parameters):
    """Source of the private text and of the public text that prompts are made from.

    `public_samples` bounds the chunks of `public_texts` texts; one of every text comes before a second of any. The
    public text is that of `public_path`; else the generator writes it by the `description`; else it is docstrings.
    `openings` are the words that texts begin with, told by the user and never taken from private text.
    `client_column` None makes each row of a table a client of its own. `client_ids` says of ids in files, of clients
    and of silos, that look alike whether they are one (fedtext.corpora.clients).
    A record's label is the value of `label_column`, or that of all `code_columns` together, a control code
    (`fedtext.params.task.joined`). Docstrings have the columns `package`, their label else, and `kind`;
    of each the `first` of its `paragraphs` is the text, or `all`, if it has more than `min_chars` characters.
    """

    source: Literal["docstrings", "table", "snapshot", PublishedName]
    path: str | None
    text_column: str
    client_column: str | None
    client_ids: ClientIds
    label_column: str
    code_columns: tuple[str, ...]
    date_column: str
    silo_column: str
    paragraphs: Literal["first", "all"]
    min_chars: int = Field(ge=0)
    max_clients: int | None = Field(ge=2)
    public_texts: int = Field(ge=10)
    public_samples: int | None = Field(ge=10)
    public_path: str | None
    description: str | None
    openings: Openings
    public_chars_per_package: int = Field(gt=0)
    snapshot: str | None
    config: str | None
    declared_public: bool | None

    @property
    def is_public(self) -> bool:
        """Whether the text to protect is a public stand-in, as docstrings and snapshots are unless said otherwise.

        A file of the user's own is private, a published data set too: it stands for what such a file would hold.
        """
        return self.source in ("docstrings", "snapshot") if self.declared_public is None else self.declared_public

    @property
    def is_described(self) -> bool:
        """Whether a generator writes the public text, by the `description`."""
        return is_described(self.public_path, self.description)

    @property
    def has_path(self) -> bool:
        """Whether the private text is read from `path`."""
        return self.source == "table" or self.source in PUBLISHED_NAMES

    _words = field_validator("code_columns", mode="before")(words)

    @field_validator("code_columns")
    @classmethod
    def _each_column_once(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        return each_once(columns, "corpus.code_columns")

    @field_validator("snapshot", mode="before")
    @classmethod
    def _number_as_name(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value  # 2025.1 on the command line is a number

    @field_validator("description")
    @classmethod
    def _in_one_phrase(cls, description: str | None) -> str | None:
        return None if description is None else as_phrase(description)

    @model_validator(mode="after")
    def _docstrings_have_these_columns(self) -> Self:
        for column in self.code_columns if self.source == "docstrings" else ():
            if column not in DOCSTRING_COLUMNS:
                raise InputError(
                    f"corpus.code_columns names {column!r}, which docstrings do not have: "
                    f"{did_you_mean(column, DOCSTRING_COLUMNS)}"
                )
        return self

    @model_validator(mode="after")
    def _its_source_is_asked_for(self) -> Self:
        reads_path = self.source if self.has_path else "table"
        in_columns = self.source if self.source == "docstrings" else "table"
        sources = (("path", reads_path), ("snapshot", "snapshot"), ("config", "snapshot"), ("code_columns", in_columns))
        for name, source in sources:
            if getattr(self, name) not in (None, ()) and self.source != source:
                raise InputError(
                    f"corpus.{name} is given, but corpus.source is {self.source}: add corpus.source={source}"
                )
        return self


class Spans(Parameters):
    """Successive spans of `length` tokens; a last one shorter than `min_tokens` goes unless alone."""

    length: int = Field(ge=4)
    min_tokens: int = Field(ge=1)

    @model_validator(mode="after")
    def _chunks_are_long_enough(self) -> Self:
        if self.min_tokens > self.length:
            raise InputError(f"chunking.min_tokens is {self.min_tokens}, but chunking.length {self.length}: lower it")
        return self


class Chunking(Spans):
    """A client's samples: the spans of its documents, or with `first_only` the first of each.

    One sample a document is one record a document: what `privacy.unit: record` protects is then all that is read of it.
    """

    first_only: bool


class Partition(Parameters):
    """How records become clients, and clients training, validation and test clients (docs/data.md).

    `split`: `corpus` keeps the splits that a corpus comes with, and goes by hash where it has none; `hash` always goes
    by a hash of the client id; `record` by a hash of each record's text, so that every silo has records of each split.
    """

    method: Literal[
        "natural", "iid", "dirichlet_label_over_clients", "dirichlet_client_over_labels", "label_skew", "biased"
    ]
    clients: int | None = Field(ge=2)
    alpha: float = Field(ge=1e-6, le=1e6)  # beyond, a draw's shares are no numbers
    labels_per_client: int = Field(ge=1)
    split: Literal["corpus", "hash", "record"]
    validation_share: float = Field(gt=0, lt=1)
    test_share: float = Field(gt=0, lt=1)
    seed: Seed
