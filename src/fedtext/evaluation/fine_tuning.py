"""The on-device model trained on a condition's texts, by a recipe that is chosen on these texts themselves.

The rule, the same for every condition: evenly spaced texts are held out. For every learning rate the model is trained
on the others, and after every epoch the cross-entropy of the held-out ones is measured. The rate and the epoch with
the lowest are kept. What a condition is judged by plays no part: neither the evaluated texts nor other conditions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.next_token import (
    PADDING,
    NextTokenCounts,
    count_by_text,
    count_next_tokens,
    padded,
    text_windows,
)
from fedtext.params.evaluation import Evaluation
from fedtext.params.training import TunedTraining
from fedtext.system.cores import over_cores
from fedtext.system.hardware import compute_device
from fedtext.training.causal_lm import refuse_long, train_causal_lm
from fedtext.training.windows import Windows

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.models.language_model import LanguageModel

FEWEST_TO_HOLD_OUT_OF = 10  # texts; a share of fewer says next to nothing, and each is missed in training
HELD_OUT_AT_ONCE = 8  # rows a batch: batches are filled up, and of a few rows larger ones would be mostly filling
UNTRAINED: dict[str, Any] = {"texts": 0, "training_loss": None, "seconds": 0.0}
CHOSEN = ("learning_rate", "epochs", "held_out_loss")  # facts that are the choice


@dataclass(frozen=True)
class Trained:
    """A trained model and how: `epochs` it was trained for, `held_out_loss` in nats a token (None: nothing held out).

    `training_loss` is that of the last steps, which are later than `epochs` where an earlier epoch was kept.
    """

    model: PreTrainedModel
    learning_rate: float
    epochs: float
    held_out_loss: float | None
    training_loss: float

    @property
    def loss(self) -> float:
        """What trainings of a condition are compared by."""
        return float("inf") if self.held_out_loss is None else self.held_out_loss

    def facts(self) -> dict[str, Any]:
        """All but the model, by name."""
        return {name: getattr(self, name) for name in (*CHOSEN, "training_loss")}


def fine_tune_and_count(
    on_device: LanguageModel,
    conditions: Mapping[str, Sequence[str]],
    eval_texts: Sequence[str],
    params: Evaluation,
    *,
    length: int,
    seed: int,
) -> dict[str, tuple[NextTokenCounts, dict[str, Any]]]:
    """By condition, counts of every evaluated text after training on its texts, if any, and `fine_tune_each`'s facts.

    Without texts to train on there is no choice among the facts.
    """
    tokenizer = on_device.tokenizer()
    evaluated = text_windows(tokenizer, eval_texts, length)
    windows = {name: text_windows(tokenizer, texts, length) for name, texts in conditions.items()}
    trained = fine_tune_each(on_device, {name: own for name, own in windows.items() if own.rows}, params, seed=seed)
    counted = {}
    for name in conditions:
        model, facts = trained.pop(name) if name in trained else (on_device.load()[0].float(), UNTRAINED)
        refuse_long(evaluated.rows, model, name)
        counted[name] = count_by_text(model, evaluated, top=params.top, label=f"accuracy, {name}"), facts
    return counted


def fine_tune(
    on_device: LanguageModel, texts: Windows, params: Evaluation, *, seed: int, label: str
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """`fine_tune_each` of one condition."""
    return fine_tune_each(on_device, {label: texts}, params, seed=seed)[label]


def fine_tune_each(
    on_device: LanguageModel, conditions: Mapping[str, Windows], params: Evaluation, *, seed: int
) -> dict[str, tuple[PreTrainedModel, dict[str, Any]]]:
    """By condition, a fresh copy of the on-device model trained on its texts as `params.training` says, and the facts.

    The facts: `texts` (those with a token, held out or not), `learning_rate`, `epochs` and `held_out_loss` as chosen,
    `training_loss` and `seconds`. Trainings run side by side, a core each; none depends on which others there are.

    Raises:
        ValueError: no text has a token, a window is longer than the model reads, or a training diverges.
    """
    usable = {name: texts.with_tokens() for name, texts in conditions.items()}
    trainings = [one for name, texts in usable.items() for one in _trainings(name, texts, params.training)]
    best: dict[str, Trained] = {}
    seconds = dict.fromkeys(usable, 0.0)
    for training, trained, took in _side_by_side(on_device, trainings, params.training, seed=seed):
        name = training.condition
        seconds[name] += took
        if name not in best or trained.loss < best[name].loss:  # the first named among equals
            best[name] = trained
    return {
        name: (trained.model, {"texts": usable[name].samples, **trained.facts(), "seconds": seconds[name]})
        for name, trained in best.items()
    }


def held_out_texts(count: int, share: float) -> Int[np.ndarray, " held"]:
    """Numbers of the texts of `count` that are held out: `share` of them, at least one, in the middle of equal parts.

    None of fewer than ten texts, and none if `share` is 0.
    """
    if share == 0 or count < FEWEST_TO_HOLD_OUT_OF:
        return np.zeros(0, dtype=np.int64)
    held = max(round(share * count), 1)
    return ((np.arange(held) + 0.5) * count / held).astype(np.int64)


@dataclass(frozen=True)
class _Training:
    """A condition's rows, without those of held-out texts, at one rate; with none held out nothing is chosen."""

    condition: str
    rows: Int[np.ndarray, "row length"]
    held_out: Sequence[Sequence[int]]
    rate: float

    def run(self, model: PreTrainedModel, recipe: TunedTraining, seed: int) -> Trained:
        """`model`, trained; with the weights of its best epoch where rows are held out."""
        best = _BestEpoch(model, self.held_out) if self.held_out else None
        history = train_causal_lm(
            model,
            self.rows,
            recipe.at(self.rate),
            seed=seed,
            pad_token_id=PADDING,
            label=f"{self.condition}, learning rate {self.rate:g}",
            after_epoch=best,
        )
        last = history[-1]["loss"]
        if best is None:
            return Trained(model, self.rate, recipe.epochs, None, last)
        best.restore()
        return Trained(model, self.rate, min(float(best.epoch), recipe.epochs), best.loss, last)


def _trainings(condition: str, texts: Windows, recipe: TunedTraining) -> Iterator[_Training]:
    """One a rate, or one at the first rate where there is nothing to choose by."""
    held_out = held_out_texts(texts.samples, recipe.held_out_share)
    judged_by = texts.chosen(held_out).rows
    trained_on = padded(texts.chosen(np.delete(np.arange(texts.samples), held_out)).rows)
    for rate in recipe.learning_rates if judged_by else recipe.learning_rates[:1]:
        yield _Training(condition, trained_on, judged_by, rate)


def _side_by_side(
    on_device: LanguageModel, trainings: Sequence[_Training], recipe: TunedTraining, *, seed: int
) -> Iterator[tuple[_Training, Trained, float]]:
    """Each training, what came of it and its seconds, in their order."""

    def run(training: _Training) -> tuple[_Training, Trained, float]:
        started = time.perf_counter()
        return training, training.run(deepcopy(untrained), recipe, seed), time.perf_counter() - started

    if not trainings:
        return
    untrained = on_device.load()[0]  # once, before any thread: a load may draw from the stream that trainings seed
    at_most = 1 if _has_dropout(untrained) else len(trainings)
    yield from over_cores(run, trainings, at_most, compute_device())


class _BestEpoch:
    """Called after every epoch of a model's training: keeps its weights where they predict `rows` best so far."""

    def __init__(self, model: PreTrainedModel, rows: Sequence[Sequence[int]]) -> None:
        self.model, self.rows = model, rows
        self.epoch, self.loss = 0, float("inf")
        self.weights: dict[str, Tensor] = {}

    def __call__(self, epoch: int) -> None:
        counts = count_next_tokens(self.model, self.rows, top=(1,), batch_size=HELD_OUT_AT_ONCE)
        loss = counts.summary()["cross_entropy"]
        if loss < self.loss:
            self.epoch, self.loss = epoch, loss
            self.weights = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}

    def restore(self) -> None:
        self.model.load_state_dict(self.weights)
        self.weights = {}


def _has_dropout(model: PreTrainedModel) -> bool:
    """Whether training draws random numbers: threads would take them from one stream, in an order of chance."""
    return any("drop" in name and bool(value) for name, value in model.config.to_dict().items())
