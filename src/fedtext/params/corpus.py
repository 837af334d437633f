"""Where text comes from, how it becomes clients, and how clients are split."""

from __future__ import annotations

from typing import Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from fedtext.params import Parameters, Seed
from fedtext.system.errors import InputError

# Data sets of papers, read from local files in the form in which they were published (fedtext.corpora.published).
PublishedName = Literal["alpaca", "banking77", "hh", "imdb", "openassistant", "pubmed", "squad", "tldr", "yelp"]
PUBLISHED_NAMES: tuple[PublishedName, ...] = get_args(PublishedName)


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


class Corpus(Parameters):
    """Source of the private text and of the public text that prompts are made from.

    `public_samples` bounds the chunks of `public_texts` texts; one of every text comes before a second of any. The
    public text is that of `public_path`; else the generator writes it by the `description`; else it is docstrings.
    """

    source: Literal["docstrings", "table", "snapshot", PublishedName]
    path: str | None
    text_column: str
    client_column: str
    label_column: str
    date_column: str
    min_chars: int = Field(ge=0)
    max_clients: int | None = Field(ge=2)
    public_texts: int = Field(ge=10)
    public_samples: int | None = Field(ge=10)
    public_path: str | None
    description: str | None
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
    def has_path(self) -> bool:
        """Whether the private text is read from `path`."""
        return self.source == "table" or self.source in PUBLISHED_NAMES

    @field_validator("snapshot", mode="before")
    @classmethod
    def _number_as_name(cls, value: object) -> object:
        return str(value) if isinstance(value, int | float) else value  # 2025.1 on the command line is a number

    @field_validator("description")
    @classmethod
    def _in_one_phrase(cls, description: str | None) -> str | None:
        return None if description is None else as_phrase(description)

    @model_validator(mode="after")
    def _its_source_is_asked_for(self) -> Self:
        reads_path = self.source if self.has_path else "table"
        for name, source in (("path", reads_path), ("snapshot", "snapshot"), ("config", "snapshot")):
            if getattr(self, name) is not None and self.source != source:
                raise InputError(
                    f"corpus.{name} is given, but corpus.source is {self.source}: add corpus.source={source}"
                )
        return self


class Chunking(Parameters):
    """A client's samples: successive spans of `length` tokens; a short last one goes unless alone."""

    length: int = Field(ge=4)
    min_tokens: int = Field(ge=1)

    @model_validator(mode="after")
    def _chunks_are_long_enough(self) -> Self:
        if self.min_tokens > self.length:
            raise InputError(f"chunking.min_tokens is {self.min_tokens}, but chunking.length {self.length}: lower it")
        return self


class Partition(Parameters):
    """How records become clients, and clients training, validation and test clients (docs/data.md).

    `split`: `corpus` keeps the splits that a corpus comes with, and goes by hash where it has none; `hash` always goes
    by a hash of the client id.
    """

    method: Literal["natural", "iid", "dirichlet_label_over_clients", "dirichlet_client_over_labels", "label_skew"]
    clients: int | None = Field(ge=2)
    alpha: float = Field(gt=0)
    labels_per_client: int = Field(ge=1)
    split: Literal["corpus", "hash"]
    validation_share: float = Field(gt=0, lt=1)
    test_share: float = Field(gt=0, lt=1)
    seed: Seed
