"""The server's side of a federation of silos in processes of their own: it asks, judges what comes back, and adds up.

Aggregation is `local`: each silo adds all of its noise by itself, and the server sees each silo's noisy sum. The server
charges its ledger as for any release. A silo charges its own ledger, at its own price, and need not believe the server.

A round ends if a silo refuses, is missing or sends what cannot be an answer: the sentence names it, nothing is
released, and the ledger is as before. Silos that had answered have paid. Asked the same again they send the same bytes
and pay nothing, so no budget is lost.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64

from fedtext.federation.charged_release import charged_releases
from fedtext.federation.inquiry import WHO, Answer, AskedQuery, Card, Inquiry, Refusal, Reply, read_reply
from fedtext.federation.mechanism import PlannedSum, dequantise, planned_sum
from fedtext.federation.packed import pack
from fedtext.federation.private_samples import PrivateSamples, taking_part
from fedtext.federation.query import Query
from fedtext.federation.question import Question
from fedtext.federation.secure_sum import NoisySum, sum_stream
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, noise_bound
from fedtext.privacy.parties import Party
from fedtext.system.errors import FedtextError, InputError

SILO = "silo"  # a party's kind


class SiloError(FedtextError, RuntimeError):
    """A silo that refuses, is missing, or sends what cannot be an answer."""


@runtime_checkable
class Transport(Protocol):
    """The way to the silos' processes."""

    def ask(self, message: bytes, wanted: int) -> Sequence[bytes]:
        """Return what the silos that are there reply to the message, in any order.

        Args:
            message: What each of them is sent.
            wanted: How many are expected: it waits for so many, for as long as it has patience.
        """
        ...


def cards_of(transport: Transport, wanted: int) -> tuple[Card, ...]:
    """Return the card of each silo, by name.

    Raises:
        RuntimeError: another number of silos is there, two have one name, or one does not say who it is.
    """
    replies = _read(transport.ask(pack(WHO, {}), wanted))
    for reply in replies:
        if isinstance(reply, Refusal):
            raise _refused(reply)
    cards = sorted((reply for reply in replies if isinstance(reply, Card)), key=lambda card: card.name)
    if len(cards) != wanted or len({card.name for card in cards}) < wanted:
        there = ", ".join(card.name for card in cards) or "none"
        raise SiloError(
            f"{wanted} silos are asked for (federation.silos), and {len(cards)} are there ({there}): start the missing "
            "ones by `fedtext-silo serve`, give each a name of its own, or correct the number",
            code="another-number-of-silos",
            parameter="federation.silos",
            value=wanted,
        )
    return tuple(cards)


def validate_cards(cards: Sequence[Card], privacy: Privacy, encoder: str) -> None:
    """Raise ValueError unless all silos protect what the run declares, and embed as the server does."""
    for card in cards:
        for what, own, declared, parameter in (
            ("protects", card.unit, privacy.unit, "privacy.unit"),
            ("has neighbours by", card.adjacency, privacy.adjacency, "privacy.adjacency"),
            ("embeds by", card.encoder, encoder, "models.encoder"),
        ):
            if own != declared:
                raise InputError(
                    f"silo {card.name} {what} {own}, and {parameter} is {declared}: both ends must declare the same",
                    code="silo-declares-otherwise",
                    parameter=parameter,
                    value=declared,
                )


def parties_of(cards: Sequence[Card], epsilon: float) -> tuple[Party, ...]:
    """Return the silos as the ledger's parties: none may be charged more than its own budget."""
    return tuple(
        Party(name=card.name, kind=SILO, population=card.population, epsilon=min(card.epsilon, epsilon))
        for card in cards
    )


@dataclass(frozen=True)
class Silos:
    """Silos in processes of their own (a `fedtext.federation.federation.Federation`)."""

    transport: Transport

    def summed(self, query: Query, question: Question, ledger: Ledger) -> NoisySum:
        """Implement Federation.

        Raises:
            RuntimeError: a silo refuses, is missing, or sends what cannot be an answer; nothing is released.
        """
        validate_aggregation(ledger.declaration)
        part = taking_part(ledger, query.parties)
        plan = planned_sum(query, ledger.declaration, part.population, len(part.parties))
        plan.validate_modulus(64)
        inquiry = Inquiry(AskedQuery.of(query), question)
        with charged_releases([plan], _NOBODY, ledger, _receipt_key(ledger)) as (charged, [release]):
            sent = self._answers(inquiry, part.parties, plan)
            total = release.sum_of_noised(lambda _: sent.values(), sum_stream(plan), query.dim)
            return NoisySum(dequantise(total, plan.step), charged)

    def _answers(
        self, inquiry: Inquiry, parties: Sequence[Party], plan: PlannedSum
    ) -> dict[str, Int64[np.ndarray, " dim"]]:
        replies = _read(self.transport.ask(inquiry.packed(), len(parties)))
        named = {party.name: party for party in parties}
        for reply in replies:
            if isinstance(reply, Refusal) and reply.silo in named:
                raise _refused(reply)
        answers = {reply.silo: reply for reply in replies if isinstance(reply, Answer) and reply.silo in named}
        if len([reply for reply in replies if isinstance(reply, Answer) and reply.silo in named]) > len(answers):
            raise SiloError(
                f"two silos answer {plan.query.name} under one name: give each a name of its own", code="silo-twice"
            )
        if missing := sorted(named.keys() - answers.keys()):
            raise SiloError(
                f"silo {missing[0]} did not answer {plan.query.name} ({len(answers)} of {len(named)} did): start it "
                "again and run the same command, and the others repeat their answers without paying; or ask fewer "
                "silos (federation.silos) in a new data_root",
                code="silo-missing",
                value=missing[0],
            )
        return {name: judged(answers[name], party, plan) for name, party in named.items()}


def judged(answer: Answer, party: Party, plan: PlannedSum) -> Int64[np.ndarray, " dim"]:
    """Return an answer's numbers.

    Raises:
        RuntimeError: they cannot be what the silo's units and its noise add up to.
    """
    numbers, largest = answer.sum, _largest(party, plan)
    if numbers.dtype != np.int64:
        fault = f"numbers of type {numbers.dtype} in place of whole ones"
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            fault = "numbers that are not finite"
    elif numbers.shape != (plan.query.dim,):
        fault = f"{'x'.join(map(str, numbers.shape))} numbers in place of {plan.query.dim}"
    elif numbers.size and not -largest <= int(numbers.min()) <= int(numbers.max()) <= largest:
        fault = f"a number beyond {largest}, which its {party.population} units and its noise cannot reach"
    else:
        return numbers
    raise SiloError(
        f"silo {party.name} sent {fault} for {plan.query.name}: nothing was released; have its process looked after "
        "and run the same command again",
        code="silo-sent-garbage",
        value=party.name,
    )


def _largest(party: Party, plan: PlannedSum) -> int:
    return party.population * math.floor(plan.release.sensitivity / plan.step) + noise_bound(plan.stddev_on_grid)


def validate_aggregation(privacy: Privacy) -> None:
    """Raise ValueError unless each silo adds all of its own noise."""
    if privacy.aggregation != "local":
        raise InputError(
            f"privacy.aggregation is {privacy.aggregation}: silos in processes of their own each add all of "
            "their noise; set privacy.aggregation=local (shares of noise behind a secure sum are not there yet)",
            code="silos-add-their-own-noise",
            parameter="privacy.aggregation",
            value=privacy.aggregation,
        )


def _read(replies: Sequence[bytes]) -> list[Reply]:
    return [read_reply(reply) for reply in replies]


def _refused(refusal: Refusal) -> SiloError:
    return SiloError(
        f"silo {refusal.silo} does not answer: {refusal.sentence}", code="silo-refuses", value=refusal.code
    )


def _receipt_key(ledger: Ledger) -> NoiseKey:
    """Return a key that hides nothing: it names receipts of sums that carry their noise already."""
    known = hashlib.sha256(b"receipts of sums that silos noised").hexdigest()
    seeded = ledger.declaration.noise_seed is not None
    return NoiseKey(secret=known, source="seed" if seeded else "operating system")


_NONE = np.zeros(0, dtype=np.int64)
_NOBODY = PrivateSamples(np.zeros((0, 0)), _NONE, _NONE, _NONE, _NONE)  # the server holds nobody's samples
