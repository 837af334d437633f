"""What a server asks silos, and what a silo replies: values, and the bytes that they travel as.

An inquiry is a public query and a question. A silo replies with an answer (whole numbers, its own noise among them),
with a refusal (a sentence), or, asked who it is, with its card. Nothing else leaves a silo.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Shaped
from pydantic import Field, ValidationError

from fedtext.federation.packed import Packed, pack, unpack
from fedtext.federation.query import Query
from fedtext.federation.question import Question, kind_of, question_parts, read_question
from fedtext.params import Parameters
from fedtext.params.privacy import Adjacency, Unit
from fedtext.system.errors import InputError

WHO, INQUIRY, ANSWER, REFUSAL, CARD = "who", "inquiry", "answer", "refusal", "card"
SUM = "sum"
MOST_NUMBERS = 2**26  # of an answer: half a gigabyte
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w.\- ]+$")]
Positive = Annotated[float, Field(gt=0)]


class AskedQuery(Parameters):
    """The public facts of a query, as they travel: all that a silo prices, and the names of random streams."""

    name: Name
    round: int = Field(ge=0)
    dim: int = Field(ge=1, le=MOST_NUMBERS)
    clip_norm: Positive
    noise_multiplier: Positive
    non_negative: bool
    parties: tuple[Name, ...] | None
    public_digest: str = Field(max_length=10_000)

    @classmethod
    def of(cls, query: Query) -> AskedQuery:
        """Build from a query.

        Raises:
            ValueError: silos cannot be asked it: it samples units, or is made in several steps.
        """
        if query.own or query.batch is not None or query.steps > 1:
            raise InputError(
                f"{query.name} is asked in steps or of a sample, which silos in processes of their own do not answer "
                "yet: ask votes, counts or mean features, or let no silo train (silos.strong=0)",
                code="query-not-for-silos",
                value=query.name,
            )
        return cls.model_validate({name: getattr(query, name) for name in cls.model_fields})

    def of_silo(self, name: str) -> Query:
        """Return the query as the silo `name` answers it: by itself, of all its own units."""
        return Query(**self.model_dump(exclude={"parties"}))


@dataclass(frozen=True)
class Inquiry:
    """One question to a silo: the query, and what each unit is asked."""

    query: AskedQuery
    question: Question

    def packed(self) -> bytes:
        """Return it as bytes."""
        fields, arrays = question_parts(self.question)
        facts = {"query": self.query.model_dump(mode="json"), "kind": kind_of(type(self.question)), "fields": fields}
        return pack(INQUIRY, facts, arrays)


def read_inquiry(packed: Packed, known: Iterable[type[Question]]) -> Inquiry:
    """Return the inquiry of a message.

    Raises:
        ValueError: it is none, or not of a known question.
    """
    try:
        query = AskedQuery.model_validate(packed.facts["query"])
        kind, fields = str(packed.facts["kind"]), dict(packed.facts["fields"])
    except (ValidationError, KeyError, TypeError, ValueError):
        raise InputError(
            "an inquiry without a query that can be answered: install the same version of fedtext at both ends",
            code="faulty-inquiry",
        ) from None
    return Inquiry(query, read_question(kind, fields, packed.arrays, known))


class Card(Parameters):
    """What a silo says of itself, all of it public.

    Attributes:
        name: Its name, the same in every run.
        unit: What it protects.
        population: How many units it declares, those without text included.
        adjacency: How neighbouring data sets differ.
        epsilon: What all releases of its data may cost together, at its delta.
        delta: Its delta.
        encoder: The encoder that embeds its text.
    """

    name: Name
    unit: Unit
    population: int = Field(ge=1)
    adjacency: Adjacency
    epsilon: Positive
    delta: float = Field(gt=0, lt=1)
    encoder: str


class Refusal(Parameters):
    """Why a silo does not answer, in a sentence."""

    silo: str
    code: str
    sentence: str


@dataclass(frozen=True)
class Answer:
    """What a silo answers: the sum over its units in grid points, with its own noise; the server judges it."""

    silo: str
    sum: Shaped[np.ndarray, ...]


Reply = Answer | Refusal | Card


def packed_reply(reply: Reply) -> bytes:
    """Return a reply as bytes."""
    if isinstance(reply, Answer):
        return pack(ANSWER, {"silo": reply.silo}, {SUM: reply.sum})
    return pack(CARD if isinstance(reply, Card) else REFUSAL, reply.model_dump(mode="json"))


def read_reply(data: bytes) -> Reply:
    """Return the reply that the bytes are; what an answer holds is not judged here.

    Raises:
        ValueError: they are none.
    """
    packed = unpack(data)
    try:
        if packed.kind == ANSWER:
            return Answer(str(packed.facts["silo"]), packed.arrays[SUM])
        kinds: dict[str, type[Card | Refusal]] = {CARD: Card, REFUSAL: Refusal}
        return kinds[packed.kind].model_validate(packed.facts)
    except (ValidationError, KeyError):
        raise InputError(
            "a silo's reply is neither an answer, a refusal nor a card: install the same version of fedtext at both "
            "ends",
            code="faulty-reply",
        ) from None
