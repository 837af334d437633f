"""Fine-tuning of an encoder with a new head: AdamW, linear warm-up, cosine decay, gradients clipped to norm 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from jaxtyping import Int

from fedtext.params.training import CausalTraining
from fedtext.seeding import derived_seed, stream
from fedtext.system.errors import InputError
from fedtext.system.progress import progress
from fedtext.training.causal_lm import MAX_GRADIENT_NORM, peak_share

if TYPE_CHECKING:
    from torch import Tensor, nn

Rows = Int[np.ndarray, " batch"]
Item = TypeVar("Item")


class WithHead(Protocol):
    """An encoder's own copy and a new head, which are the `modules` that are trained."""

    modules: nn.ModuleList


Learner = TypeVar("Learner", bound=WithHead)


def fine_tune(
    build: Callable[[], Learner],
    loss_of: Callable[[Learner, Rows], Tensor],
    examples: int,
    recipe: CausalTraining,
    *,
    seed: int,
    name: str,
    label: str,
) -> Learner:
    """Build a copy of an encoder with a new head, and train all of its weights.

    Args:
        build: Makes the copy and its head, whose first weights are drawn by the seed.
        loss_of: Gives the mean loss of the training examples with these indices.
        examples: Number of training examples.
        recipe: Epochs, batch size and learning rate.
        seed: Seed of head, dropout and shuffles.
        name: What the model is, in the progress bar and in errors; head and dropout are seeded by it too.
        label: What it learns from, in the progress bar and in errors.

    Raises:
        ValueError: the loss is not finite.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(seed, name) % 2**63)
        learner = build()
        learner.modules.train()
        weights = [*learner.modules.parameters()]
        train_steps(lambda rows: loss_of(learner, rows), weights, examples, recipe, seed=seed, label=f"{name}, {label}")
    learner.modules.eval()
    return learner


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Yield the items in their order, `size` at a time; the last batch may be smaller."""
    return (items[first : first + size] for first in range(0, len(items), size))


def train_steps(
    loss_of: Callable[[Rows], Tensor],
    weights: Sequence[Tensor],
    examples: int,
    recipe: CausalTraining,
    *,
    seed: int,
    label: str,
) -> None:
    """Train `weights` in place on shuffled batches.

    Args:
        loss_of: Gives the mean loss of the training examples with these indices.
        weights: The trained tensors.
        examples: Number of training examples.
        recipe: Epochs, batch size and learning rate.
        seed: Seed of the shuffles, one per epoch.
        label: Name in the progress bar and in errors.

    Raises:
        ValueError: the loss is not finite.
    """
    import torch

    batches = [*_batches(examples, recipe, seed)]
    optimizer = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: peak_share(done + 1, len(batches), recipe.warmup_share)
    )
    for step, rows in enumerate(progress(batches, label, unit="step"), start=1):
        loss = loss_of(rows)
        if not bool(torch.isfinite(loss)):
            raise InputError(
                f"{label}: the loss is {float(loss)} at step {step}: lower fine_tuning.learning_rate",
                code="encoder-loss-not-finite",
                parameter="fine_tuning.learning_rate",
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, MAX_GRADIENT_NORM)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def _batches(examples: int, recipe: CausalTraining, seed: int) -> Iterator[Rows]:
    """Yield the rows of every step: a fresh shuffle per epoch; the last epoch may be partial."""
    per_epoch = -(-examples // recipe.batch_size)
    steps = max(round(recipe.epochs * per_epoch), 1)
    for step in range(steps):
        epoch, place = divmod(step, per_epoch)
        order = stream(seed, "classifier", epoch).permutation(examples)
        yield order[place * recipe.batch_size : (place + 1) * recipe.batch_size]
