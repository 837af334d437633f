"""Next-token training of a causal language model on rows of token ids: one plain loop, for models of any size.

The models trained here are mostly so small that a general trainer's bookkeeping would show in the step time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.models.language_model import context_length
from fedtext.params.training import CausalTraining
from fedtext.seeding import stream
from fedtext.system.errors import InputError
from fedtext.system.hardware import bfloat16_if_faster, compute_device, row_multiple
from fedtext.system.progress import progress
from fedtext.training.packed_sequences import MASKED, packed_logits, packed_texts, scored_logits_only

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer
    from transformers import PreTrainedModel

LOG_EVERY = 25  # steps
MAX_GRADIENT_NORM = 1.0
UNSCORED = -100  # the label that torch's cross-entropy leaves out
TOLERANCE = 1e-4  # on a batch's loss, between packed sequences and rows
SHORT = 128  # tokens: up to this length a CPU computes gradients faster by plain than by fused attention


def train_causal_lm(
    model: PreTrainedModel,
    rows: Int[np.ndarray, "row length"],
    params: CausalTraining,
    *,
    seed: int,
    pad_token_id: int | None = None,
    compiled: bool = False,
    label: str = "training",
    after_epoch: Callable[[int], None] | None = None,
) -> list[dict[str, float]]:
    """Train `model` in place on `rows`; positions that hold `pad_token_id` are neither attended to nor scored.

    Tokens marked by `as_unscored` (fedtext.training.client_gradients), such as a prompt's, are attended to and not
    scored.

    The optimizer is AdamW on float32 weights (matrices decay, vectors do not), with the learning rate of `peak_share`
    and gradients clipped to norm 1. Every epoch is a fresh shuffle; its last, incomplete batch is left out unless it is
    the only one. The model ends on the training device, in evaluation mode.

    Args:
        model: The model, changed in place.
        rows: Token ids.
        params: Epochs, batch size and learning rate.
        seed: Seed of shuffles and dropout.
        pad_token_id: May be a number that is no token, such as -1: a real token used as padding would hide itself.
        compiled: Compile the model with torch, for rows without padding only: padded batches, each with its own mask,
            would be compiled again and again.
        label: Name in the progress bar and in errors.
        after_epoch: Called after every epoch with the number of epochs done, a partial last one counted. It may inspect
            the model, and must leave weights and mode unchanged.

    Returns:
        One `{"step", "loss"}` per 25 steps and one for the last (nats per token, mean since the entry before).

    Raises:
        ValueError: there are no rows, padded rows are to be compiled, or the loss is not finite.
    """
    import torch
    from torch.optim.lr_scheduler import LambdaLR

    if len(rows) == 0:
        raise InputError(f"{label}: no training rows; give it more text or shorter rows", code="no-training-rows")
    if compiled and pad_token_id is not None:
        raise InputError(
            f"{label}: padded rows are not compiled for: leave out compiled, or pad_token_id",
            code="compiled-with-padding",
        )
    validate_lengths(rows, model, label)
    device = compute_device()
    model.to(device).float().train()
    forward = torch.compile(model) if compiled else model
    batches = list(_batches(len(rows), params, seed))
    per_epoch = _steps_per_epoch(len(rows), params)
    optimizer = _optimizer(model, params)
    schedule = LambdaLR(optimizer, lambda done: peak_share(done + 1, len(batches), params.warmup_share))
    torch.manual_seed(seed)  # seeds dropout
    history: list[dict[str, float]] = []
    recent: list[Tensor] = []
    with _plain_attention(model, wanted=rows.shape[1] <= SHORT and device.type == "cpu"):
        packed = pad_token_id is not None and _supports_packing(model, rows, pad_token_id)
        for step, picked in enumerate(progress(batches, label, unit="step"), start=1):
            ids = torch.from_numpy(rows[picked]).to(device)
            with bfloat16_if_faster(device):
                loss = (
                    forward(input_ids=ids, labels=ids).loss
                    if pad_token_id is None
                    else _loss(model, ids, pad_token_id, packed=packed)
                )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT_NORM)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            recent.append(loss.detach())
            if step % LOG_EVERY == 0 or step == len(batches):
                history.append({"step": step, "loss": _finite(float(torch.stack(recent).mean()), step, label)})
                recent.clear()
            if after_epoch is not None and (step % per_epoch == 0 or step == len(batches)):
                after_epoch(math.ceil(step / per_epoch))
    model.eval()
    return history


@contextmanager
def _plain_attention(model: PreTrainedModel, *, wanted: bool) -> Iterator[None]:
    """Switch `model` to plain (not fused) attention in this context if `wanted`."""
    usual = model.config._attn_implementation
    if wanted:
        model.set_attn_implementation("eager")
    try:
        yield
    finally:
        if wanted:
            model.set_attn_implementation(usual)


def peak_share(step: int, steps: int, warmup_share: float) -> float:
    """Return the share of the peak learning rate at `step` of 1, ..., `steps`: linear warm-up to 1, then cosine decay.

    No step has rate 0, unlike the first and last of the common schedule: a training of one or two steps moves too.
    """
    warmup = math.ceil(warmup_share * steps)
    if step <= warmup:
        return step / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup + 1)))


def validate_lengths(rows: Sequence[Sequence[int]] | np.ndarray, model: PreTrainedModel, label: str) -> None:
    """Raise ValueError if a row has more tokens than `model` reads at once."""
    longest, limit = max(map(len, rows), default=0), context_length(model)
    if limit is not None and longest > limit:
        raise InputError(
            f"{label}: a text has {longest} tokens with its start token, the model reads {limit} at once: lower "
            "chunking.length or choose a model with a longer context",
            code="text-too-long",
        )


def _batches(rows: int, params: CausalTraining, seed: int) -> Iterator[Int[np.ndarray, " batch"]]:
    """Yield the row indices of every step of `params.epochs` shuffled passes, the last of which may be partial."""
    per_epoch = _steps_per_epoch(rows, params)
    steps = math.ceil(params.epochs * per_epoch)
    for epoch in range(math.ceil(steps / per_epoch)):
        order = stream(seed, "causal_lm", epoch).permutation(rows)
        for i in range(min(per_epoch, steps - epoch * per_epoch)):
            yield order[i * params.batch_size : (i + 1) * params.batch_size]


def _steps_per_epoch(rows: int, params: CausalTraining) -> int:
    return max(rows // params.batch_size, 1)


def _optimizer(model: PreTrainedModel, params: CausalTraining) -> Optimizer:
    import torch

    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": params.weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=params.learning_rate, fused=True)


def _loss(model: PreTrainedModel, ids: Tensor, pad_token_id: int, *, packed: bool) -> Tensor:
    """Compute the mean cross-entropy of the real tokens that are scored, each given those before it."""
    from torch.nn.functional import cross_entropy

    logits, labels = (_of_lines if packed else _of_rows)(model, ids, ids != pad_token_id)
    return cross_entropy(logits.float(), labels)


def _of_lines(
    model: PreTrainedModel, ids: Int[Tensor, "row length"], real: Bool[Tensor, "row length"]
) -> tuple[Float[Tensor, "label token"], Int[Tensor, " label"]]:
    """Return logits and labels of the scored tokens, computed on packed texts.

    Logits of other places may be added, with label `UNSCORED`, to fill up to a multiple of `row_multiple`.
    """
    import torch

    multiple = row_multiple(ids.device)
    lines, following = packed_texts(ids, real, multiple)
    labels = torch.full_like(lines.ids, UNSCORED)
    labels[lines.scored] = following.where(following >= 0, UNSCORED)
    wanted = labels != UNSCORED
    others = (~wanted).nonzero()[: -int(wanted.sum()) % multiple]
    wanted[tuple(others.T)] = True
    logits = packed_logits(model, replace(lines, ids=_as_shown(lines.ids)), wanted)
    return logits, labels[wanted]


def _of_rows(
    model: PreTrainedModel, ids: Int[Tensor, "row length"], real: Bool[Tensor, "row length"]
) -> tuple[Float[Tensor, "label token"], Int[Tensor, " label"]]:
    """Return logits and labels of the scored tokens, computed on one padded row per text."""
    from torch.nn.functional import pad

    scored = (real & (ids >= 0))[:, 1:]
    with scored_logits_only(model, pad(scored, (0, 1))):  # a token is predicted by the position before it
        output = model(
            input_ids=_as_shown(ids).masked_fill(~real, 0),  # any token: it is masked and not scored
            attention_mask=real.long(),
            use_cache=False,
        )
    return output.logits, ids[:, 1:][scored]


def _as_shown(ids: Tensor) -> Tensor:
    """Decode tokens marked by `as_unscored` (fedtext.training.client_gradients) to the tokens themselves."""
    import torch

    return torch.where(ids < -1, -2 - ids, ids)


def _supports_packing(model: PreTrainedModel, rows: Int[np.ndarray, "row length"], pad_token_id: int) -> bool:
    """Return whether `model` has the same loss on packed texts as on rows, tried on the two longest.

    A model with a sliding window and a recurrent model do not.
    """
    import torch

    if model.config._attn_implementation not in MASKED:
        return False
    longest = np.argsort((rows == pad_token_id).sum(axis=1), kind="stable")[:2]
    ids = torch.from_numpy(rows[longest]).to(model.device)
    model.eval()
    with torch.no_grad():
        told = [_loss(model, ids, pad_token_id, packed=packed) for packed in (True, False)]
    model.train()
    return bool(torch.isclose(*told, rtol=TOLERANCE, atol=0))


def _finite(loss: float, step: int, label: str) -> float:
    if not math.isfinite(loss):
        raise InputError(f"{label}: loss {loss} at step {step}; lower the learning rate", code="causal-loss-not-finite")
    return loss
