"""A neural reward model of preference pairs, through TRL: all weights of a language model, with a scalar for its head.

A linear scorer of embeddings is compared with it (DPPrefSyn, appendix C.6). Its loss is Bradley and Terry's: the mean
of -log sigmoid(reward of the chosen answer less that of the rejected one). No clip and no noise protects the pairs, so
whoever trains it on private ones has to declare an unprotected control.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from fedtext.models.generator import TrainableGenerator
from fedtext.params.training import CausalTraining
from fedtext.system.errors import InputError
from fedtext.training.client_gradients import as_unscored
from fedtext.training.local_steps import NO_TOKEN
from fedtext.training.lora import trainer_arguments, without_deprecations

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from trl import RewardConfig, RewardTrainer

AT_ONCE = 8  # pairs whose rewards are computed side by side
Rows = Int[np.ndarray, "pair position"]


def reward_margins(
    base: TrainableGenerator, train: Rows, held: Rows, params: CausalTraining, *, seed: int, label: str
) -> Float[np.ndarray, " pair"]:
    """Train a reward model on pairs, and return its margin on others.

    Args:
        base: The language model whose weights it starts from.
        train: Rows of the pairs that it learns from (`fedtext.training.preference_pairs.pair_rows`).
        held: Rows of the pairs that it orders.
        params: Epochs, batch size and learning rate.
        seed: Seed of the new head and of the order of the pairs.
        label: Name in errors.

    Returns:
        The reward of the chosen answer less that of the rejected one, of each held pair.

    Raises:
        ValueError: there is no pair to learn from, or a reward is not finite.
    """
    if not len(train):
        raise InputError(f"{label}: no pairs to learn a reward from", code="no-pairs-for-a-reward")
    model, pad = _reward_model(base, seed)
    with tempfile.TemporaryDirectory() as scratch, without_deprecations():
        _trainer(model, base.load()[1], token_ids(train), _arguments(params, seed, scratch)).train()
    margins = _margins(model.eval(), token_ids(held), pad)
    if not np.isfinite(margins).all():
        raise InputError(f"{label}: a reward is NaN or infinite; lower the learning rate", code="rewards-not-finite")
    return margins


def token_ids(rows: Rows) -> list[tuple[list[int], list[int]]]:
    """Return the tokens of each pair's prompt with its chosen answer, and with its rejected one."""
    sides = rows.reshape(len(rows), 2, rows.shape[1] // 2)
    shown = np.where(sides < NO_TOKEN, as_unscored(sides), sides)
    kept = sides != NO_TOKEN
    return [(own[0, there[0]].tolist(), own[1, there[1]].tolist()) for own, there in zip(shown, kept, strict=True)]


def _reward_model(base: TrainableGenerator, seed: int) -> tuple[PreTrainedModel, int]:
    """Return the model with a new head of one number in place of its scores of tokens, and the token for padding."""
    import torch
    from transformers import AutoModelForSequenceClassification

    source, tokenizer = base.load()
    config = copy.deepcopy(source.config)
    pad = tokenizer.pad_token_id
    config.num_labels, config.pad_token_id = 1, pad
    torch.manual_seed(seed)
    model = AutoModelForSequenceClassification.from_config(config).float().to(source.device)
    within = source.base_model_prefix
    getattr(model, within).load_state_dict(getattr(source, within).state_dict())
    return model, int(pad)


def _trainer(
    model: PreTrainedModel, tokenizer: Any, pairs: Sequence[tuple[list[int], list[int]]], arguments: RewardConfig
) -> RewardTrainer:
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import RewardTrainer

    class QuietTrainer(RewardTrainer):  # type: ignore[misc]
        def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
            return dataset  # it is tokenised, and each answer has its end

        def _send_telemetry(self) -> None:
            """Send nothing: replaces TRL's telemetry."""

    rows = Dataset.from_list([{"chosen_ids": chosen, "rejected_ids": rejected} for chosen, rejected in pairs])
    trainer = QuietTrainer(model=model, args=arguments, train_dataset=rows, processing_class=tokenizer)
    trainer.remove_callback(PrinterCallback)
    return trainer


def _arguments(params: CausalTraining, seed: int, scratch: str) -> RewardConfig:
    from trl import RewardConfig

    return RewardConfig(
        **trainer_arguments(seed, scratch),
        num_train_epochs=params.epochs,
        per_device_train_batch_size=params.batch_size,
        learning_rate=params.learning_rate,
        warmup_steps=params.warmup_share,
        weight_decay=params.weight_decay,
        lr_scheduler_type="cosine",
        gradient_checkpointing=False,
        disable_dropout=True,
    )


def _margins(
    model: PreTrainedModel, pairs: Sequence[tuple[list[int], list[int]]], pad: int
) -> Float[np.ndarray, " pair"]:
    import torch

    found = np.zeros(len(pairs))
    with torch.inference_mode():
        for first in range(0, len(pairs), AT_ONCE):
            rows = [ids for pair in pairs[first : first + AT_ONCE] for ids in pair]
            width = max(map(len, rows))
            ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows], device=model.device)
            real = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=model.device)
            rewards = model(input_ids=ids, attention_mask=real).logits[:, 0].float().cpu().numpy()
            found[first : first + AT_ONCE] = rewards[::2] - rewards[1::2]
    return found
