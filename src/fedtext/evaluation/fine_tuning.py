"""Fine-tune the on-device model on a condition's texts, with hyperparameters selected on these texts themselves.

The rule is the same for every condition: evenly spaced texts are held out for validation. The model is trained on the
others once for every learning rate, and the cross-entropy of the validation texts is measured after every epoch. The
rate and the epoch with the lowest are kept. Neither the evaluated texts nor other conditions influence the choice.
Validation texts from elsewhere may be given instead; then all texts are trained on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
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
from fedtext.system.engine import InProcess, current
from fedtext.system.hardware import compute_device
from fedtext.training.causal_lm import train_causal_lm, validate_lengths
from fedtext.training.windows import Windows

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.models.language_model import LanguageModel

FEWEST_TO_HOLD_OUT_OF = 10  # texts; fewer give no useful estimate, and training would miss them
HELD_OUT_AT_ONCE = 8  # rows a batch: batches are filled up, and of a few rows larger ones would be mostly filling
UNTRAINED: dict[str, Any] = {"texts": 0, "training_loss": None, "seconds": 0.0}
CHOSEN = ("learning_rate", "epochs", "held_out_loss")  # facts about the selected training


@dataclass(frozen=True)
class Trained:
    """A trained model, the `epochs` of the kept weights, and `held_out_loss` in nats a token (None: nothing held out).

    `training_loss` is that of the last steps, which are later than `epochs` where an earlier epoch was kept.
    """

    model: PreTrainedModel
    learning_rate: float
    epochs: float
    held_out_loss: float | None
    training_loss: float

    @property
    def loss(self) -> float:
        """The loss by which trainings of a condition are compared."""
        return float("inf") if self.held_out_loss is None else self.held_out_loss

    def facts(self) -> dict[str, Any]:
        """Return all fields but the model, by name."""
        return {name: getattr(self, name) for name in (*CHOSEN, "training_loss")}


def fine_tune_and_count(
    on_device: LanguageModel,
    conditions: Mapping[str, Sequence[str]],
    eval_texts: Sequence[str],
    params: Evaluation,
    *,
    length: int,
    seed: int,
    validation: Sequence[str] | None = None,
) -> dict[str, tuple[NextTokenCounts, dict[str, Any]]]:
    """Fine-tune on each condition's texts and count correct predictions in every evaluated text.

    Returns:
        By condition, the counts and the facts of `fine_tune_each`; without training texts the model is left as it is
        and there are no facts about a choice.
    """
    tokenizer = on_device.tokenizer()
    evaluated = text_windows(tokenizer, eval_texts, length)
    windows = {name: text_windows(tokenizer, texts, length) for name, texts in conditions.items()}
    judged_by = None if validation is None else text_windows(tokenizer, validation, length)
    nonempty = {name: own for name, own in windows.items() if own.rows}
    trained = fine_tune_each(on_device, nonempty, params, seed=seed, validation=judged_by)
    counted = {}
    for name in conditions:
        model, facts = trained.pop(name) if name in trained else (on_device.load()[0].float(), UNTRAINED)
        validate_lengths(evaluated.rows, model, name)
        counted[name] = count_by_text(model, evaluated, top=params.top, label=f"accuracy, {name}"), facts
    return counted


def fine_tune(
    on_device: LanguageModel, texts: Windows, params: Evaluation, *, seed: int, label: str
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Run `fine_tune_each` for one condition."""
    return fine_tune_each(on_device, {label: texts}, params, seed=seed)[label]


def fine_tune_each(
    on_device: LanguageModel,
    conditions: Mapping[str, Windows],
    params: Evaluation,
    *,
    seed: int,
    validation: Windows | None = None,
) -> dict[str, tuple[PreTrainedModel, dict[str, Any]]]:
    """Train a fresh copy of the on-device model on each condition's texts, with the recipe `params.training`.

    Trainings run side by side, one a core or over the engine's workers, and do not influence one another.

    Returns:
        By condition, the model and its facts: `texts` (those with a token, held out or not), `learning_rate`, `epochs`
        and `held_out_loss` as selected, `training_loss` and `seconds`.

    Raises:
        ValueError: no text has a token, a window is longer than the model's context, or a training diverges.
    """
    usable = {name: texts.with_tokens() for name, texts in conditions.items()}
    recipe = params.training
    trainings = [one for name, texts in usable.items() for one in _trainings(name, texts, recipe, validation)]
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
    """Return the indices of the validation texts: `share` of `count`, at least one, in the middle of equal parts.

    Empty for fewer than ten texts, and if `share` is 0.
    """
    if share == 0 or count < FEWEST_TO_HOLD_OUT_OF:
        return np.zeros(0, dtype=np.int64)
    held = max(round(share * count), 1)
    return ((np.arange(held) + 0.5) * count / held).astype(np.int64)


@dataclass(frozen=True)
class _Training:
    """One condition's rows without those of validation texts, at one learning rate."""

    condition: str
    rows: Int[np.ndarray, "row length"]
    held_out: Sequence[Sequence[int]]
    rate: float

    def run(self, model: PreTrainedModel, recipe: TunedTraining, seed: int) -> Trained:
        """Train `model`, and keep the weights of its best epoch if rows are held out."""
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


def _trainings(
    condition: str, texts: Windows, recipe: TunedTraining, validation: Windows | None = None
) -> Iterator[_Training]:
    """Yield one training for each learning rate, or only the first if there is no text to select by."""
    held_out = held_out_texts(texts.samples, recipe.held_out_share if validation is None else 0)
    judged_by = texts.chosen(held_out).rows if validation is None else validation.rows
    trained_on = padded(texts.chosen(np.delete(np.arange(texts.samples), held_out)).rows)
    for rate in recipe.learning_rates if judged_by else recipe.learning_rates[:1]:
        yield _Training(condition, trained_on, judged_by, rate)


def _side_by_side(
    on_device: LanguageModel, trainings: Sequence[_Training], recipe: TunedTraining, *, seed: int
) -> Iterator[tuple[_Training, Trained, float]]:
    """Yield each training with its result and its seconds, in their order: over workers, or over this machine's cores.

    Those that draw dropout are one after the other, here: they share a stream.
    """
    if not trainings:
        return
    untrained = on_device.load()[0]  # once, before any thread: a load may draw from the stream that trainings seed
    run, device = partial(_run, untrained, recipe, seed), compute_device()
    if _has_dropout(untrained):
        yield from over_cores(run, trainings, 1, device)
    elif len(trainings) > 1 and device.type == "cpu" and not isinstance(current(), InProcess):
        yield from current().map(partial(_run_alone, run), trainings)  # the model goes along
    else:
        yield from over_cores(run, trainings, len(trainings), device)


def _run(
    untrained: PreTrainedModel, recipe: TunedTraining, seed: int, training: _Training
) -> tuple[_Training, Trained, float]:
    started = time.perf_counter()
    return training, training.run(deepcopy(untrained), recipe, seed), time.perf_counter() - started


def _run_alone(
    run: Callable[[_Training], tuple[_Training, Trained, float]], training: _Training
) -> tuple[_Training, Trained, float]:
    """Run a training in a worker, with the one thread that it has beside others in this process."""
    (done,) = over_cores(run, [training], 1, compute_device("cpu"))
    return done


class _BestEpoch:
    """Callback after every epoch of a training: keeps the weights with the lowest loss on `rows` so far."""

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
    """Return whether training draws random numbers; threads would share one stream, in no fixed order."""
    return any("drop" in name and bool(value) for name, value in model.config.to_dict().items())
