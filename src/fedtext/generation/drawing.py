"""One token a distribution: temperature, then what of the distribution is kept, then a draw by its inverse CDF."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jaxtyping import Bool, Float, Int

if TYPE_CHECKING:
    from torch import Tensor

FIRST = 512  # tokens that are sorted for a nucleus; where it does not fit in them, all are
FEW_SOONER = ("cpu",)  # devices that draw sooner from the few likely tokens; others would wait to be told how many
IN_CACHE = 1 << 19  # probabilities at once on a CPU: 2 MB, which a core keeps near and need not ask the system for


def draw_tokens(
    logits: Float[Tensor, "*batch token"],
    uniforms: Float[Tensor, "*batch"],
    *,
    temperature: float,
    top_p: float,
    min_p: float = 0.0,
) -> Int[Tensor, "*batch"]:
    """Inverse-CDF draw: the first token at which the cumulative probability exceeds its uniform in [0, 1).

    `top_p` < 1 keeps the smallest set of most probable tokens that holds that mass (nucleus sampling). `min_p` > 0
    keeps the tokens with at least that share of the highest probability. Both look at the whole distribution.

    On a CPU a few distributions are drawn from at a time: buffers for all of them would be fetched anew from the system
    at every step, which takes longer than the arithmetic.
    """
    import torch

    rows, wanted = logits.flatten(0, -2), uniforms.flatten()
    at_once = max(IN_CACHE // rows.shape[-1], 1) if rows.device.type == "cpu" else max(len(rows), 1)
    parts = zip(rows.split(at_once), wanted.split(at_once), strict=True)
    drawn = [_draw(part, draws, temperature=temperature, top_p=top_p, min_p=min_p) for part, draws in parts]
    return torch.cat(drawn).view(uniforms.shape)


def penalised(
    logits: Float[Tensor, "row token"], held: Int[Tensor, "row step"], penalty: float
) -> Float[Tensor, "row token"]:
    """Logits in which tokens that a row `held` before are less probable (Keskar et al., 2019, section 4.1).

    A positive logit is divided by the penalty, a negative one multiplied by it; a token that came twice counts once.
    The given logits are overwritten.
    """
    found = logits.gather(-1, held)
    return logits.scatter_(-1, held, found.where(found > 0, found * penalty**2) / penalty)


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
    """Draws among the tokens that `min_p` keeps: the logits say which, so only these few need a probability."""
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
    """Draws among the `first` most probable tokens, and whether the nucleus lies among them.

    It does where a less probable token is among them too: one as probable may have stayed outside, and which of equals
    belongs to the nucleus is told by their order.
    """
    values, order = _most_probable(probabilities, first)
    inside = values.cumsum(-1) - values < top_p
    fits = values.masked_fill(~inside, 1.0).amin(-1) > values[:, -1]
    drawn = _inverse(values.masked_fill(~inside | (values < least), 0.0), uniforms)
    return order.gather(-1, drawn[:, None])[:, 0], fits


def _most_probable(
    probabilities: Float[Tensor, "row token"], first: int
) -> tuple[Float[Tensor, "row first"], Int[Tensor, "row first"]]:
    """The `first` most probable tokens, most probable first, equals by their number."""
    if first >= probabilities.shape[-1]:
        values, order = probabilities.sort(dim=-1, descending=True, stable=True)
        return values, order
    tokens = probabilities.topk(first, dim=-1, sorted=False).indices.sort(dim=-1).values
    values, order = probabilities.gather(-1, tokens).sort(dim=-1, descending=True, stable=True)
    return values, tokens.gather(-1, order)


def _inverse(probabilities: Float[Tensor, "row token"], uniforms: Float[Tensor, " row"]) -> Int[Tensor, " row"]:
    """The token at which the cumulative probability, which need not end at 1, passes its uniform's share of it."""
    import torch

    cumulative = probabilities.cumsum(-1)
    drawn = torch.searchsorted(cumulative, uniforms[..., None] * cumulative[..., -1:], right=True)
    return drawn.clamp_(max=probabilities.shape[-1] - 1)[..., 0]
