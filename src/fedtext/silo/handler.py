"""A silo's handler: every message from a server comes here, and what it returns is all that leaves.

The silo computes the sum over its own units, adds its noise by its own key, prices the public query by itself and
charges its own ledger. It trusts the server with nothing: neither with the price nor with the question. To a secure sum
it adds a share of the noise and its masks (fedtext.silo.secure_answers). If its person lets it, it also trains
(fedtext.silo.trainings).

A question that it does not know, or that its budget does not pay, gets a refusal in a sentence. So does one that fails:
the sentence then says no more than that, for an error may quote text. What failed stands in the silo's own log.
"""

from __future__ import annotations

import datetime
import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from fedtext.federation.inquiry import (
    INQUIRY,
    WHO,
    Answer,
    Inquiry,
    Refusal,
    Reply,
    SecureSum,
    Trained,
    packed_reply,
    read_inquiry,
)
from fedtext.federation.mechanism import planned_release
from fedtext.federation.packed import unpack
from fedtext.federation.query import Query
from fedtext.federation.question import Asked, Question, kind_of
from fedtext.federation.secure_sum import release_grid_sum
from fedtext.privacy.budget_guard import guarding
from fedtext.privacy.data_set_budget import DataSetBudget
from fedtext.privacy.history import History
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Release
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.privacy.registry import Registry
from fedtext.privacy.spending import total_epsilon
from fedtext.silo.audit_log import Entry, Outcome, add_entry
from fedtext.silo.known import QUESTIONS
from fedtext.silo.local_data import LocalData, fingerprint, read_local_data, unit_rules
from fedtext.silo.rehearsal import UNANSWERABLE, taking_as_long_as_rehearsed, validate_answerable
from fedtext.silo.secure_answers import CHANGED, SecureAnswers
from fedtext.silo.settings import Silo
from fedtext.silo.trainings import Trainings
from fedtext.system.errors import FedtextError, InputError
from fedtext.system.folders import make_own_folder, own_file
from fedtext.training.asked_of_silos import LocalTraining

LOG = logging.getLogger(__name__)
KEY = "private_noise_key.json"
NOT_ASKED, FAILED, BUDGET = "silo-not-asked", "silo-failed", "silo-budget"
OF_OTHER_DATA, NO_PRICE = "released-of-other-data", "silo-no-price"


class _Replied(NamedTuple):
    reply: Reply
    outcome: Outcome
    epsilon: float | None = None


class MessageHandler:
    """Answers a server's messages.

    Args:
        silo: What the person here declares.
        beside: The folder of their settings, at which relative paths start.
        key: The silo's noise key; by default its own, made by the operating system once and kept in its folder.
    """

    def __init__(self, silo: Silo, beside: Path, key: NoiseKey | None = None) -> None:
        self.silo, self._beside = silo, beside
        self.folder = beside / Path(silo.folder).expanduser()
        make_own_folder(self.folder)
        self._key = key or own_key(self.folder)
        self._secure = SecureAnswers(silo, self._key, self.folder)
        self._trainings = Trainings(silo, self._key, self.folder)
        self._ledger = ledger_of(silo)
        self._held: tuple[tuple[object, ...], LocalData] | None = None
        self.budget = budget_of(silo, self.folder)

    def local_data(self) -> LocalData:
        """Return what the silo holds, read again if its table has changed."""
        now = fingerprint(self.silo, self._beside)
        if self._held is None or self._held[0] != now:
            found = read_local_data(self.silo, self._beside, self.folder)
            self.budget.history.register_units(found.people, found.records["text"])
            self._held = now, found
        return self._held[1]

    def reply(self, message: bytes) -> bytes:
        """Return the reply to one message, whatever it is."""
        return packed_reply(self._reply(message))

    def _reply(self, message: bytes) -> Reply:
        try:
            packed = unpack(message)
            if packed.kind == WHO:
                return self.silo.card
            if packed.kind != INQUIRY:
                raise InputError(
                    f"a message of the kind {packed.kind[:100]!r} is no inquiry: install the same version of fedtext "
                    "at both ends",
                    code="no-inquiry",
                )
            inquiry = read_inquiry(packed, QUESTIONS)
        except InputError as error:  # of public values alone
            self._note(None, "refused", sentence=str(error))
            return Refusal(silo=self.silo.name, code=error.code, sentence=str(error))
        replied = self._judged(inquiry, hashlib.sha256(message).hexdigest())
        sentence = replied.reply.sentence if isinstance(replied.reply, Refusal) else ""
        self._note(inquiry, replied.outcome, replied.epsilon, sentence)
        return replied.reply

    def _judged(self, inquiry: Inquiry, asked: str) -> _Replied:
        """Return the answer to the message of digest `asked`, or a refusal that tells no private value."""
        parties, secure = inquiry.query.parties, inquiry.secure
        if parties is not None and self.silo.name not in parties:
            return self._refused(NOT_ASKED, "this question is for other silos")
        query, ledger = inquiry.query.of_silo(self.silo.name), ledger_of(self.silo, secure)
        try:
            self._trainings.validate_asked(inquiry)
            if secure is not None:
                self._secure.validate_sum(inquiry, secure)
            # Noise of one question hides nothing of another, whatever a server calls them; nor has a draw its sample.
            query = query.about(inquiry.digest if secure is None and not query.own else asked)
            releases = self._releases(query, inquiry.question, ledger)
            priced = ledger.model_copy(update={"releases": tuple(releases)}).spent()
        except FedtextError as error:
            return self._refused(error.code, str(error))
        except Exception:  # of public values alone
            LOG.exception("%s cannot be priced", query.name)
            return self._refused(NO_PRICE, f"'{query.name}' has no price: ask with a noise multiplier of 0.01 or more")
        try:
            if isinstance(inquiry.question, LocalTraining):
                return self._trained(query, inquiry.question, ledger, releases, asked)._replace(epsilon=priced)
            return self._answered(query, inquiry, ledger, asked)._replace(epsilon=priced)
        except BudgetExceeded as error:
            LOG.info("%s", error)
            return self._refused(BUDGET, self._overdrawn(query, priced), priced)
        except Exception as error:
            if isinstance(error, FedtextError) and error.code in (OF_OTHER_DATA, CHANGED, UNANSWERABLE):
                return self._refused(error.code, str(error), priced)
            LOG.exception("%s was not answered", query.name)
            why = "something failed while it answered; what, stands in its own log alone"  # it may quote text
            return self._refused(FAILED, why, outcome="failed")

    def _releases(self, query: Query, question: Asked, ledger: Ledger) -> list[Release]:
        """Return what the answer costs: the one release of a sum, or those of all rounds of a training to come."""
        if isinstance(question, LocalTraining):
            return self._trainings.releases(query, question, ledger)
        return [planned_release(query, ledger.declaration, ledger.population)]

    def _trained(
        self, query: Query, training: LocalTraining, ledger: Ledger, releases: Sequence[Release], asked: str
    ) -> _Replied:
        if self._trainings.is_kept(asked):
            return _Replied(Trained(self.silo.name, self._trainings.kept(asked)), "repeated")
        self.budget.validate_runs_together([ledger], releases)
        with guarding(self.budget.guard_of(kind_of(type(training)), releases=True)):
            weights = self._trainings.trained(query, training, self.local_data(), ledger, asked)
        return _Replied(Trained(self.silo.name, weights), "answered")

    def _answered(self, query: Query, inquiry: Inquiry, ledger: Ledger, asked: str) -> _Replied:
        known, secure = len(self.budget.history.entries()), inquiry.secure
        assert isinstance(inquiry.question, Question)
        held, node, again = self.local_data(), kind_of(type(inquiry.question)), False
        history = self.budget.history.entries()  # also what was lost here, and is known of these people
        validate_answerable(inquiry.question, query.dim, held.embeddings.shape[1])
        shares = None if secure is None else len(set(inquiry.query.parties or ()))
        if secure is not None:
            node = f"{node} {self._secure.name(asked, held.digest)}"
            again = self._secure.begin(asked, held.digest, [one.node for one in history])
        rehearsed = taking_as_long_as_rehearsed(
            inquiry.question, query, ledger, held.embeddings.shape[1], held.holder, shares
        )
        with rehearsed, guarding(self.budget.guard_of(node, releases=True)):
            samples = held.asked(inquiry.question)  # it may read each text, which takes its time
            found = release_grid_sum(
                query, inquiry.question.blocks, samples, ledger, self._key, shares=shares, bound_to=held.digest
            )
        made = len(self.budget.history.entries())
        outcome: Outcome = "repeated" if made == known else "answered"
        if secure is None:
            return _Replied(Answer(self.silo.name, found.sum), outcome)
        self._secure.remember(asked, found, second=again and made > len(history))
        return _Replied(self._secure.masked(found, inquiry, secure, asked), outcome)

    def _overdrawn(self, query: Query, priced: float) -> str:
        own, spent = self.silo.protection, self.spent()
        return (
            f"'{query.name}' costs epsilon {priced:.4g} by its own account, {spent:.4g} is spent, and all releases "
            f"together may cost {own.epsilon:.4g} at delta {own.delta:.4g}: ask with more noise or fewer questions, or "
            "have the people behind the text agree to more"
        )

    def spent(self) -> float:
        """Return epsilon of all releases of the silo's text so far."""
        history = self.budget.history.entries()
        return total_epsilon(history, self._ledger, self.budget.rules) if history else 0.0

    def _refused(
        self, code: str, sentence: str, epsilon: float | None = None, outcome: Outcome = "refused"
    ) -> _Replied:
        return _Replied(Refusal(silo=self.silo.name, code=code, sentence=sentence), outcome, epsilon)

    def _note(
        self, inquiry: Inquiry | None, outcome: Outcome, epsilon: float | None = None, sentence: str = ""
    ) -> None:
        query = inquiry.query if inquiry else None
        entry = Entry(
            when=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            question=kind_of(type(inquiry.question)) if inquiry else "",
            name=query.name if query else "",
            round=query.round if query else 0,
            numbers=query.dim if query else 0,
            noise_multiplier=query.noise_multiplier if query else 0.0,
            epsilon=epsilon,
            outcome=outcome,
            sentence=sentence,
            silos=len(query.parties or ()) if query and inquiry and inquiry.secure else 0,
        )
        add_entry(self.folder, entry)


def ledger_of(silo: Silo, secure: SecureSum | None = None) -> Ledger:
    """Return the silo's own ledger before its first release, of a secure sum or not: it is the only party."""
    own = silo.protection
    return Ledger(declaration=silo.privacy(secure).of_a_run(), population=own.population, parties=(silo.party,))


def budget_of(silo: Silo, folder: Path) -> DataSetBudget:
    """Return the silo's own budget: the releases that it made, and what all of them may cost."""
    history = History(folder, registry=Registry())
    return DataSetBudget(history, public=False, total=silo.protection.epsilon, rules=unit_rules(silo))


def own_key(folder: Path) -> NoiseKey:
    """Return the silo's secret, made once by whoever holds the folder.

    Raises:
        ValueError: its file is damaged; nothing of it is quoted.
    """
    make_own_folder(folder)
    file = folder / KEY
    if not file.exists():
        with own_file(file) as temporary:
            temporary.write_text(new_noise_key().model_dump_json(), "utf-8")
    try:
        return NoiseKey.model_validate_json(file.read_bytes())
    except ValidationError:
        raise InputError(
            f"{file} is empty or damaged: put back a copy of it, or remove it and start again; with a new secret each "
            "question is answered anew and paid for, and other silos need what `fedtext-silo key` prints then",
            code="silo-secret-damaged",
            value=str(file),
        ) from None
