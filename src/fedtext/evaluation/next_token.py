"""Next-token accuracy of an on-device model, the main measure of what synthetic text is worth.

The rule is the same for every condition. A text is tokenised once, and one start token is put before it (<bos>, or
<eos> for tokenizers without one, such as GPT-2's). Each real token is predicted once, from the tokens before it in its
window of `length` (`fedtext.training.windows`). No token is left out, whatever the length of the text. Padding is
neither attended to nor scored. The end of a text is never scored, since a chunk ends where it was cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from fedtext.system.errors import InputError
from fedtext.system.progress import progress
from fedtext.training.windows import Windows

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PADDING = -1  # not a token of any tokenizer: GPT-2's usual padding is its start token too
WIDTH_STEP = 16  # tokens: rows are filled up to a multiple
PROGRESS_FROM = 50  # batches; fewer are done in seconds


@dataclass(frozen=True)
class NextTokenCounts:
    """Correct predictions of a model in each text. They are as private as the texts; `summary` is the aggregate.

    `correct[i, j]` counts text i's tokens among the model's first `top[j]` guesses; `nats` is its summed cross-entropy.
    The measures of `measures.next_token_accuracy` read the counts as `arrays`.
    """

    top: tuple[int, ...]
    correct: Int[np.ndarray, "text rank"]
    tokens: Int[np.ndarray, " text"]
    nats: Float[np.ndarray, " text"]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fields as arrays by name."""
        return {"top": np.asarray(self.top), "correct": self.correct, "tokens": self.tokens, "nats": self.nats}

    def summary(self) -> dict[str, float]:
        """Return accuracies as fractions, the number of `tokens` and `cross_entropy` (nats a token)."""
        scored = int(self.tokens.sum())
        if scored == 0:
            raise InputError("next-token accuracy: no token to score; every text is empty", code="no-token-to-score")
        return {
            **{f"top_{k}": float(c / scored) for k, c in zip(self.top, self.correct.sum(axis=0), strict=True)},
            "tokens": scored,
            "cross_entropy": float(self.nats.sum() / scored),
        }


def next_token_accuracy(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    *,
    length: int,
    top: Sequence[int] = (1, 3, 5),
    batch_size: int = 32,
) -> dict[str, float]:
    """Compute the accuracy of `model` on `texts` by this module's rule: `top_1`, ..., `tokens`, `cross_entropy`.

    Raises:
        ValueError: no text holds a token, or the tokenizer has neither a <bos> nor an <eos>.
    """
    return count_by_text(model, text_windows(tokenizer, texts, length), top=top, batch_size=batch_size).summary()


def text_windows(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], length: int) -> Windows:
    """Return the start token and all tokens of each text, in windows of `length`."""
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    if start is None:
        raise InputError(
            "the tokenizer has neither a <bos> nor an <eos> to start a text with: set its bos_token",
            code="no-start-token",
        )
    encoded = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"] if texts else []
    return Windows.of([[start, *ids] for ids in encoded], length)


def padded(rows: Sequence[Sequence[int]], width: int | None = None) -> Int[np.ndarray, "row length"]:
    """Return rows as one matrix of `width` columns (default: the longest row's), right-padded with `PADDING`."""
    matrix = np.full((len(rows), width or max(map(len, rows), default=0)), PADDING, dtype=np.int64)
    for filled, row in zip(matrix, rows, strict=True):
        filled[: len(row)] = row
    return matrix


def count_by_text(
    model: PreTrainedModel,
    texts: Windows,
    *,
    top: Sequence[int] = (1, 3, 5),
    batch_size: int = 32,
    label: str = "next-token accuracy",
) -> NextTokenCounts:
    """Run `count_next_tokens` on all windows, and sum over the windows of each text."""
    rows = count_next_tokens(model, texts.rows, top=top, batch_size=batch_size, label=label)
    return NextTokenCounts(rows.top, *map(texts.summed, (rows.correct, rows.tokens, rows.nats)))


def count_next_tokens(
    model: PreTrainedModel,
    rows: Sequence[Sequence[int]],
    *,
    top: Sequence[int] = (1, 3, 5),
    batch_size: int = 32,
    label: str = "next-token accuracy",
) -> NextTokenCounts:
    """Predict every token of every row but its first, and count the correct predictions.

    Rows whose lengths fall into the same step of 16 share batches, which are filled up to `batch_size`. So a row's
    counts do not depend, to the last bit, on the batch composition.
    """
    import torch

    counts = NextTokenCounts(
        top=tuple(top),
        correct=np.zeros((len(rows), len(top)), dtype=np.int64),
        tokens=np.array([max(len(row) - 1, 0) for row in rows], dtype=np.int64),
        nats=np.zeros(len(rows)),
    )
    batches = list(_fixed_batches([len(row) for row in rows], batch_size))
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        for batch, width in progress(batches, label, unit="batch") if len(batches) >= PROGRESS_FROM else batches:
            filling = [rows[batch[0]][:1]] * (batch_size - len(batch))
            rank, nats = _predict(model, padded([*(rows[i] for i in batch), *filling], width))
            first = np.cumsum(counts.tokens[batch]) - counts.tokens[batch]  # every row here has tokens
            counts.correct[batch] = np.stack([np.add.reduceat(rank < k, first, dtype=np.int64) for k in top], axis=1)
            counts.nats[batch] = np.add.reduceat(nats, first)
    model.train(was_training)
    return counts


def _fixed_batches(lengths: Sequence[int], batch_size: int) -> Iterator[tuple[list[int], int]]:
    """Yield batches of at most `batch_size` rows of similar length, longest first, with their padded width.

    Rows without anything to predict are left out.
    """
    widths = [-(-length // WIDTH_STEP) * WIDTH_STEP if length > 1 else 0 for length in lengths]
    for width in sorted(set(widths) - {0}, reverse=True):
        own = [i for i, one in enumerate(widths) if one == width]
        for first in range(0, len(own), batch_size):
            yield own[first : first + batch_size], width


def _predict(
    model: PreTrainedModel, matrix: Int[np.ndarray, "row length"]
) -> tuple[Int[np.ndarray, " label"], Float[np.ndarray, " label"]]:
    """Return rank (0 is the first guess) and cross-entropy of each real label, row after row.

    Among equal logits the smaller token id ranks first, so a model with constant logits is not counted as correct.
    """
    import torch

    ids = torch.from_numpy(matrix).to(next(model.parameters()).device)
    real = ids != PADDING
    output = model(input_ids=ids.masked_fill(~real, 0), attention_mask=real.long(), use_cache=False)
    logits = output.logits[:, :-1][real[:, 1:]].float()  # after the head, whose input shape is fixed too
    labels = ids[:, 1:][real[:, 1:]][:, None]
    truth = logits.gather(-1, labels)
    rank = (logits > truth).sum(-1, dtype=torch.int32)
    tied = ((logits >= truth).sum(-1, dtype=torch.int32) - rank > 1).nonzero()[
        :, 0
    ]  # rare, and a second pass over all tokens is not cheap
    smaller = torch.arange(logits.shape[-1], device=logits.device) < labels[tied]
    rank[tied] += ((logits[tied] == truth[tied]) & smaller).sum(-1, dtype=torch.int32)
    nats = torch.logsumexp(logits, -1) - truth[:, 0]
    if not torch.isfinite(nats).all():  # comparisons with NaN are false: every label would rank first
        raise InputError(
            "next-token accuracy: the model's logits are not finite; lower the learning rate it had",
            code="logits-not-finite",
        )
    return rank.cpu().numpy(), nats.double().cpu().numpy()
