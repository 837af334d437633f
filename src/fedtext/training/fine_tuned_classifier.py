"""An encoder with a linear head on its sentence embedding, all of it trained on labelled texts.

The papers fine-tune BERT-base, whose head reads the state of the first token. Here the head reads whatever the encoder
makes its sentence embedding of, before it is scaled to norm 1; of a plain BERT that is the mean of the tokens' states.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from fedtext.params.classification import ClassifierTraining
from fedtext.seeding import derived_seed
from fedtext.training.encoder_steps import train_steps

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor, nn

    from fedtext.models.encoder import Encoder

JUDGED_AT_ONCE = 64


class FineTuned:
    """A trained encoder and its head; it has its own copy of the weights."""

    def __init__(self, model: SentenceTransformer, head: nn.Linear, length: int) -> None:
        self._model, self._head, self._length = model, head, length

    def logits(self, texts: Sequence[str]) -> Tensor:
        """Of every class, before normalisation."""
        from sentence_transformers.util import batch_to_device

        model, padding = self._model, {"padding": True, "truncation": True, "max_length": self._length}
        features: dict[str, Any] = model.preprocess(list(texts), processing_kwargs={"text": padding})
        features = batch_to_device(features, model.device)
        for module in model:
            if type(module).__name__ != "Normalize":  # the head finds its own scale
                features = module(features)
        logits: Tensor = self._head(features["sentence_embedding"])
        return logits

    def probabilities(self, texts: Sequence[str]) -> Float[np.ndarray, "text class"]:
        """Of every text, its probability of being of each class."""
        import torch

        found = [np.zeros((0, self._head.out_features))]
        with torch.inference_mode():
            for first in range(0, len(texts), JUDGED_AT_ONCE):
                rows = self.logits(texts[first : first + JUDGED_AT_ONCE]).float()
                found.append(rows.softmax(dim=1).cpu().numpy().astype(np.float64))
        return np.concatenate(found)


def fine_tuned(
    encoder: Encoder,
    texts: Sequence[str],
    codes: Int[np.ndarray, " text"],
    classes: int,
    training: ClassifierTraining,
    *,
    seed: int,
    label: str,
) -> FineTuned:
    """A copy of the encoder with a new head, trained by AdamW: linear warm-up, cosine decay, gradients clipped to 1.

    A class without texts is learned as one that never occurs: its probability is small, and not 0.

    Raises:
        ValueError: the loss is not finite.
    """
    import torch
    from torch.nn.functional import cross_entropy

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(seed, "classifier") % 2**63)  # the head, and dropout
        head = torch.nn.Linear(encoder.dim, classes).to(encoder.model.device)
        model = FineTuned(copy.deepcopy(encoder.model).float().train(), head, training.length)

        def loss(rows: Int[np.ndarray, " batch"]) -> Tensor:
            logits = model.logits([texts[row] for row in rows])
            return cross_entropy(logits.float(), torch.from_numpy(codes[rows]).to(logits.device))

        weights = [*model._model.parameters(), *head.parameters()]
        train_steps(loss, weights, len(texts), training.fine_tuning, seed=seed, label=f"classifier, {label}")
    model._model.eval()
    return model
