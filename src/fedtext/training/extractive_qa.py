"""Extractive question answering: the answer is the span of a passage with the likeliest start and end.

Question and passage are encoded together, as a pair (Devlin et al., NAACL 2019, section 4.2). A linear head on each
token's state scores that token as the answer's start and as its end. Of a pair that is too long the longer part is cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedtext.corpora.exercises import Exercise
from fedtext.params.evaluation import Questions
from fedtext.system.errors import InputError
from fedtext.training.encoder_steps import Rows, batches, fine_tune
from fedtext.training.token_head import READ_AT_ONCE, TokenHead

if TYPE_CHECKING:
    from torch import Tensor

    from fedtext.models.encoder import Encoder

IGNORED = -100  # label of a training example whose answer was cut off


class Pairs(NamedTuple):
    """Tokenised pairs of question and passage; `spans` are character offsets in the passage, None outside of it."""

    tokens: Any
    spans: list[list[tuple[int, int] | None]]


class ExtractiveQA(TokenHead):
    """An encoder with a span head."""

    def __init__(self, encoder: Encoder, questions: Questions) -> None:
        super().__init__(encoder, 2)
        longest = getattr(self.model.config, "max_position_embeddings", None) or questions.length
        self._length, self._answer_length = min(questions.length, longest), questions.answer_length

    def pairs(self, exercises: Sequence[Exercise]) -> Pairs:
        """Tokenise the exercises in one batch, padded to the longest."""
        told = [one.question for one in exercises], [one.passage for one in exercises]
        tokens = self.tokenised(*told, truncation="longest_first", max_length=self._length)
        spans = [
            [tuple(span) if part == 1 else None for part, span in zip(tokens.sequence_ids(row), own, strict=True)]
            for row, own in enumerate(tokens["offset_mapping"].tolist())
        ]
        return Pairs(tokens, spans)

    def logits(self, pairs: Pairs) -> Tensor:
        """Compute start and end scores of each token, of shape (pair, token, 2); -10^4 outside the passage."""
        import torch

        inside = torch.tensor([[span is not None for span in own] for own in pairs.spans])
        found = self.scores(pairs.tokens)
        return found.masked_fill(~inside.to(found.device)[:, :, None], -1e4)

    def answers(self, exercises: Sequence[Exercise]) -> list[str]:
        """Return the likeliest span of each passage, of at most `answer_length` tokens; gold answers are not read."""
        import torch

        found = []
        with torch.inference_mode():
            for read in batches(exercises, READ_AT_ONCE):
                pairs = self.pairs(read)
                for one, spans, scores in zip(read, pairs.spans, self.logits(pairs).cpu().numpy(), strict=True):
                    begin, end = likeliest(scores[:, 0], scores[:, 1], self._answer_length)
                    left, right = spans[begin] or (0, 0), spans[end] or (0, 0)
                    found.append(one.passage[left[0] : right[1]])
        return found


def train_extractive_qa(
    encoder: Encoder, exercises: Sequence[Exercise], questions: Questions, *, seed: int, label: str
) -> ExtractiveQA:
    """Fine-tune a copy of the encoder on exercises.

    Raises:
        ValueError: there is no exercise, or the loss is not finite.
    """
    import torch
    from torch.nn.functional import cross_entropy

    if not exercises:
        raise InputError(
            f"{label}: no exercises to learn from; look at how the texts were written", code="no-exercises"
        )

    def loss_of(reader: ExtractiveQA, rows: Rows) -> Tensor:
        batch = [exercises[row] for row in rows]
        pairs = reader.pairs(batch)
        wanted = torch.tensor([_tokens_of(one, own) for one, own in zip(batch, pairs.spans, strict=True)])
        logits = reader.logits(pairs)
        if bool((wanted == IGNORED).all()):  # the mean over no label is NaN
            return logits.sum() * 0.0
        return cross_entropy(logits, wanted.to(logits.device), ignore_index=IGNORED)

    return fine_tune(
        lambda: ExtractiveQA(encoder, questions),
        loss_of,
        len(exercises),
        questions.fine_tuning,
        seed=seed,
        name="reader",
        label=label,
    )


def likeliest(begins: np.ndarray, ends: np.ndarray, longest: int) -> tuple[int, int]:
    """Return first and last token of the span with the largest sum of both scores, of at most `longest` tokens."""
    both = np.tril(np.triu(np.ones((len(begins), len(ends)), dtype=bool)), longest - 1)
    scores = np.where(both, begins[:, None] + ends[None, :], -np.inf)
    begin, end = np.unravel_index(int(scores.argmax()), scores.shape)
    return int(begin), int(end)


def _tokens_of(exercise: Exercise, spans: Sequence[tuple[int, int] | None]) -> tuple[int, int]:
    """Return first and last token of the answer in the passage; `IGNORED` twice where it was cut off."""
    wanted = exercise.span
    if wanted is None:
        return IGNORED, IGNORED
    inside = [place for place, span in enumerate(spans) if span and span[0] < wanted[1] and wanted[0] < span[1]]
    whole = inside and (spans[inside[-1]] or (0, 0))[1] >= wanted[1]
    return (inside[0], inside[-1]) if whole else (IGNORED, IGNORED)
