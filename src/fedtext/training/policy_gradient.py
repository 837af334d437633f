"""Policy gradient on texts that the policy wrote itself, each with a reward that was released for it.

The advantage of a text is its reward less the mean reward of the other texts of its prompt (RLOO, Ahmadian et al., ACL
2024), over the standard deviation of all advantages: so the step does not depend on the scale of the reward. The loss
is PPO's (Schulman et al., 2017, equation 7): a token's probability ratio to the policy that wrote it counts up to
1 plus or minus the clip, in the direction of its advantage. Rewards of texts that are written during the training, by a
function, are those of `fedtext.training.rl`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from fedtext.models.generator import TrainableGenerator
from fedtext.params.training import CausalTraining, Lora
from fedtext.training.encoder_steps import train_steps
from fedtext.training.lora import TrainedAdapter, adapted_model, load_weights
from fedtext.training.supervised import NO_TOKEN, rows_behind_prompts, validate_lengths, validate_scored_tokens

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

LABEL = "policy gradient"
ROUNDING = 1e-12  # of the largest reward: what rounding alone makes of equal ones


def leave_one_out(
    rewards: Float[np.ndarray, " text"], prompt: Int[np.ndarray, " text"], written: Bool[np.ndarray, " text"]
) -> Float[np.ndarray, " text"]:
    """Compute the advantages of all texts, in standard deviations; 0 for one that is empty or alone with its prompt.

    Args:
        rewards: One a text.
        prompt: The prompt of each.
        written: False for an empty text, whose reward says nothing.
    """
    own, compared = np.zeros(len(rewards)), np.zeros(len(rewards), dtype=bool)
    for one in np.unique(prompt):
        rows = np.flatnonzero((prompt == one) & written)
        if len(rows) > 1:
            own[rows] = (rewards[rows] - rewards[rows].mean()) * len(rows) / (len(rows) - 1)
            compared[rows] = True
    spread = own[compared].std() if compared.any() else 0.0
    differ = spread > ROUNDING * np.abs(rewards).max(initial=0.0)
    return np.asarray(own / spread) if differ else np.zeros(len(rewards))


def improved_policy(
    base: TrainableGenerator,
    before: Path,
    prompts: Sequence[str],
    texts: Sequence[str],
    advantages: Float[np.ndarray, " text"],
    training: CausalTraining,
    lora: Lora,
    *,
    ratio_clip: float,
    seed: int,
) -> TrainedAdapter:
    """Train the adapter that wrote the texts on their advantages, and return the new one.

    Args:
        base: The public model under the adapter.
        before: The adapter, of the shape of `lora`.
        prompts: What the model read before each text, as it read it.
        texts: What it wrote, with their end.
        advantages: Of each text.
        training: Passes over the texts, batch and rate.
        lora: Rank and targets of the adapter.
        ratio_clip: PPO's epsilon.
        seed: Seed of the shuffles.

    Raises:
        ValueError: a text with its prompt is longer than the model reads or has no token, or the loss is not finite.
    """
    import torch

    model = adapted_model(base, lora, seed=seed)
    load_weights(model, before)
    model.float().eval()  # no dropout: the ratio is 1 before the first step
    rows = rows_behind_prompts(prompts, texts, base.load()[1])
    validate_lengths(rows, model, LABEL)
    validate_scored_tokens(rows, LABEL)
    device = next(model.parameters()).device
    ids, gained = torch.from_numpy(rows).to(device), torch.from_numpy(advantages).float().to(device)
    with torch.no_grad():
        wrote = torch.cat([_log_probs(model, some)[0] for some in ids.split(training.batch_size)])

    def loss(picked: Int[np.ndarray, " batch"]) -> Tensor:
        chosen = torch.from_numpy(picked).to(device)
        each, scored = _log_probs(model, ids[chosen])
        ratio, own = (each - wrote[chosen]).exp(), gained[chosen][:, None]
        least = torch.minimum(ratio * own, ratio.clamp(1 - ratio_clip, 1 + ratio_clip) * own)
        return -(least * scored).sum() / scored.sum()

    train_steps(loss, [p for p in model.parameters() if p.requires_grad], len(rows), training, seed=seed, label=LABEL)
    return TrainedAdapter.of(model, base.source)


def _log_probs(model: PreTrainedModel, ids: Int[Tensor, "row length"]) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each token but the first, given those before it, and which are scored."""
    import torch

    real = ids != NO_TOKEN
    shown = torch.where(ids < NO_TOKEN, -2 - ids, ids).masked_fill(~real, 0)
    logits = model(input_ids=shown, attention_mask=real.long(), use_cache=False).logits[:, :-1].float()
    labels = ids[:, 1:]
    each = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    return each, labels >= 0
