"""A question is tried on made-up passages before a silo's own: whether it can be answered depends on nobody's text.

A server could ask in a way that fails where somebody has a passage of one class, or where nobody has, and an answer
that fails is not paid for. So the rehearsal has a passage of each class and one of none, then the one of none alone,
then no passage. A training takes all its steps, without noise, from the first of which its widths are known.

How long an answer takes would tell, too, how many passages of a class there are, and a server chooses how many
candidates each is compared with. So the whole release is rehearsed first, on as many made-up passages as units are
declared, and the reply leaves when it has taken `TIMES` as long as that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from fedtext.federation.messages import BlocksOf
from fedtext.federation.private_samples import UNLABELLED, PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.question import Asked, Question, kind_of
from fedtext.federation.secure_sum import release_grid_sum
from fedtext.models.generator import TrainableGenerator
from fedtext.privacy.budget_guard import NoBudgetGuard, guarding
from fedtext.privacy.ledger import BudgetExceeded, Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.system.errors import InputError
from fedtext.training.asked_of_silos import LocalTraining

UNANSWERABLE = "question-unanswerable"
TEXT = "Somebody wrote this."
MOST = 2048  # made-up passages
TIMES = 3  # the rehearsal itself, and twice its time for the silo's own passages
Widths = set[tuple[int, ...]]


def validate_answerable(question: Question, dim: int, embedding_dim: int) -> None:
    """Raise ValueError if the question fails whatever a silo holds, or asks for other than `dim` numbers a unit.

    Args:
        question: What is asked.
        dim: Width of a unit's contribution, as the query declares it.
        embedding_dim: Width of the silo's embeddings.
    """
    _validate_tried(question, dim, lambda: _widths(question.blocks, _made_up(question, embedding_dim)))


@contextmanager
def taking_as_long_as_rehearsed(
    question: Question, query: Query, ledger: Ledger, embedding_dim: int, holder: int, shares: int | None
) -> Iterator[None]:
    """Rehearse a release, and let the block end when `TIMES` the rehearsal's time has passed.

    Args:
        question: What is asked.
        query: As it is released.
        ledger: The silo's ledger, which is not charged here.
        embedding_dim: Width of the silo's embeddings.
        holder: The silo's own code.
        shares: As `release_grid_sum` takes it.

    Raises:
        BudgetExceeded: the ledger does not pay for the release.
        ValueError: the release fails whatever text there is.
    """

    def released() -> Widths:
        made_up = _made_up(question, embedding_dim, min(ledger.population, MOST), ledger.population, holder)
        with guarding(NoBudgetGuard()):  # nobody's text is released
            release_grid_sum(query, question.blocks, made_up, ledger, new_noise_key(), shares=shares)
        return set()

    began = time.monotonic()
    _validate_tried(question, query.dim, released)
    end = began + TIMES * (time.monotonic() - began)
    try:
        yield
    finally:
        time.sleep(max(0.0, end - time.monotonic()))


def validate_trainable(training: LocalTraining, generator: TrainableGenerator, query: Query, length: int) -> None:
    """Raise ValueError if the training fails whatever a silo holds, or takes other steps than the query declares.

    Args:
        training: What is asked.
        generator: The generator that is trained.
        query: How many steps it may take, and how wide a unit's contribution to each is.
        length: Tokens of the silo's longest passage.
    """

    def widths() -> Widths:
        steps = _MadeUpSteps(_made_up_rows(training, generator, length), query)
        training.weights(generator, steps)
        return steps.widths

    _validate_tried(training, query.dim, widths)


@dataclass
class _MadeUpSteps:
    """The steps of a training on made-up rows (a `fedtext.federation.noisy_steps.NoisyStep`): each comes to zeros."""

    held: PrivateSamples
    query: Query
    made: int = 0
    widths: Widths = field(default_factory=set)

    def __call__(self, blocks_of: BlocksOf, public_digest: str) -> Float[np.ndarray, " dim"]:
        """Implement NoisyStep."""
        self.made += 1
        if self.made > self.query.steps:
            raise OverflowError
        if not self.widths:
            self.widths |= _widths(blocks_of, self.held)
        return np.zeros(self.query.dim)


def _validate_tried(question: Asked, dim: int, tried: Callable[[], Widths]) -> None:
    try:
        widths = tried()
    except BudgetExceeded:
        raise
    except Exception as error:  # of public values alone
        fault = f"fails with {type(error).__name__}"
    else:
        if widths <= {(dim,)}:
            return
        fault = f"has other than the {dim} numbers that it is asked with"
    raise InputError(
        f"a question of the kind {kind_of(type(question))} {fault}, whatever text there is: ask with the silos' "
        "encoder (models.encoder), and install the same version of fedtext at both ends",
        code="question-unanswerable",
        value=kind_of(type(question)),
    )


def _widths(blocks_of: BlocksOf, held: PrivateSamples) -> Widths:
    """Return how wide contributions are: of all made-up passages, of the first alone, which has no class, and of none.

    A silo whose units are many asks some at a time, of whom none may hold a passage.
    """
    some = [held, *(held.of_units(held.enrolled[:few]) for few in (1, 0))]
    return {block.rows.shape[1:] for own in some for block in blocks_of(own)}


def _made_up_rows(training: LocalTraining, generator: TrainableGenerator, length: int) -> PrivateSamples:
    labels = [None, *training.classes]
    rows, unit = training.rows(generator, [TEXT] * len(labels), labels, length)
    return PrivateSamples.of_one_class(rows, unit, np.zeros(len(unit), dtype=np.int64))


def _made_up(
    question: Question, embedding_dim: int, passages: int = 0, units: int | None = None, holder: int = 0
) -> PrivateSamples:
    """Return at least so many passages of at most so many units, of no class and of each class in turn."""
    kinds = max(len(question.classes), 1) + 1
    number = max(kinds, passages)
    embeddings = np.zeros((number, embedding_dim), dtype=np.float32)
    embeddings[:, 0] = 1.0
    unit, label = np.arange(number) % (units or number), np.arange(number) % kinds + UNLABELLED
    seen = question.seen([TEXT] * number, embeddings)
    return PrivateSamples(seen, unit, label, np.unique(unit), np.full(number, holder, dtype=np.int64))
