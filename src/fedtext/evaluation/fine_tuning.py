"""The on-device model trained on a condition's texts, by a recipe that is chosen on these texts themselves.

The rule, the same for every condition: evenly spaced texts are held out. For every learning rate the model is trained
on the others, and after every epoch the cross-entropy of the held-out ones is measured. The rate and the epoch with
the lowest are kept. What a condition is judged by plays no part: neither the evaluated texts nor other conditions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from fedtext.evaluation.next_token import PADDING, NextTokenCounts, count_next_tokens, padded, token_rows
from fedtext.params.evaluation import Evaluation
from fedtext.params.training import TunedTraining
from fedtext.system.cores import over_cores
from fedtext.system.hardware import compute_device
from fedtext.training.causal_lm import refuse_long, train_causal_lm

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.models.language_model import LanguageModel

FEWEST_TO_HOLD_OUT_OF = 10  # texts; a share of fewer says next to nothing, and each is missed in training
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

    def facts(self) -> dict[str, Any]:
        """All but the model, by name."""
        return {name: getattr(self, name) for name in (*CHOSEN, "training_loss")}


def fine_tune_and_count(
    on_device: LanguageModel,
    train_texts: Sequence[str],
    eval_texts: Sequence[str],
    params: Evaluation,
    *,
    length: int,
    seed: int,
    label: str,
) -> tuple[NextTokenCounts, dict[str, Any]]:
    """Counts of every evaluated text after training on `train_texts`, if any, and the facts of `fine_tune`.

    Without texts to train on there is no choice among the facts.
    """
    tokenizer = on_device.tokenizer()
    rows = token_rows(tokenizer, train_texts, length)
    if rows:
        model, facts = fine_tune(on_device, rows, params, seed=seed, label=f"on-device model, {label}")
    else:
        model, facts = on_device.load()[0].float(), {"texts": 0, "training_loss": None, "seconds": 0.0}
    evaluated = token_rows(tokenizer, eval_texts, length)
    refuse_long(evaluated, model, label)
    return count_next_tokens(model, evaluated, top=params.top, label=f"accuracy, {label}"), facts


def fine_tune(
    on_device: LanguageModel, rows: Sequence[Sequence[int]], params: Evaluation, *, seed: int, label: str
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """A fresh copy of the on-device model trained on `rows` as `params.training` says, and the facts.

    The facts: `texts` (those with a token, held out or not), `learning_rate`, `epochs` and `held_out_loss` as chosen,
    `training_loss` and `seconds`.

    Raises:
        ValueError: no row has a token after its start, one is longer than the model reads, or a training diverges.
    """
    started = time.perf_counter()
    usable = [row for row in rows if len(row) > 1]
    held_out = held_out_rows(len(usable), params.training.held_out_share)
    if len(held_out):
        trained = _best(on_device, usable, held_out, params.training, seed=seed, label=label)
    else:
        trained = _whole(on_device, usable, params.training, seed=seed, label=label)
    return trained.model, {"texts": len(usable), **trained.facts(), "seconds": time.perf_counter() - started}


def held_out_rows(count: int, share: float) -> Int[np.ndarray, " held"]:
    """Numbers of the rows of `count` that are held out: `share` of them, at least one, in the middle of equal parts.

    None of fewer than ten rows, and none if `share` is 0.
    """
    if share == 0 or count < FEWEST_TO_HOLD_OUT_OF:
        return np.zeros(0, dtype=np.int64)
    held = max(round(share * count), 1)
    return ((np.arange(held) + 0.5) * count / held).astype(np.int64)


def _whole(
    on_device: LanguageModel, rows: Sequence[Sequence[int]], recipe: TunedTraining, *, seed: int, label: str
) -> Trained:
    """Trained on all rows for all epochs at the first rate: there is nothing to choose by."""
    rate = recipe.learning_rates[0]
    model, _ = on_device.load()
    history = train_causal_lm(model, padded(rows), recipe.at(rate), seed=seed, pad_token_id=PADDING, label=label)
    return Trained(model, rate, recipe.epochs, None, history[-1]["loss"])


def _best(
    on_device: LanguageModel,
    rows: Sequence[Sequence[int]],
    held_out: Int[np.ndarray, " held"],
    recipe: TunedTraining,
    *,
    seed: int,
    label: str,
) -> Trained:
    """The best epoch at the best rate, the first named among equals. Rates are trained side by side, a core each."""
    judged_by = [rows[i] for i in held_out.tolist()]
    trained_on = padded([rows[i] for i in np.delete(np.arange(len(rows)), held_out).tolist()])

    def at_rate(given: tuple[float, PreTrainedModel]) -> tuple[float, Trained]:
        rate, model = given
        best = _BestEpoch(model, judged_by)
        history = train_causal_lm(
            model,
            trained_on,
            recipe.at(rate),
            seed=seed,
            pad_token_id=PADDING,
            label=f"{label}, learning rate {rate:g}",
            after_epoch=best,
        )
        best.restore()
        epochs = min(float(best.epoch), recipe.epochs)
        return best.loss, Trained(model, rate, epochs, best.loss, history[-1]["loss"])

    models = [on_device.load()[0] for _ in recipe.learning_rates]  # here: to load is not for threads
    at_most = 1 if _has_dropout(models[0]) else len(models)
    done = over_cores(at_rate, zip(recipe.learning_rates, models, strict=True), at_most, compute_device())
    _, trained = min(done, key=itemgetter(0))
    return trained


class _BestEpoch:
    """Called after every epoch of a model's training: keeps its weights where they predict `rows` best so far."""

    def __init__(self, model: PreTrainedModel, rows: Sequence[Sequence[int]]) -> None:
        self.model, self.rows = model, rows
        self.epoch, self.loss = 0, float("inf")
        self.weights: dict[str, Tensor] = {}

    def __call__(self, epoch: int) -> None:
        loss = count_next_tokens(self.model, self.rows, top=(1,)).summary()["cross_entropy"]
        if loss < self.loss:
            self.epoch, self.loss = epoch, loss
            self.weights = {name: tensor.clone() for name, tensor in self.model.state_dict().items()}

    def restore(self) -> None:
        self.model.load_state_dict(self.weights)
        self.weights = {}


def _has_dropout(model: PreTrainedModel) -> bool:
    """Whether training draws random numbers: threads would take them from one stream, in an order of chance."""
    return any("drop" in name and bool(value) for name, value in model.config.to_dict().items())
