"""Preference optimisation of a model: DPO, IPO and cDPO through TRL, on a LoRA adapter through PEFT or all weights.

This is POPri's policy update (Algorithm 1, DPO step). The losses are TRL's; `fedtext.training.dp_losses` has the same
ones written out, an example at a time, for DP-SGD. The policy is the public base model plus the adapter `default`.
The reference is the base model with the adapter off, in every round, so no second model is in memory, and the policy
is always regularised towards the public checkpoint, never towards the last round's policy. Each round starts a fresh
optimizer. Where all weights are trained (`lora: null`) the reference is the model before its first step: its
log-probabilities are computed then, and it is not kept.

Reading the history: the loss sees only the margin, the chosen reward less the rejected one. A completion's reward is
beta times its log-probability under the policy less that under the reference. The margin also grows when both rewards
fall and the rejected one falls faster: chosen and rejected texts share most of their tokens, so lowering one lowers
the other. A falling chosen reward beside a growing margin is therefore usual and no fault. When the chosen
log-probability falls so far that samples lose fluency, raise beta or `chosen_nll_weight`, or lower the learning rate.

Packed pairs. TRL scores a pair as two rows, prompt + chosen and prompt + rejected, so a prompt of three samples is
computed twice and is longer than both completions. Here TRL's trainer and losses run on packed sequences
(`fedtext.training.packed_sequences`), without padding and with one copy of the prompt. The log-probabilities are the
same (a test compares them with TRL's); logits are computed for completions only. A model that reads packed sequences
differently, because it is recurrent, has a sliding window or takes positions from elsewhere, is detected on one pair
and gets two rows per pair.

Shapes: `pair` pairs, `context` longest context, `step` longest completion, `row` = 2 pairs, all chosen, then rejected.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedtext.models.generator import TrainableGenerator
from fedtext.params.training import WHOLE_SCHEDULE, PreferenceTraining, SchedulePart
from fedtext.system.errors import InputError
from fedtext.system.progress import progress
from fedtext.training.lora import (
    Trained,
    load_weights,
    lora_config,
    trained_of,
    trainer_arguments,
    without_deprecations,
)
from fedtext.training.packed_sequences import MASKED, packed_logits, packed_pairs
from fedtext.training.preference_pairs import TokenisedPair, distinct_pairs, tokenised, validate_lengths
from fedtext.training.processes import over_gpus, own_share, shares_together

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback
    from trl import DPOConfig, DPOTrainer


IGNORED = -100  # label of a position that is not scored
TOLERANCE = {True: 1e-3, False: 0.25}  # nats per token, packed against rows; True: float32


def collate(examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
    """Build a batch of pairs from `prompt_ids, chosen_ids, rejected_ids` and any log-probabilities of the reference.

    Returns:
        context_ids and context_mask (pair, context), padded left; input_ids, attention_mask and completion_mask
        (row, 1 + step), padded right. Padding is neither attended to nor scored.
    """
    import torch

    contexts = [torch.tensor(e["prompt_ids"][:-1], dtype=torch.long) for e in examples]
    rows = [torch.tensor([e["prompt_ids"][-1], *e[side]]) for side in ("chosen_ids", "rejected_ids") for e in examples]
    attended = _padded([torch.ones_like(r) for r in rows], side="right")
    batch = {
        "context_ids": _padded(contexts, side="left"),
        "context_mask": _padded([torch.ones_like(c) for c in contexts], side="left"),
        "input_ids": _padded(rows, side="right"),
        "attention_mask": attended,
        "completion_mask": torch.cat([torch.zeros_like(attended[:, :1]), attended[:, 1:]], dim=1),
    }
    for known in ("ref_chosen_logps", "ref_rejected_logps"):
        if known in examples[0]:
            batch[known] = torch.tensor([e[known] for e in examples])
    return batch


def _padded(rows: Sequence[Tensor], side: str) -> Tensor:
    from torch.nn.utils.rnn import pad_sequence

    return pad_sequence(list(rows), batch_first=True, padding_side=side)


def completion_log_probs(
    model: Any,
    *,
    packed: bool,
    context_ids: Tensor,
    context_mask: Tensor,
    input_ids: Tensor,
    attention_mask: Tensor,
    labels: Tensor,
    **_: Any,
) -> Any:
    """Return TRL's fused output with `log_probs` (row, step) of each completion's tokens, 0 where the label is -100.

    They are computed from packed sequences if `packed`, else from two rows per pair. The other fields feed metrics that
    are not kept; they are zero.
    """
    from trl.trainer.utils import FusedCausalLMOutput

    score = _of_lines if packed else _of_rows
    log_probs = score(model, context_ids, context_mask, input_ids, attention_mask, labels[:, 1:])
    unused = log_probs.new_zeros(log_probs.shape)
    return FusedCausalLMOutput(log_probs=log_probs, entropy=unused, mean_logits=unused, is_top1=unused.bool())


def _of_lines(
    model: Any, context_ids: Tensor, context_mask: Tensor, input_ids: Tensor, attention_mask: Tensor, targets: Tensor
) -> Tensor:
    """Compute log-probabilities (row, step) of `targets` from packed pairs; the head computes scored positions only."""
    import torch

    lines = packed_pairs(context_ids, context_mask, input_ids, attention_mask)
    logits = packed_logits(model, lines, lines.scored)
    row, step = lines.completions
    log_probs = logits.new_zeros(targets.shape, dtype=torch.float32)
    log_probs[row, step] = _log_probs(logits, targets[row, step])
    return log_probs


def _of_rows(
    model: Any, context_ids: Tensor, context_mask: Tensor, input_ids: Tensor, attention_mask: Tensor, targets: Tensor
) -> Tensor:
    """Compute log-probabilities (row, step) of `targets` from one row per completion."""
    import torch

    steps = targets.shape[1]
    before, context_ids, context_mask = input_ids[:, :-1], context_ids.repeat(2, 1), context_mask.repeat(2, 1)
    shown = torch.cat([context_mask, torch.ones_like(before)], dim=1)
    logits = model(
        input_ids=torch.cat([context_ids, before], dim=1),
        attention_mask=torch.cat([context_mask, attention_mask[:, :-1]], dim=1),
        position_ids=(shown.cumsum(dim=1) - 1).clamp(min=0),
        use_cache=False,
        logits_to_keep=steps,
    ).logits
    return _log_probs(logits.flatten(0, 1), targets.flatten()).view(targets.shape)


def _log_probs(logits: Tensor, targets: Tensor) -> Tensor:
    from torch.nn.functional import cross_entropy

    return -cross_entropy(logits.float(), targets, reduction="none", ignore_index=IGNORED)


def supports_packing(model: Any, pair: Mapping[str, Any]) -> bool:
    """Return whether `model` gives the completions of `pair` the same log-probabilities packed as in two rows."""
    import torch

    if model.config._attn_implementation not in MASKED:
        return False
    batch = {name: tensor.to(model.device) for name, tensor in collate([pair]).items()}
    batch["labels"] = batch["input_ids"].masked_fill(batch["completion_mask"] == 0, IGNORED)
    with torch.no_grad():
        one, two = (completion_log_probs(model, packed=packed, **batch).log_probs for packed in (True, False))
    return bool(torch.allclose(one, two, rtol=0, atol=TOLERANCE[model.dtype == torch.float32]))


def shared_prompt_trainer(
    model: Any,
    pairs: Sequence[Mapping[str, Any]],
    arguments: DPOConfig,
    label: str,
    factor: Callable[[float], float],
    **options: Any,
) -> DPOTrainer:
    """Return TRL's DPOTrainer over tokenised `pairs`, its model calls replaced by `completion_log_probs`.

    The learning rate is multiplied by `factor` of the share of steps that are done.
    With `precompute_ref_log_probs` the reference is computed once, here, with the adapter switched off.
    """
    import torch
    from datasets import Dataset
    from torch.optim.lr_scheduler import LambdaLR
    from torch.utils.data import BatchSampler, DataLoader
    from transformers import PrinterCallback
    from trl import DPOTrainer

    longest = max(pairs, key=lambda pair: len(pair["prompt_ids"]) + len(pair["chosen_ids"]) + len(pair["rejected_ids"]))
    score = partial(completion_log_probs, packed=supports_packing(model, longest))

    class SharedPromptTrainer(DPOTrainer):  # type: ignore[misc]
        def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
            return dataset  # already tokenised, and without the <eos> that TRL would add to every completion

        def _compute_loss(self, model: Any, inputs: Any, return_outputs: bool) -> Any:
            return super()._compute_loss(partial(score, model), inputs, return_outputs)

        def _precompute_ref_logps(self, dataset: Any, name: str, batch_size: int) -> Any:
            batches = list(BatchSampler(range(len(dataset)), batch_size, drop_last=False))
            loader = DataLoader(dataset, batch_sampler=own_share(batches), collate_fn=collate)
            scored = [
                self.compute_ref_log_probs(partial(score, self.model), self._prepare_inputs(batch))
                for batch in progress(loader, f"{label}: reference", unit="batch")
            ]
            known = shares_together([torch.stack(batch).T.tolist() for batch in scored])
            chosen, rejected = zip(*(pair for batch in known for pair in batch), strict=True)
            return dataset.add_column("ref_chosen_logps", list(chosen)).add_column("ref_rejected_logps", list(rejected))

        def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
            steps = max(1, num_training_steps)
            self.lr_scheduler = LambdaLR(optimizer or self.optimizer, lambda step: factor(step / steps))
            return self.lr_scheduler

        def _send_telemetry(self) -> None:
            """Send nothing: replaces TRL's telemetry."""

    rows = Dataset.from_list(list(pairs))
    trainer = SharedPromptTrainer(model=model, args=arguments, data_collator=collate, train_dataset=rows, **options)
    trainer.remove_callback(PrinterCallback)
    return trainer


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
    schedule: SchedulePart = WHOLE_SCHEDULE,
    seed: int,
    label: str = "preferences",
    end: str = "\n",
    lead: str = "",
) -> tuple[Trained, list[dict[str, float]]]:
    """Train on preference pairs: a fresh adapter, the one saved in `previous`, or all weights.

    Equal inputs give equal bytes on one machine (on a GPU as far as its kernels are deterministic).

    Args:
        base: The public base model, which is also the reference.
        pairs: Columns `prompt`, `chosen`, `rejected`.
        params: Loss, rates and sizes.
        previous: Directory of the adapter to continue from; None: a fresh one.
        schedule: The part of the rate's cosine that this training runs through.
        seed: Seed of the adapter and of the order of pairs.
        label: Name in the progress bar and in errors.
        end: Suffix of every completion, so that the model learns to end a response (`TrainableGenerator.ending`).
        lead: Prefix of every completion (`Framing.lead`).

    Returns:
        What was trained, and one entry per step: loss, margin, chosen and rejected reward, accuracy (share of pairs
        with chosen above rejected), chosen and rejected log-probability (nats, summed over a completion, mean over the
        batch), and `dropped_pairs`, the number of pairs left out because both texts were equal.

    Raises:
        ValueError: there is no usable pair (before any model is loaded), or the loss is not finite.
    """
    kept = distinct_pairs(pairs, label)
    train = partial(
        _trained, base, kept, params, previous=previous, schedule=schedule, seed=seed, label=label, end=end, lead=lead
    )
    if params.gpus == 1:
        trained, history = train()
    else:
        trained, history = over_gpus(train, params.gpus, label=label, parameter="preference.gpus")
    dropped = len(pairs) - len(kept)
    return trained, [{**entry, "dropped_pairs": dropped} for entry in history]


def _trained(
    base: TrainableGenerator,
    kept: pd.DataFrame,
    params: PreferenceTraining,
    *,
    previous: Path | None,
    schedule: SchedulePart,
    seed: int,
    label: str,
    end: str,
    lead: str,
) -> tuple[Trained, list[dict[str, float]]]:
    """Train in this process, alone or as one of several (`fedtext.training.processes`), and return its own result."""
    model, tokenizer = base.load()
    rows = tokenised(kept, tokenizer, end, lead)
    validate_lengths(rows, model, label)
    with tempfile.TemporaryDirectory() as scratch, without_deprecations():
        trainer = _trainer(model, tokenizer, rows, params, schedule, seed=seed, label=label, scratch=scratch)
        if previous is not None:
            load_weights(trainer.model, Path(previous))
        trainer.train()
    history = [
        {"step": entry["step"], **{ours: entry[theirs] for theirs, ours in HISTORY.items()}}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]
    _validate_convergence(history, label)
    return trained_of(trainer.model, base.source, params.lora), history


def loss_terms(params: PreferenceTraining) -> dict[str, float]:
    """Return TRL's loss types and their weights.

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
    schedule: SchedulePart,
    *,
    seed: int,
    label: str,
    scratch: str,
) -> Any:
    """Return the trainer with a fresh adapter, or of all weights, and the reference's log-probabilities.

    The adapter is passed as a configuration: TRL would copy an adapter that the model already has to an adapter `ref`
    and use that as the reference.
    """
    from trl.trainer.utils import disable_dropout_in_model

    if params.lora is None or model.num_parameters() <= FLOAT32_PARAMETERS:
        model.float()  # steps of all weights are smaller than 16 bits can add
    disable_dropout_in_model(model)
    return shared_prompt_trainer(
        model,
        rows,
        _arguments(params, seed, scratch),
        label,
        partial(rate_factor, params, schedule),
        processing_class=tokenizer,
        peft_config=None if params.lora is None else lora_config(model, params.lora),
        callbacks=[_bar(label)],
    )


def rate_factor(params: PreferenceTraining, schedule: SchedulePart, progress: float) -> float:
    """Return the rate after the share `progress` of a training's steps, as a share of `learning_rate`."""
    least = params.final_rate / params.learning_rate
    place = schedule.start + (schedule.end - schedule.start) * progress
    return least + (1 - least) * 0.5 * (1 + math.cos(math.pi * place))


def _arguments(params: PreferenceTraining, seed: int, scratch: str) -> DPOConfig:
    from trl import DPOConfig

    terms = loss_terms(params)
    return DPOConfig(
        **trainer_arguments(seed, scratch),
        loss_type=list(terms),
        loss_weights=list(terms.values()),
        beta=params.beta,
        label_smoothing=params.label_smoothing,
        precompute_ref_log_probs=True,
        disable_dropout=False,  # the base model's dropout is switched off in _trainer; the adapter's is lora.dropout
        num_train_epochs=params.epochs,
        per_device_train_batch_size=params.at_once,
        gradient_accumulation_steps=params.batch_size // (params.gpus * params.at_once),
        ddp_find_unused_parameters=False,  # there are none, and looking for them takes a pass
        learning_rate=params.learning_rate,
        activation_checkpointing=params.activation_checkpointing,
        logging_nan_inf_filter=False,
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


def _validate_convergence(history: Sequence[dict[str, float]], label: str) -> None:
    for entry in history:
        if not math.isfinite(entry["loss"]):
            raise InputError(
                f"{label}: loss {entry['loss']} at step {entry['step']:.0f}; lower the learning rate",
                code="preference-loss-not-finite",
            )
