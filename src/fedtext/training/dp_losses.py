"""What an example costs under DP-SGD: a text its mean surprise a token, a preference what DPO makes of it.

DPO (Rafailov et al., NeurIPS 2023, equation 7): -log sigmoid(beta m), where the margin m is how much more than the
reference the policy prefers the chosen answer, in nats of whole answers. Its derivative with respect to the logits is
beta sigmoid(-beta m) times that of the chosen answer's surprise less that of the rejected one's. The reference is the
model as it is when the loss is made: an untrained adapter, so the model below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedtext.training.client_gradients import logits_of, surprise_error, token_error

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

    from fedtext.training.client_gradients import Error


@dataclass(frozen=True)
class UnitLoss:
    """A loss of one example.

    Attributes:
        rows: Rows of tokens that an example has: a text one, a preference two, the chosen answer's first.
        error: Its derivative with respect to the logits of these rows.
    """

    rows: int
    error: Error


TEXTS = UnitLoss(1, token_error)


def preferences(model: PreTrainedModel, beta: float) -> UnitLoss:
    """DPO's loss against `model` with the weights that it has now; only what is scored of a row is its answer."""
    reference = {name: p.detach().clone().float() for name, p in model.named_parameters() if p.requires_grad}

    def error(model: PreTrainedModel, logits: Tensor, ids: Tensor) -> Tensor:
        import torch

        gained = answer_log_probs(logits, ids) - answer_log_probs(logits_of(model, reference, ids), ids)
        pull = beta * torch.sigmoid(-beta * (gained[0] - gained[1]))
        sides = torch.stack([pull, -pull])[:, None, None]
        return surprise_error(logits, ids).mul_((ids[:, 1:, None] >= 0) * sides)

    return UnitLoss(2, error)


def answer_log_probs(logits: Tensor, ids: Tensor) -> Tensor:
    """Log-probability of the scored tokens of each row, summed, in nats."""
    labels = ids[:, 1:, None]
    each = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)) * (labels >= 0)
    return each.sum(dim=(-2, -1))
