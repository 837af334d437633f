"""A linear head on the state of each of an encoder's tokens, as BERT has for spans and tags (Devlin et al., 2019)."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from fedtext.models.encoder import Encoder

READ_AT_ONCE = 32


class TokenHead:
    """An encoder with a head of `outputs` scores a token; it has its own copy of the weights.

    Raises:
        InputError: the encoder has no states of tokens, or its tokenizer no offsets.
    """

    def __init__(self, encoder: Encoder, outputs: int) -> None:
        import torch

        self._tokenizer = encoder.model.tokenizer
        transformer = getattr(encoder.model[0], "auto_model", None)
        if transformer is None or not self._tokenizer.is_fast:
            raise InputError(
                "models.classifier has no states of tokens, or a tokenizer that does not say where in a text they "
                "stand: name a transformer with a fast tokenizer (tokenizer.json)",
                code="encoder-without-token-head",
                parameter="models.classifier",
                value=encoder.name,
            )
        self.model = copy.deepcopy(transformer).float()
        self.head: nn.Linear = torch.nn.Linear(self.model.config.hidden_size, outputs).to(encoder.model.device)
        self.modules = torch.nn.ModuleList([self.model, self.head])

    def tokenised(self, *texts: list[str], **how: Any) -> Any:
        """Tokenise texts, or both parts of each, padded to the longest; `offset_mapping` has the places of tokens."""
        return self._tokenizer(*texts, padding=True, return_offsets_mapping=True, return_tensors="pt", **how)

    def scores(self, tokens: Any) -> Tensor:
        """Compute the head's scores of each token, of shape (row, token, output)."""
        device = self.head.weight.device
        read = {name: tokens[name].to(device) for name in self._tokenizer.model_input_names if name in tokens}
        scores: Tensor = self.head(self.model(**read).last_hidden_state)
        return scores
