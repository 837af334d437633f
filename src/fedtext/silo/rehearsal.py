"""A question is tried on made-up passages before a silo's own: whether it can be answered depends on nobody's text.

A server could ask in a way that fails where somebody has a passage of one class, and an answer that fails is not paid
for. So the rehearsal has a passage of each class, and one of none.
"""

from __future__ import annotations

import numpy as np

from fedtext.federation.private_samples import UNLABELLED, PrivateSamples
from fedtext.federation.question import Question, kind_of
from fedtext.system.errors import InputError

UNANSWERABLE = "question-unanswerable"
TEXT = "Somebody wrote this."


def validate_answerable(question: Question, dim: int, embedding_dim: int) -> None:
    """Raise ValueError if the question fails whatever a silo holds, or asks for other than `dim` numbers a unit.

    Args:
        question: What is asked.
        dim: Width of a unit's contribution, as the query declares it.
        embedding_dim: Width of the silo's embeddings.
    """
    try:
        widths = {block.rows.shape[1:] for block in question.blocks(_made_up(question, embedding_dim))}
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


def _made_up(question: Question, embedding_dim: int) -> PrivateSamples:
    number = max(len(question.classes), 1) + 1
    embeddings = np.zeros((number, embedding_dim), dtype=np.float32)
    embeddings[:, 0] = 1.0
    unit = np.arange(number)
    seen = question.seen([TEXT] * number, embeddings)
    return PrivateSamples(seen, unit, np.arange(UNLABELLED, number - 1), unit, np.zeros(number, dtype=np.int64))
