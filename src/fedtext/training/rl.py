"""Reinforcement learning of a model from a reward of its answers: RLOO through TRL, on a LoRA adapter.

RLOO (Ahmadian et al., ACL 2024) uses the mean reward of the other answers to the same prompt as an answer's baseline,
so it needs no value model. The reward is a function of released values; nothing private is read.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fedtext.models.generator import TrainableGenerator
from fedtext.params.dpprefsyn import Rewarded
from fedtext.params.generation import Sampler
from fedtext.params.training import Lora
from fedtext.system.errors import InputError
from fedtext.training.lora import TrainedAdapter, lora_config, trainer_arguments, without_deprecations

if TYPE_CHECKING:
    from trl import RLOOConfig

Rewards = Callable[[list[str], list[str]], list[float]]  # prompts and their answers to one reward each
HISTORY = {"loss": "loss", "reward": "reward", "kl": "kl", "completions/mean_length": "tokens"}


def train_on_rewards(
    base: TrainableGenerator,
    prompts: Sequence[str],
    rewards: Rewards,
    params: Rewarded,
    lora: Lora,
    *,
    sampler: Sampler,
    seed: int,
) -> tuple[TrainedAdapter, list[dict[str, float]]]:
    """Train a fresh adapter of `base` for `params.steps` steps of RLOO.

    Args:
        base: The initial policy, which is also the reference.
        prompts: Prompts as the model reads them, up to where an answer begins.
        rewards: Called with prompts and as many answers, as the model generated them; gives a reward for each.
        params: Sizes and rates.
        lora: Rank and targets of the adapter.
        sampler: Decoding parameters.
        seed: Seed of sampling and of the adapter.

    Returns:
        The adapter, and per step the loss, mean reward, KL divergence and number of tokens.

    Raises:
        ValueError: there is no prompt, or a reward is not finite.
    """
    from datasets import Dataset
    from transformers import set_seed
    from trl import RLOOTrainer

    if not prompts:
        raise InputError("no prompts: reinforcement needs at least one to answer", code="no-prompts")
    model, tokenizer = base.load()
    set_seed(seed % 2**32)
    with tempfile.TemporaryDirectory() as scratch, without_deprecations():
        trainer = RLOOTrainer(
            model=model,
            reward_funcs=_checked(rewards),
            args=_arguments(params, sampler, seed, scratch),
            train_dataset=Dataset.from_dict({"prompt": list(prompts)}),
            processing_class=tokenizer,
            peft_config=lora_config(model, lora),
        )
        trainer.train()
    history = [
        {
            "step": float(entry["step"]),
            **{ours: float(entry[theirs]) for theirs, ours in HISTORY.items() if theirs in entry},
        }
        for entry in trainer.state.log_history
        if "reward" in entry
    ]
    return TrainedAdapter.of(trainer.model, base.source), history


def _checked(rewards: Rewards) -> Callable[..., list[float]]:
    """Wrap `rewards` in the signature that TRL calls."""

    def reward(prompts: list[str], completions: list[str], **_: Any) -> list[float]:
        found = rewards(prompts, completions)
        if not all(map(math.isfinite, found)):
            raise InputError("a reward is NaN or infinite: check the scorer and the encoder", code="reward-not-finite")
        return found

    return reward


def _arguments(params: Rewarded, sampler: Sampler, seed: int, scratch: str) -> RLOOConfig:
    from trl import RLOOConfig

    banned = sampler.no_repeat_ngram
    return RLOOConfig(
        **trainer_arguments(seed, scratch),
        num_generations=params.completions,
        per_device_train_batch_size=params.completions * params.prompts_per_step,
        max_steps=params.steps,
        max_completion_length=sampler.max_new_tokens,
        temperature=sampler.temperature,
        top_p=sampler.top_p,
        min_p=sampler.min_p or None,
        top_k=sampler.top_k or 0,
        generation_kwargs=None if banned is None else {"no_repeat_ngram_size": banned},
        beta=params.kl,
        learning_rate=params.learning_rate,
        lr_scheduler_type="constant",
        gradient_checkpointing=False,
    )
