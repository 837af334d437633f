"""Per-example losses for DP-SGD: mean cross-entropy per token for a text, DPO's loss for a preference pair.

DPO (Rafailov et al., NeurIPS 2023, equation 7): -log sigmoid(beta m). The margin m, in nats of whole answers, is the
policy's log-probability ratio of chosen to rejected answer less that of the reference. The loss's derivative with
respect to the logits is beta sigmoid(-beta m) times the difference of the two answers' cross-entropy derivatives,
chosen less rejected. The reference is the model as it is when the loss is created: an untrained adapter, and so the
base model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedtext.training.client_gradients import cross_entropy_error, logits_of, token_error

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.training.client_gradients import Error


@dataclass(frozen=True)
class UnitLoss:
    """Loss of one example.

    Attributes:
        rows: Rows of tokens per example: one for a text, two for a preference pair, the chosen answer's first.
        error: Derivative of the loss with respect to the logits of these rows.
    """

    rows: int
    error: Error


TEXTS = UnitLoss(1, token_error)


def preferences(model: PreTrainedModel, beta: float) -> UnitLoss:
    """Return DPO's loss with the current weights of `model` as reference; only a row's answer is scored."""
    reference = {name: p.detach().clone().float() for name, p in model.named_parameters() if p.requires_grad}

    def error(model: PreTrainedModel, logits: Tensor, ids: Tensor) -> Tensor:
        import torch

        gained = answer_log_probs(logits, ids) - answer_log_probs(logits_of(model, reference, ids), ids)
        pull = beta * torch.sigmoid(-beta * (gained[0] - gained[1]))
        sides = torch.stack([pull, -pull])[:, None, None]
        return cross_entropy_error(logits, ids).mul_((ids[:, 1:, None] >= 0) * sides)

    return UnitLoss(2, error)


def answer_log_probs(logits: Tensor, ids: Tensor) -> Tensor:
    """Sum the log-probabilities, in nats, of the scored tokens of each row."""
    labels = ids[:, 1:, None]
    each = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)) * (labels >= 0)
    return each.sum(dim=(-2, -1))
