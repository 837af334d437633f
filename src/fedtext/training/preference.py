"""Preference optimisation of the generator: DPO, IPO and cDPO through TRL, on a LoRA adapter through PEFT.

POPri's policy update (Algorithm 1, DPO step). The policy is the public base model plus the adapter `default`; the
reference is the base model with the adapter off, in every round, so no second model is in memory and the pull is
always back to the public checkpoint, never to the last round's policy. Each round starts a fresh optimizer.

Reading the history: the loss sees only the margin, the chosen reward less the rejected one, where a completion's reward
is beta times its log-probability under the policy less that under the reference. The margin grows just as well when
both rewards fall and the rejected one falls faster; chosen and rejected texts share most of their tokens, so pushing
one down drags the other along. A falling chosen reward beside a growing margin is therefore usual and no fault; when
the chosen log-probability falls so far that samples lose fluency, raise beta or `chosen_nll_weight`, or lower the
learning rate.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedtext.models.generator import TrainableGenerator
from fedtext.params.training import PreferenceTraining
from fedtext.system.errors import InputError
from fedtext.system.hardware import bfloat16_pays, compute_device
from fedtext.system.progress import progress
from fedtext.training.lora import TrainedAdapter, load_weights, lora_config, without_deprecations
from fedtext.training.pairs import TokenisedPair, distinct_pairs, refuse_long, tokenised
from fedtext.training.shared_prompt import shared_prompt_trainer

if TYPE_CHECKING:
    import pandas as pd
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback
    from trl import DPOConfig

FLOAT32_PARAMETERS = 2_000_000_000  # a larger base stays in the precision it was saved in
HISTORY = {
    "loss": "loss",
    "rewards/margins": "margin",
    "rewards/chosen": "chosen_reward",
    "rewards/rejected": "rejected_reward",
    "rewards/accuracies": "accuracy",
    "logps/chosen": "chosen_log_prob",
    "logps/rejected": "rejected_log_prob",
}


def train_preferences(
    base: TrainableGenerator,
    pairs: pd.DataFrame,
    params: PreferenceTraining,
    *,
    previous: Path | None = None,
    seed: int,
    label: str = "preferences",
    end: str = "\n",
    lead: str = "",
) -> tuple[TrainedAdapter, list[dict[str, float]]]:
    """Train an adapter on `pairs` (prompt, chosen, rejected), a fresh one or on from the adapter saved in `previous`.

    `end` ends every completion, so that a response's end is learned (`TrainableGenerator.ending`); `lead` begins it
    (`Framing.lead`).

    Equal inputs give equal bytes on one machine (on a GPU as far as its kernels are deterministic).

    Returns the adapter and one entry per step: loss, margin, chosen and rejected reward, accuracy (share of pairs with
    chosen above rejected), chosen and rejected log-probability (nats, summed over a completion, mean over the batch),
    and `dropped_pairs`, the pairs left out because both texts were equal.

    Raises `ValueError` before any model is loaded when there is no usable pair, and when the loss stops being finite.
    """
    kept = distinct_pairs(pairs, label)
    model, tokenizer = base.load()
    rows = tokenised(kept, tokenizer, end, lead)
    refuse_long(rows, model, label)
    with tempfile.TemporaryDirectory() as scratch, without_deprecations():
        trainer = _trainer(model, tokenizer, rows, params, seed=seed, label=label, scratch=scratch)
        if previous is not None:
            load_weights(trainer.model, Path(previous))
        trainer.train()
    history = [
        {"step": entry["step"], **{ours: entry[theirs] for theirs, ours in HISTORY.items()}}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]
    _refuse_divergence(history, label)
    dropped = len(pairs) - len(kept)
    return TrainedAdapter.of(trainer.model, base.source), [{**entry, "dropped_pairs": dropped} for entry in history]


def loss_terms(params: PreferenceTraining) -> dict[str, float]:
    """TRL's loss types and their weights.

    cDPO, (1-e) s(x) + e s(-x) with s(x) = -log sigmoid(x), is no TRL loss; robust DPO with the same e is one,
    ((1-e) s(x) - e s(-x)) / (1-2e). So cDPO = 2(1-e) sigmoid - (1-2e) robust.
    """
    e = params.label_smoothing
    terms = {
        "dpo": {"sigmoid": 1.0},
        "ipo": {"ipo": 1.0},
        "cdpo": {"sigmoid": 2 * (1 - e), "robust": -(1 - 2 * e)},
    }[params.loss]
    return {**terms, "sft": params.chosen_nll_weight} if params.chosen_nll_weight else terms


def _trainer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[TokenisedPair],
    params: PreferenceTraining,
    *,
    seed: int,
    label: str,
    scratch: str,
) -> Any:
    """The trainer with a fresh adapter and the reference's log-probabilities.

    The adapter is given as a configuration: TRL would copy one that the model already carries to an adapter `ref` and
    take that for the reference.
    """
    from trl.trainer.utils import disable_dropout_in_model

    if model.num_parameters() <= FLOAT32_PARAMETERS:
        model.float()
    disable_dropout_in_model(model)
    return shared_prompt_trainer(
        model,
        rows,
        _arguments(params, seed, scratch),
        label,
        processing_class=tokenizer,
        peft_config=lora_config(model, params.lora),
        callbacks=[_bar(label)],
    )


def _arguments(params: PreferenceTraining, seed: int, scratch: str) -> DPOConfig:
    import torch
    from trl import DPOConfig

    gpu = torch.cuda.is_available()
    terms = loss_terms(params)
    return DPOConfig(
        output_dir=scratch,
        loss_type=list(terms),
        loss_weights=list(terms.values()),
        beta=params.beta,
        label_smoothing=params.label_smoothing,
        precompute_ref_log_probs=True,
        disable_dropout=False,  # the base's is switched off in _trainer; the adapter's own is lora.dropout
        num_train_epochs=params.epochs,
        per_device_train_batch_size=params.batch_size,
        learning_rate=params.learning_rate,
        lr_scheduler_type="cosine",
        bf16=bfloat16_pays(compute_device()),
        use_cpu=not gpu,
        dataloader_pin_memory=gpu,
        activation_checkpointing=params.activation_checkpointing,
        seed=seed % 2**32,  # NumPy takes no more
        save_strategy="no",
        report_to="none",
        logging_steps=1,
        logging_nan_inf_filter=False,
        disable_tqdm=True,
    )


def _bar(label: str) -> TrainerCallback:
    from transformers import TrainerCallback

    class Bar(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.steps = iter(progress(range(state.max_steps), label, unit="step"))

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            next(self.steps, None)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            next(self.steps, None)

    return Bar()


def _refuse_divergence(history: Sequence[dict[str, float]], label: str) -> None:
    for entry in history:
        if not math.isfinite(entry["loss"]):
            raise InputError(f"{label}: loss {entry['loss']} at step {entry['step']:.0f}; lower the learning rate")
