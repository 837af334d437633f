"""The server's side of a federation of silos in processes of their own: it asks, judges what comes back, and adds up.

Under `local` each silo adds all of its noise by itself, and the server sees each silo's noisy sum. Under `secure` each
adds a share of it and pairwise masks (fedtext.silo.pairwise_masks), and the server sees the sum of all. The server
charges its ledger as for any release. A silo charges its own ledger, at its own price, and need not believe the server.

A round ends if a silo refuses, is missing or sends what cannot be an answer: the sentence names it, nothing is
released, and the ledger is as before. Silos that had answered have paid. Asked the same again they send the same bytes
and pay nothing, so no budget is lost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Int64

from fedtext.federation.charged_release import charged_releases
from fedtext.federation.inquiry import (
    WHO,
    Answer,
    AskedQuery,
    Card,
    Inquiry,
    Masked,
    Refusal,
    Reply,
    SecureSum,
    Trained,
    read_reply,
)
from fedtext.federation.masked_sum import SiloError, garbage, opened_sum
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
from fedtext.system.alike import code_name
from fedtext.system.errors import InputError

SILO = "silo"  # a party's kind
SHOWN = 1000  # characters of a silo's sentence
A = TypeVar("A", Answer, Masked, Trained)


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
    """Raise ValueError unless all silos protect what the run declares, embed as the server does, and have its code."""
    for card in cards:
        _validate_code(card)
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


def _validate_code(card: Card) -> None:
    """Raise ValueError unless a silo counts, votes and trains by the run's own rules: its sums would mean others."""
    if card.code != code_name():
        raise InputError(
            f"silo {card.name} has other code of fedtext ({card.code or 'too old to say'}) than this run "
            f"({code_name()}), and may follow other rules: install the same version at both ends, and start the silo "
            "again",
            code="silo-of-other-code",
            value=card.name,
        )


def validate_planned_sums(ledger: Ledger, cards: Sequence[Card]) -> None:
    """Raise ValueError unless silos take part in all planned secure sums; some are of a part of them."""
    if ledger.declaration.aggregation != "secure":
        return
    shared = [release.parties for release in ledger.planned or () if not release.secret_sample]
    for parties in dict.fromkeys(shared):
        names = parties or tuple(card.name for card in cards)
        for card in cards:
            if card.name in names:
                card.secure_sums.validate_sum(card.name, names, ledger.declaration.honest_fraction)


def parties_of(cards: Sequence[Card], epsilon: float) -> tuple[Party, ...]:
    """Return the silos as the ledger's parties: none may be charged more than its own budget."""
    return tuple(
        Party(name=card.name, kind=SILO, population=card.population, epsilon=min(card.epsilon, epsilon))
        for card in cards
    )


@dataclass(frozen=True)
class Silos:
    """Silos in processes of their own (a `fedtext.federation.federation.Federation`).

    Attributes:
        transport: The way to them.
        session: Tells apart two secure sums of one query (`fedtext.federation.inquiry.SecureSum`).
    """

    transport: Transport
    session: int = 0

    def summed(self, query: Query, question: Question, ledger: Ledger) -> NoisySum:
        """Implement Federation.

        Raises:
            RuntimeError: a silo refuses, is missing, or sends what cannot be an answer; nothing is released.
        """
        validate_aggregation(ledger.declaration)
        part = taking_part(ledger, query.parties)
        plan = planned_sum(query, ledger.declaration, part.population, len(part.parties))
        added_up = self._secure_sum if ledger.declaration.aggregation == "secure" else self._sum_of_noised
        with charged_releases([plan], NOBODY, ledger, receipt_key(ledger)) as (charged, [release]):
            summed = added_up(plan, AskedQuery.of(query), question, part)
            total = release.sum_of_noised(lambda _: [summed], sum_stream(plan), query.dim)
            return NoisySum(dequantise(total, plan.step), charged)

    def _sum_of_noised(
        self, plan: PlannedSum, query: AskedQuery, question: Question, part: Ledger
    ) -> Int64[np.ndarray, " dim"]:
        """Return the sum of the silos' noisy sums."""
        plan.validate_modulus(64)
        answers = self.answers(Inquiry(query, question), part.parties, Answer)
        return np.asarray(sum(judged(answers[party.name], party, plan) for party in part.parties))

    def _secure_sum(
        self, plan: PlannedSum, query: AskedQuery, question: Question, part: Ledger
    ) -> Int64[np.ndarray, " dim"]:
        """Return the sum of the silos' sums and shares of noise, of which each alone looks like chance."""
        plan = plan.in_shares(len(part.parties))
        bits = plan.message_bits
        plan.validate_modulus(bits)
        secure = SecureSum(honest_fraction=part.declaration.honest_fraction, bits=bits, session=self.session)
        named = query.model_copy(update={"parties": tuple(party.name for party in part.parties)})
        answers = self.answers(Inquiry(named, question, secure), part.parties, Masked)
        return opened_sum(answers, plan, bits)

    def answers(
        self, inquiry: Inquiry, parties: Sequence[Party], kind: type[A], there: int | None = None
    ) -> dict[str, A]:
        """Return each party's answer by its name.

        Args:
            inquiry: What all silos are asked.
            parties: Those that must answer; others may refuse.
            kind: How they must answer.
            there: How many silos are waited for; None: as many as there are parties.

        Raises:
            RuntimeError: one of the parties refuses, is missing, or two answer under one name.
        """
        replies, asked = _read(self.transport.ask(inquiry.packed(), there or len(parties))), inquiry.query.name
        names = {party.name for party in parties}
        for reply in replies:
            if isinstance(reply, Refusal) and reply.silo in names:
                raise _refused(reply)
        found = [reply for reply in replies if isinstance(reply, kind) and reply.silo in names]
        answers = {reply.silo: reply for reply in found}
        if len(found) > len(answers):
            raise SiloError(f"two silos answer {asked} under one name: give each a name of its own", code="silo-twice")
        if missing := sorted(names - answers.keys()):
            raise SiloError(
                f"silo {missing[0]} did not answer {asked} ({len(answers)} of {len(names)} did): start it again and "
                "run the same command, and the others repeat their answers without paying; or ask fewer silos "
                "(federation.silos) in a new data_root",
                code="silo-missing",
                value=missing[0],
            )
        return answers


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
    raise garbage(party.name, fault, plan)


def _largest(party: Party, plan: PlannedSum) -> int:
    return party.population * plan.largest_contribution + noise_bound(plan.stddev_on_grid)


def validate_aggregation(privacy: Privacy) -> None:
    """Raise ValueError unless silos add the noise."""
    if privacy.aggregation == "trusted":
        raise InputError(
            f"privacy.aggregation is {privacy.aggregation}, and silos in processes of their own trust no curator: set "
            "privacy.aggregation=local (each silo adds all of its noise) or secure (shares behind a secure sum)",
            code="silos-add-their-own-noise",
            parameter="privacy.aggregation",
            value=privacy.aggregation,
        )


def _read(replies: Sequence[bytes]) -> list[Reply]:
    return [read_reply(reply) for reply in replies]


def _refused(refusal: Refusal) -> SiloError:
    return SiloError(
        f"silo {_shown(refusal.silo)} does not answer: {_shown(refusal.sentence)}",
        code="silo-refuses",
        value=_shown(refusal.code),
    )


def _shown(words: str) -> str:
    """Return words that somebody else chose, for a terminal: as many as a sentence has, and none that steers it."""
    return "".join(one if one.isprintable() else " " for one in words[:SHOWN])


def receipt_key(ledger: Ledger) -> NoiseKey:
    """Return a key that hides nothing: it names receipts of sums that carry their noise already."""
    known = hashlib.sha256(b"receipts of sums that silos noised").hexdigest()
    seeded = ledger.declaration.noise_seed is not None
    return NoiseKey(secret=known, source="seed" if seeded else "operating system")


_NONE = np.zeros(0, dtype=np.int64)
NOBODY = PrivateSamples(np.zeros((0, 0)), _NONE, _NONE, _NONE, _NONE)  # the server holds nobody's samples
