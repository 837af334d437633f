"""Word weights as a model draws: what is added to the logits of the tokens that are a whole word.

A token is a whole word if it begins one (a space before it, as tokenizers mark it) and spells all of it; a mark or a
line's end needs no space. Words of several tokens are left to the model. Their first tokens begin other words too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Float, Int

from fedtext.embedding.words import WORD
from fedtext.models.word_weights import WordWeights
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase

SPACES = ("Ġ", "▁")  # how byte-level and SentencePiece tokenizers write the space before a word


@dataclass(frozen=True)
class FavouredTokens:
    """What is added to logits, one row for each different weighing.

    Attributes:
        first: At a response's first token.
        later: At every later one.
        row: Of each prompt.
    """

    first: Float[Tensor, "row token"]
    later: Float[Tensor, "row token"]
    row: Int[Tensor, " prompt"]

    def of_prompts(self, prompts: Sequence[int]) -> FavouredTokens:
        """The same for some of the prompts, in this order."""
        return FavouredTokens(self.first, self.later, self.row[list(prompts)])

    def added_to(
        self, logits: Float[Tensor, "branch token"], prompt: Int[Tensor, " branch"], step: int
    ) -> Float[Tensor, "branch token"]:
        """Logits of responses to these prompts at a step, changed in place; a model's last, unused logits stay."""
        table = self.later if step else self.first
        weights = table if len(table) == 1 else table[self.row[prompt]]
        logits[:, : table.shape[1]] += weights
        return logits


def favoured_tokens(
    weights: Sequence[WordWeights], prompts: int, tokenizer: PreTrainedTokenizerBase, width: int, device: torch.device
) -> FavouredTokens | None:
    """`weights`, one for all prompts or one for each, as logits of at most `width` tokens; None where there are none.

    Raises:
        ValueError: more than one, and not as many as there are prompts.
    """
    import torch

    if not any(each.anywhere or each.first for each in weights):
        return None
    if len(weights) not in (1, prompts):
        raise InputError(f"{len(weights)} word weights for {prompts} prompts: give one for all, or one for each")
    distinct: list[WordWeights] = []
    rows = [_number(each, distinct) for each in weights]
    tokens = _tokens_of_words(tokenizer, width)
    first, later = torch.zeros(2, len(distinct), width)
    for row, each in enumerate(distinct):
        for word, nats in each.first.items():
            first[row, [token for token, _ in tokens.get(word, ())]] = nats
        for word, nats in each.anywhere.items():
            later[row, [token for token, goes_on in tokens.get(word, ()) if goes_on]] = nats
    of_prompt = torch.tensor(rows if len(rows) == prompts else rows * prompts, device=device)
    return FavouredTokens(first.to(device), later.to(device), of_prompt)


def _number(weights: WordWeights, distinct: list[WordWeights]) -> int:
    for number, other in enumerate(distinct):
        if other is weights:
            return number
    distinct.append(weights)
    return len(distinct) - 1


def _tokens_of_words(tokenizer: PreTrainedTokenizerBase, width: int) -> dict[str, list[tuple[int, bool]]]:
    """The tokens that are a word by themselves, and whether each is one where a text goes on as well."""
    special = set(tokenizer.all_special_ids)
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    tokens: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for piece, token in sorted(vocabulary.items(), key=lambda item: item[1]):
        if token in special or token >= width:
            continue
        word = tokenizer.decode([token]).strip(" ").casefold()
        if WORD.fullmatch(word):
            tokens[word].append((token, piece.startswith(SPACES) or not word.isalnum()))
    return tokens
