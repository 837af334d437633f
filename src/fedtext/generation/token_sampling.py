"""Token sampling: word weights, temperature, top-p and min-p, then one inverse-CDF draw.

Word weights are added to the logits of tokens that are a whole word. A token is a whole word if it begins one (a space
before it, as tokenizers mark it) and spells all of it; punctuation or a line end needs no space. Words of several
tokens have no weight, since their first tokens begin other words too. A pair of words adds to the logit of its second
word where the token before is its first word.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jaxtyping import Bool, Float, Int

from fedtext.embedding.words import WORD
from fedtext.models.generator import WordWeights
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase


FIRST = 512  # tokens to sort for a nucleus; if it does not fit in them, all are sorted
FEW_SOONER = ("cpu",)  # devices where drawing from the few likely tokens is faster; others must synchronise
IN_CACHE = 1 << 19  # probabilities at once on a CPU: 2 MB, which a core keeps near and need not ask the system for


def draw_tokens(
    logits: Float[Tensor, "*batch token"],
    uniforms: Float[Tensor, "*batch"],
    *,
    temperature: float,
    top_p: float,
    min_p: float = 0.0,
    top_k: int | None = None,
) -> Int[Tensor, "*batch"]:
    """Draw by inverse CDF: the first token at which the cumulative probability exceeds its uniform in [0, 1).

    `top_p` < 1 keeps the smallest set of most probable tokens that holds that mass (nucleus sampling). `min_p` > 0
    keeps the tokens with at least that share of the highest probability. `top_k` keeps so many of the most probable
    tokens, and all that are as probable as the last of them; the others then refer to what it keeps.

    On a CPU a few distributions are drawn from at a time: buffers for all of them would be allocated anew at every
    step, which takes longer than the arithmetic.
    """
    import torch

    rows, wanted = logits.flatten(0, -2), uniforms.flatten()
    at_once = max(IN_CACHE // rows.shape[-1], 1) if rows.device.type == "cpu" else max(len(rows), 1)
    parts = zip(rows.split(at_once), wanted.split(at_once), strict=True)
    drawn = [
        _draw(_likeliest(part, top_k), draws, temperature=temperature, top_p=top_p, min_p=min_p)
        for part, draws in parts
    ]
    return torch.cat(drawn).view(uniforms.shape)


def _likeliest(logits: Float[Tensor, "row token"], top_k: int | None) -> Float[Tensor, "row token"]:
    if top_k is None or top_k >= logits.shape[-1]:
        return logits
    least = logits.topk(top_k, dim=-1).values[:, -1:]
    return logits.masked_fill(logits < least, -math.inf)


def penalised(
    logits: Float[Tensor, "row token"], held: Int[Tensor, "row step"], penalty: float
) -> Float[Tensor, "row token"]:
    """Make tokens that a row `held` before less probable (Keskar et al., 2019, section 4.1).

    A positive logit is divided by the penalty, a negative one multiplied by it; a token that came twice counts once.
    The given logits are overwritten.
    """
    found = logits.gather(-1, held)
    return logits.scatter_(-1, held, found.where(found > 0, found * penalty**2) / penalty)


def without_repeats(
    logits: Float[Tensor, "row token"], held: Int[Tensor, "row step"], ngram: int
) -> Float[Tensor, "row token"]:
    """Exclude the tokens that would make `ngram` tokens in a row a second time in what a row `held` before.

    The given logits are overwritten.
    """
    if held.shape[1] < ngram:
        return logits
    runs = held.unfold(1, ngram, 1)  # row, place, ngram
    last = held[:, held.shape[1] - ngram + 1 :]
    begun = (runs[:, :, :-1] == last[:, None]).all(-1)
    barred = logits.new_zeros(logits.shape).scatter_add_(1, runs[:, :, -1], begun.to(logits.dtype))
    return logits.masked_fill_(barred > 0, -math.inf)


def _draw(
    logits: Float[Tensor, "row token"],
    uniforms: Float[Tensor, " row"],
    *,
    temperature: float,
    top_p: float,
    min_p: float,
) -> Int[Tensor, " row"]:
    import torch

    if top_p == 1 and min_p > 0 and logits.device.type in FEW_SOONER:
        return _from_likely(logits.float(), uniforms, temperature, min_p)
    probabilities = torch.softmax(logits.float() / temperature, dim=-1)
    if top_p == 1 and min_p == 0:
        return _inverse(probabilities, uniforms)
    least = min_p * probabilities.amax(-1, keepdim=True)
    if top_p == 1:
        return _inverse(probabilities.masked_fill_(probabilities < least, 0.0), uniforms)
    drawn, fits = _from_nucleus(probabilities, uniforms, least, top_p, FIRST)
    if not fits.all():
        wide = ~fits
        drawn[wide] = _from_nucleus(probabilities[wide], uniforms[wide], least[wide], top_p, logits.shape[-1])[0]
    return drawn


def _from_likely(
    logits: Float[Tensor, "row token"], uniforms: Float[Tensor, " row"], temperature: float, min_p: float
) -> Int[Tensor, " row"]:
    """Draw among the tokens that `min_p` keeps; logits suffice to find them, so only these few need a probability."""
    import torch

    highest = logits.amax(-1, keepdim=True)
    row, token = (logits >= highest + temperature * math.log(min_p)).nonzero(as_tuple=True)
    kept = torch.bincount(row, minlength=len(logits))
    place = torch.arange(len(row), device=row.device) - (kept.cumsum(0) - kept)[row]
    tokens = row.new_zeros(len(logits), max(int(kept.max()), 1))  # where no logit is a number, the first token
    tokens[row, place] = token
    ratios = logits.new_zeros(tokens.shape)  # to the highest probability
    ratios[row, place] = ((logits[row, token] - highest[row, 0]) / temperature).exp()
    return tokens.gather(-1, _inverse(ratios, uniforms)[:, None])[:, 0]


def _from_nucleus(
    probabilities: Float[Tensor, "row token"],
    uniforms: Float[Tensor, " row"],
    least: Float[Tensor, "row 1"],
    top_p: float,
    first: int,
) -> tuple[Int[Tensor, " row"], Bool[Tensor, " row"]]:
    """Draw among the `first` most probable tokens, and return whether the nucleus lies among them.

    It does if a less probable token is among them too. Otherwise a token as probable may have been left out, and the
    order of equal tokens decides which of them belong to the nucleus.
    """
    values, order = _most_probable(probabilities, first)
    inside = values.cumsum(-1) - values < top_p
    fits = values.masked_fill(~inside, 1.0).amin(-1) > values[:, -1]
    drawn = _inverse(values.masked_fill(~inside | (values < least), 0.0), uniforms)
    return order.gather(-1, drawn[:, None])[:, 0], fits


def _most_probable(
    probabilities: Float[Tensor, "row token"], first: int
) -> tuple[Float[Tensor, "row first"], Int[Tensor, "row first"]]:
    """Return the `first` most probable tokens, most probable first, equal ones by their id."""
    if first >= probabilities.shape[-1]:
        values, order = probabilities.sort(dim=-1, descending=True, stable=True)
        return values, order
    tokens = probabilities.topk(first, dim=-1, sorted=False).indices.sort(dim=-1).values
    values, order = probabilities.gather(-1, tokens).sort(dim=-1, descending=True, stable=True)
    return values, tokens.gather(-1, order)


def _inverse(probabilities: Float[Tensor, "row token"], uniforms: Float[Tensor, " row"]) -> Int[Tensor, " row"]:
    """Return the token where the cumulative probability, which need not end at 1, passes its uniform's share of it."""
    import torch

    cumulative = probabilities.cumsum(-1)
    drawn = torch.searchsorted(cumulative, uniforms[..., None] * cumulative[..., -1:], right=True)
    return drawn.clamp_(max=probabilities.shape[-1] - 1)[..., 0]


SPACES = ("Ġ", "▁")  # how byte-level and SentencePiece tokenizers write the space before a word


@dataclass(frozen=True)
class FavouredPairs:
    """Additive logits of tokens that stand behind certain tokens, as lists; list 0 is empty.

    Attributes:
        behind_first: The list of each token that a response begins with, by row of the word weights.
        behind_later: The same for tokens at later places, where a token without a space continues a word.
        token: The tokens of each list, filled up with token 0.
        nats: Their additive logits, filled up with 0.
    """

    behind_first: Int[Tensor, "row token"]
    behind_later: Int[Tensor, "row token"]
    token: Int[Tensor, "list place"]
    nats: Float[Tensor, "list place"]

    def added_to(
        self,
        logits: Float[Tensor, "branch token"],
        row: Int[Tensor, " branch"],
        previous: Int[Tensor, " branch"],
        step: int,
    ) -> Float[Tensor, "branch token"]:
        """Add to the logits of the token at `step` of responses whose last token is `previous`, in place."""
        behind = self.behind_first if step == 1 else self.behind_later
        chosen = behind[row, previous]
        return logits.scatter_add_(1, self.token[chosen], self.nats[chosen].to(logits.dtype))


@dataclass(frozen=True)
class FavouredTokens:
    """Additive logits, one row for each distinct set of word weights.

    Attributes:
        first: For a response's first token.
        later: For every later token.
        row: The row of each prompt.
        pairs: For tokens behind certain others; None without any.
    """

    first: Float[Tensor, "row token"]
    later: Float[Tensor, "row token"]
    row: Int[Tensor, " prompt"]
    pairs: FavouredPairs | None = None

    def of_prompts(self, prompts: Sequence[int]) -> FavouredTokens:
        """Return the same for some of the prompts, in this order."""
        return replace(self, row=self.row[list(prompts)])

    def added_to(
        self,
        logits: Float[Tensor, "branch token"],
        prompt: Int[Tensor, " branch"],
        written: Int[Tensor, "branch step"],
    ) -> Float[Tensor, "branch token"]:
        """Add to the logits of responses to these prompts, behind the tokens written so far, in place.

        A model's unused last logits stay.
        """
        step = written.shape[1]
        table = self.later if step else self.first
        weights = table if len(table) == 1 else table[self.row[prompt]]
        logits[:, : table.shape[1]] += weights
        if step and self.pairs is not None:
            return self.pairs.added_to(logits, self.row[prompt], written[:, -1], step)
        return logits


def favoured_tokens(
    weights: Sequence[WordWeights], prompts: int, tokenizer: PreTrainedTokenizerBase, width: int, device: torch.device
) -> FavouredTokens | None:
    """Return `weights`, one for all prompts or one for each, as logits of at most `width` tokens; None without weights.

    Raises:
        ValueError: several weights, but not as many as prompts.
    """
    import torch

    if not any(each.anywhere or each.first or each.after for each in weights):
        return None
    if len(weights) not in (1, prompts):
        raise InputError(
            f"{len(weights)} word weights for {prompts} prompts: give one for all, or one for each",
            code="word-weights-do-not-fit-prompts",
            value=len(weights),
        )
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
    pairs = _favoured_pairs(distinct, tokens, width, device)
    return FavouredTokens(first.to(device), later.to(device), of_prompt, pairs)


def _favoured_pairs(
    distinct: Sequence[WordWeights], tokens: Mapping[str, Sequence[tuple[int, bool]]], width: int, device: torch.device
) -> FavouredPairs | None:
    import torch

    lists: list[list[tuple[int, float]]] = [[]]
    behind_first, behind_later = torch.zeros(2, len(distinct), width, dtype=torch.long)
    for row, each in enumerate(distinct):
        for previous, words in each.after.items():
            own = [(token, nats) for word, nats in words.items() for token, goes_on in tokens.get(word, ()) if goes_on]
            if not own:
                continue
            before = tokens.get(previous, ())
            behind_first[row, [token for token, _ in before]] = len(lists)
            behind_later[row, [token for token, goes_on in before if goes_on]] = len(lists)
            lists.append(own)
    longest = max(map(len, lists))
    if not longest:
        return None
    filled = torch.tensor([[*own, *[(0, 0.0)] * (longest - len(own))] for own in lists], dtype=torch.float64)
    token, nats = filled.unbind(-1)
    return FavouredPairs(
        behind_first.to(device), behind_later.to(device), token.long().to(device), nats.float().to(device)
    )


def _number(weights: WordWeights, distinct: list[WordWeights]) -> int:
    for number, other in enumerate(distinct):
        if other is weights:
            return number
    distinct.append(weights)
    return len(distinct) - 1


def _tokens_of_words(tokenizer: PreTrainedTokenizerBase, width: int) -> dict[str, list[tuple[int, bool]]]:
    """Return the tokens that are a whole word, and whether each is one in the middle of a text as well."""
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
