"""What a server asks silos, and what a silo replies: values, and the bytes that they travel as.

An inquiry is a public query and a question. A silo replies with an answer (whole numbers, its own noise among them),
with a masked one (words that only the sum of all silos makes numbers of), with trained weights, with a refusal (a
sentence), or, asked who it is, with its card. Nothing else leaves a silo.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Shaped
from pydantic import Field, ValidationError

from fedtext.federation.packed import Packed, pack, unpack
from fedtext.federation.query import Query
from fedtext.federation.question import Asked, kind_of, question_parts, read_question
from fedtext.params import Parameters
from fedtext.params.privacy import Adjacency, Unit
from fedtext.system.errors import InputError

WHO, INQUIRY, ANSWER, MASKED, TRAINED = "who", "inquiry", "answer", "masked", "trained"
REFUSAL, CARD = "refusal", "card"
FACTS = {"query", "kind", "fields", "secure"}  # of an inquiry
SUM, WEIGHTS = "sum", "weights"
MOST_NUMBERS = 2**26  # of an answer: half a gigabyte
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w.\- ]+$")]
Positive = Annotated[float, Field(gt=0)]


class AskedQuery(Parameters):
    """The public facts of a query, as they travel: all that a silo prices, and the names of random streams.

    A sum is asked of all units, once. A training (`own`) is asked of one party's, in steps of a Poisson sample each.
    """

    name: Name
    round: int = Field(ge=0)
    dim: int = Field(ge=1, le=MOST_NUMBERS)
    clip_norm: Positive
    noise_multiplier: Positive
    non_negative: bool
    parties: tuple[Name, ...] | None
    public_digest: str = Field(max_length=10_000)
    own: bool
    batch: int | None = Field(ge=1)
    steps: int = Field(ge=1)

    @classmethod
    def of(cls, query: Query) -> AskedQuery:
        """Build from a query.

        Raises:
            ValueError: silos cannot be asked it: it samples units, or is made in several steps, and is no training.
        """
        of_one = query.own and query.batch is not None and len(query.parties or ()) == 1
        if not of_one and (query.own or query.batch is not None or query.steps > 1):
            raise InputError(
                f"{query.name} is asked in steps or of a sample, which a silo answers in a training of its own alone: "
                "ask votes, counts or mean features of all units",
                code="query-not-for-silos",
                value=query.name,
            )
        return cls.model_validate({name: getattr(query, name) for name in cls.model_fields})

    def of_silo(self, name: str) -> Query:
        """Return the query as the silo `name` answers it: by itself, of all its own units."""
        return Query(**self.model_dump(exclude={"parties"}), parties=(name,) if self.own else None)


class SecureSum(Parameters):
    """The public facts of a sum behind pairwise masks; the silos in it are the query's parties.

    Attributes:
        honest_fraction: The share of noise shares that the price relies on.
        bits: Sums are taken modulo 2^bits.
        session: Tells apart two sums of the same query: a silo whose text has changed answers no session twice.
    """

    honest_fraction: float = Field(gt=0, le=1)
    bits: int = Field(ge=2, le=64)
    session: int = Field(ge=0)


class SecureTerms(Parameters):
    """What a silo demands of a secure sum that it takes part in.

    Attributes:
        minimum: The fewest silos in a sum, itself among them.
        honest_fraction: The share of the silos, itself among them, whose noise it relies on.
        peers: The silos with which it has a secret in common.
    """

    minimum: int = Field(ge=2)
    honest_fraction: float = Field(gt=0, le=1)
    peers: tuple[Name, ...]

    def validate_sum(self, silo: str, parties: Collection[str], honest_fraction: float) -> None:
        """Raise ValueError unless the silo takes part in a sum of these parties."""
        if len(set(parties)) < len(parties):
            why = "one silo is named twice, and has one share of the noise"
        elif strangers := sorted(set(parties) - {silo, *self.peers}):
            why = f"it has no public key of {strangers[0]} (secure_sums.peers in its file)"
        elif len(set(parties)) < self.minimum:
            why = f"{len(set(parties))} silos are asked, and its file demands {self.minimum} (secure_sums.minimum)"
        elif honest_fraction > self.honest_fraction:
            why = (
                f"privacy.honest_fraction is {honest_fraction:g}, and its file relies on {self.honest_fraction:g} "
                "(secure_sums.honest_fraction): declare no more"
            )
        else:
            return
        raise InputError(
            f"silo {silo} takes no part in this secure sum: {why}",
            code="secure-sum-not-agreed",
            parameter="privacy.aggregation",
            value=silo,
        )


@dataclass(frozen=True)
class Inquiry:
    """One question to a silo: the query, what each unit is asked, and the secure sum that the answer is for, if any."""

    query: AskedQuery
    question: Asked
    secure: SecureSum | None = None

    @property
    def digest(self) -> str:
        """Digest of what is asked, whoever is asked: the name that a server gives its public inputs proves nothing."""
        fields, arrays = question_parts(self.question)
        said = {"kind": kind_of(type(self.question)), "fields": fields, "named": self.query.public_digest}
        return hashlib.sha256(pack(INQUIRY, said, arrays)).hexdigest()

    def packed(self) -> bytes:
        """Return it as bytes."""
        fields, arrays = question_parts(self.question)
        facts = {"query": self.query.model_dump(mode="json"), "kind": kind_of(type(self.question)), "fields": fields}
        if self.secure is not None:
            facts["secure"] = self.secure.model_dump(mode="json")
        return pack(INQUIRY, facts, arrays)


def read_inquiry(packed: Packed, known: Iterable[type[Asked]]) -> Inquiry:
    """Return the inquiry of a message.

    Raises:
        ValueError: it is none, or not of a known question.
    """
    try:
        # Another version may ask more: without what it added, another question would be answered.
        if unknown := packed.facts.keys() - FACTS:
            raise ValueError(unknown)
        query, secure = AskedQuery.model_validate(packed.facts["query"]), packed.facts.get("secure")
        secure = None if secure is None else SecureSum.model_validate(secure)
        kind, fields = str(packed.facts["kind"]), dict(packed.facts["fields"])
    except (ValidationError, KeyError, TypeError, ValueError):
        raise InputError(
            "an inquiry without a query that can be answered: install the same version of fedtext at both ends",
            code="faulty-inquiry",
        ) from None
    return Inquiry(query, read_question(kind, fields, packed.arrays, known), secure)


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
        secure_sums: What it demands of a secure sum.
        code: Which code of fedtext it runs (`fedtext.system.alike.code_name`); empty: some that did not say so yet.
    """

    name: Name
    unit: Unit
    population: int = Field(ge=1)
    adjacency: Adjacency
    epsilon: Positive
    delta: float = Field(gt=0, lt=1)
    encoder: str
    secure_sums: SecureTerms
    code: str = Field("", max_length=100)


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


@dataclass(frozen=True)
class Masked:
    """What a silo sends to a secure sum: its sum with its share of noise and all its masks, which looks like chance.

    Attributes:
        silo: Its name.
        words: The numbers modulo a power of two.
        marks: For each other silo what shows that both have one secret (`fedtext.silo.pairwise_masks`).
    """

    silo: str
    words: Shaped[np.ndarray, ...]
    marks: Mapping[str, str]


@dataclass(frozen=True)
class Trained:
    """What a silo trained in one round: the weights at which its noisy steps ended; the server judges them."""

    silo: str
    weights: Shaped[np.ndarray, ...]


Reply = Answer | Masked | Trained | Refusal | Card


def packed_reply(reply: Reply) -> bytes:
    """Return a reply as bytes."""
    if isinstance(reply, Answer):
        return pack(ANSWER, {"silo": reply.silo}, {SUM: reply.sum})
    if isinstance(reply, Masked):
        return pack(MASKED, {"silo": reply.silo, "marks": dict(reply.marks)}, {SUM: reply.words})
    if isinstance(reply, Trained):
        return pack(TRAINED, {"silo": reply.silo}, {WEIGHTS: reply.weights})
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
        if packed.kind == MASKED:
            return Masked(str(packed.facts["silo"]), packed.arrays[SUM], dict(packed.facts["marks"]))
        if packed.kind == TRAINED:
            return Trained(str(packed.facts["silo"]), packed.arrays[WEIGHTS])
        kinds: dict[str, type[Card | Refusal]] = {CARD: Card, REFUSAL: Refusal}
        return kinds[packed.kind].model_validate(packed.facts)
    except (ValidationError, KeyError, TypeError, ValueError):
        raise InputError(
            "a silo's reply is neither an answer, a refusal nor a card: install the same version of fedtext at both "
            "ends",
            code="faulty-reply",
        ) from None
