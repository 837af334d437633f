"""The source of the text, how it becomes clients, and how clients are split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from fedtext.params import Parameters, Seed, each_once, words
from fedtext.system.errors import InputError, did_you_mean

# Data sets of papers, read from local files in the form in which they were published (fedtext.corpora.published).
PublishedName = Literal[
    "alpaca",
    "banking77",
    "hh",
    "imdb",
    "openassistant",
    "pubmed",
    "safe_rlhf",
    "squad",
    "squad_questions",
    "tldr",
    "xsum",
    "yelp",
]
PUBLISHED_NAMES: tuple[PublishedName, ...] = get_args(PublishedName)
# A docstring's columns: its top-level package, and the kind of object that it documents.
DocstringKind = Literal["class", "function", "method", "module", "property"]
DOCSTRING_KINDS: tuple[DocstringKind, ...] = get_args(DocstringKind)
DOCSTRING_COLUMNS = ("package", "kind")
# Columns of which labels can be made (`corpus.code_columns`), by source; those of a table are the table's own.
CODE_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "docstrings": DOCSTRING_COLUMNS,
    "snapshot": ("area", "recommendation"),  # of OpenReview's reviews
    "yelp": ("category", "stars"),
}
# Whether ids that look alike are one client; None: not declared, and a corpus that has such ids is rejected.
ClientIds = Literal["exact", "folded"] | None
# Columns that determine a row's client: its owner's, or, where no column names one, a digest of all that the row holds.
NAMING_COLUMNS = ("client_column", "text_column", "label_column", "code_columns", "date_column")


def naming(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of `corpus` that determine a row's client: source, columns, and whether ids are folded."""
    named = {name: corpus.get(name) for name in ("source", *NAMING_COLUMNS)}
    return named | ({"client_ids": "folded"} if corpus.get("client_ids") == "folded" else {})


def as_phrase(description: str) -> str:
    """Return the description of texts in one line and without a full stop, to be used inside a sentence.

    Raises:
        ValueError: Nothing is left.
    """
    phrase = " ".join(description.split()).rstrip(". ")
    if not phrase:
        raise InputError(
            "corpus.description is empty: say what the texts are, as in 'questions that customers ask their bank', or "
            "leave it out",
            code="empty-description",
            parameter="corpus.description",
        )
    return phrase


def is_described(public_path: object, description: object) -> bool:
    """Return whether the generator writes the public text from the description.

    A file of public text takes precedence.
    """
    return public_path is None and description is not None


def as_openings(given: object) -> Sequence[str]:
    """Return openings as a list; on a command line they are one string, separated by semicolons.

    Raises:
        ValueError: one of them is empty or has a line's end.
    """
    listed = [part.strip() for part in given.split(";")] if isinstance(given, str) else given or []
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, str) and one.strip() for one in listed):
        raise InputError(
            f"corpus.openings is {given!r}: give the first words of texts, as 'My order; I received'",
            code="no-opening",
            parameter="corpus.openings",
            value=given,
        )
    if any("\n" in one for one in listed):
        raise InputError(
            f"corpus.openings is {given!r}: an opening is the first words of a text, in one line",
            code="opening-of-several-lines",
            parameter="corpus.openings",
            value=given,
        )
    return listed


Openings = Annotated[tuple[str, ...], BeforeValidator(as_openings)]


class Corpus(Parameters):
    """Source of the private text and of the public text that prompts are made from.

    `public_samples` is the most chunks taken from `public_texts` texts; each text gives one before any gives a second.
    The public text is that of `public_path`; else the generator writes it from the `description`; else it is
    docstrings. `openings` are the words that texts begin with; the user provides them, and they never come from private
    text. `client_column` None makes each row of a table its own client. `client_ids` declares whether ids in files, of
    clients and of silos, that look alike are one (fedtext.corpora.clients). A record's label is the value of
    `label_column`, or that of all `code_columns` together, a control code (`fedtext.params.task.joined`). Sources that
    are no tables have columns of their own (`CODE_COLUMNS`), as docstrings `package`, their label where none is named,
    and `kind`. The text of a docstring is the `first` of its
    `paragraphs`, or `all`, if it has more than `min_chars` characters. With the source `silos` the private text is not
    here: silos keep it in processes of their own (fedtext.silo).
    """

    source: Literal["docstrings", "table", "snapshot", "silos", PublishedName]
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
        """True if the protected text is a public stand-in, as docstrings and snapshots are by default.

        A user's file is private. So is a published data set, since it stands for such a file.
        """
        return self.source in ("docstrings", "snapshot") if self.declared_public is None else self.declared_public

    @property
    def is_described(self) -> bool:
        """True if the generator writes the public text from the `description`."""
        return is_described(self.public_path, self.description)

    @property
    def has_path(self) -> bool:
        """True if the private text is read from `path`."""
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
    def _the_source_has_these_columns(self) -> Self:
        known = CODE_COLUMNS.get(self.source, self.code_columns)
        for column in self.code_columns:
            if column not in known:
                raise InputError(
                    f"corpus.code_columns names {column!r}, which corpus.source {self.source!r} does not have: "
                    f"{did_you_mean(column, known)}",
                    code="unknown-code-column",
                    parameter="corpus.code_columns",
                    value=column,
                )
        return self

    @model_validator(mode="after")
    def _no_column_is_two_things(self) -> Self:
        if self.source == "table" and self.client_column == self.text_column:
            raise InputError(
                f"corpus.text_column and corpus.client_column are both {self.text_column!r}: name the column of the "
                "texts, and the one that says whose they are (null if each row is a client of its own)",
                code="one-column-for-two",
                parameter="corpus.client_column",
                value=self.client_column,
            )
        return self

    @model_validator(mode="after")
    def _its_source_is_asked_for(self) -> Self:
        reads_path = self.source if self.has_path else "table"
        in_columns = self.source if self.source in CODE_COLUMNS else "table"
        sources = (("path", reads_path), ("snapshot", "snapshot"), ("config", "snapshot"), ("code_columns", in_columns))
        for name, source in sources:
            if getattr(self, name) not in (None, ()) and self.source != source:
                raise InputError(
                    f"corpus.{name} is given, but corpus.source is {self.source}: add corpus.source={source}",
                    code="parameter-of-another-source",
                    parameter=f"corpus.{name}",
                )
        return self


class Spans(Parameters):
    """Successive spans of `length` tokens; a last one shorter than `min_tokens` is dropped unless it is alone."""

    length: int = Field(ge=4)
    min_tokens: int = Field(ge=1)

    @model_validator(mode="after")
    def _chunks_are_long_enough(self) -> Self:
        if self.min_tokens > self.length:
            raise InputError(
                f"chunking.min_tokens is {self.min_tokens}, but chunking.length {self.length}: lower it",
                code="shortest-chunk-too-long",
                parameter="chunking.min_tokens",
                value=self.min_tokens,
            )
        return self


class Chunking(Spans):
    """A client's samples: the spans of its documents, or with `first_only` the first of each.

    With `first_only` a document is one record, so `privacy.unit: record` protects all that is read of it.
    """

    first_only: bool


class Partition(Parameters):
    """The partition of records into clients, and of clients into training, validation, test (docs/data/partitions.md).

    `split`: `corpus` keeps the splits that a corpus comes with, or splits by hash if it has none; `hash` always uses a
    hash of the client id; `record` a hash of each record's text, so that every silo has records of each split.
    """

    method: Literal[
        "natural", "iid", "dirichlet_label_over_clients", "dirichlet_client_over_labels", "label_skew", "biased"
    ]
    clients: int | None = Field(ge=2)
    alpha: float = Field(ge=1e-6, le=1e6)  # above it, sampled shares are not finite
    labels_per_client: int = Field(ge=1)
    split: Literal["corpus", "hash", "record"]
    validation_share: float = Field(gt=0, lt=1)
    test_share: float = Field(gt=0, lt=1)
    seed: Seed
