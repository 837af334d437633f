"""Packed sequences: texts and preference pairs in lines without padding between them.

A pair is laid out in a line as `context | chosen | rejected`. A completion starts with its prompt's last token; the
context is the prompt before it. A token attends to the tokens before it in its own context and completion, and to
nothing of the other completion or of other pairs. Its position is the one that it has in a row of its own. So a prompt
is computed once for both completions, and compute grows with the number of tokens. A text is a completion without
context.

A line has room for the longest pair and for `LINE_TOKENS` tokens: attention compares all places of a line, so a longer
line would take more time than padding does.

The head, more than half of a small model's compute, is applied to the scored positions only.

Shapes: `line` lines of `place` places; `owner` texts or pairs; `row` texts, or all chosen and then all rejected
completions; `token` scored tokens, line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxtyping import Bool, Float, Int

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


def unwrapped(model: Any) -> PreTrainedModel:
    """Return the model itself, also where it is one of several processes' that train together."""
    from torch.nn.parallel import DistributedDataParallel

    return model.module if isinstance(model, DistributedDataParallel) else model


@contextmanager
def scored_logits_only(model: PreTrainedModel, wanted: Bool[Tensor, "row position"]) -> Iterator[None]:
    """Restrict `model` to logits of the `wanted` positions in this context, row by row, (position, token).

    A hook on the head's input selects them, so that whatever a model does to its logits (scaling, capping) still
    happens.
    """
    head = unwrapped(model).get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, given: (given[0][wanted],))
    try:
        yield
    finally:
        hook.remove()


LINE_TOKENS = 512  # tokens
CONTEXT, CHOSEN, REJECTED = 0, 1, 2
KINDS = 3
PADDING = -1  # value of `part` in padding
MASKED = ("sdpa", "eager")  # attention implementations that take a mask of pairs of places


@dataclass(frozen=True)
class PackedSequences:
    """Texts or pairs in lines.

    Attributes:
        ids: Token ids.
        positions: Position of each token in its own prompt and completion.
        part: 3 x the owner's number, plus 0 in its context, 1 in its text or chosen completion, 2 in its rejected one.
        contexts: Number of context tokens of each owner.
    """

    ids: Int[Tensor, "line place"]
    positions: Int[Tensor, "line place"]
    part: Int[Tensor, "line place"]
    contexts: Int[Tensor, " owner"]

    @property
    def scored(self) -> Bool[Tensor, "line place"]:
        """Mask of places that are followed by a token of a text or completion."""
        return (self.part != PADDING) & (self.part % KINDS != CONTEXT)

    @property
    def completions(self) -> tuple[Int[Tensor, " token"], Int[Tensor, " token"]]:
        """Row, and step in it, of each token that follows a scored place."""
        part, position = self.part[self.scored], self.positions[self.scored]
        owner = part // KINDS
        return owner + len(self.contexts) * (part % KINDS - CHOSEN), position - self.contexts[owner]

    def visible(self) -> Bool[Tensor, "line 1 place place"]:
        """Attention mask: the place of the third axis attends to the place of the fourth."""
        import torch

        query, key = self.part[:, :, None], self.part[:, None, :]
        own = (query == key) | (key % KINDS == CONTEXT) & (query // KINDS == key // KINDS)
        order = torch.arange(self.part.shape[1], device=self.part.device)
        return (own & (order <= order[:, None]))[:, None]  # padding attends to padding: no query is without a key

    def mask(self, implementation: str) -> Bool[Tensor, "line 1 place place"] | Float[Tensor, "line 1 place place"]:
        """Return `visible` in the form that this attention implementation of transformers takes."""
        import torch

        visible = self.visible()
        if implementation == "eager":  # adds its mask to the scores instead of choosing by it
            return torch.zeros_like(visible, dtype=torch.float32).masked_fill(~visible, torch.finfo(torch.float32).min)
        return visible


def packed_pairs(
    context_ids: Int[Tensor, "owner context"],
    context_mask: Int[Tensor, "owner context"],
    input_ids: Int[Tensor, "row begun"],
    attention_mask: Int[Tensor, "row begun"],
) -> PackedSequences:
    """Pack a batch of `fedtext.training.dpo.collate`, without completions' last tokens, which predict nothing."""
    contexts = _real(context_ids, context_mask)
    before = [row[:-1] for row in _real(input_ids, attention_mask)]
    return _laid_out(list(zip(contexts, before, before[len(contexts) :], strict=False)))


def packed_texts(
    ids: Int[Tensor, "row length"], real: Bool[Tensor, "row length"], multiple: int = 1
) -> tuple[PackedSequences, Int[Tensor, " token"]]:
    """Pack texts without their last tokens, in lines of a `multiple` of places; return each scored place's label."""
    from torch.nn.utils.rnn import pad_sequence

    texts = _real(ids, real)
    lines = _laid_out([(text[:0], text[:-1], text[:0]) for text in texts], multiple)
    row, step = lines.completions
    return lines, pad_sequence(texts, batch_first=True)[row, step + 1]


def packed_logits(
    model: PreTrainedModel, lines: PackedSequences, wanted: Bool[Tensor, "line place"]
) -> Float[Tensor, "token vocabulary"]:
    """Compute the logits at the `wanted` places, line by line; the head computes these only."""
    with scored_logits_only(model, wanted):
        logits: Tensor = model(
            input_ids=lines.ids,
            attention_mask=lines.mask(unwrapped(model).config._attn_implementation),
            position_ids=lines.positions,
            use_cache=False,
        ).logits
    return logits


def pack_first_fit(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Assign items of these lengths to lines, first fit: lines have `room` places, or those of the longest item."""
    room = max(room, *lengths)
    lines: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        fitting = (line for line in lines if sum(lengths[n] for n in line) + lengths[number] <= room)
        line = next(fitting, None)
        if line is None:
            lines.append([number])
        else:
            line.append(number)
    return lines


def _real(ids: Int[Tensor, "row length"], mask: Bool[Tensor, "row length"]) -> list[Int[Tensor, " token"]]:
    return [row[real.bool()] for row, real in zip(ids, mask, strict=True)]


def _laid_out(owners: Sequence[tuple[Tensor, Tensor, Tensor]], multiple: int = 1) -> PackedSequences:
    """Lay out each owner's context, chosen and rejected tokens in lines of a `multiple` of places."""
    import torch
    from torch.nn.functional import pad
    from torch.nn.utils.rnn import pad_sequence

    lines = pack_first_fit([sum(map(len, own)) for own in owners], LINE_TOKENS)
    tokens = [torch.cat(own) for own in owners]
    positions, parts = zip(*(_places(number, own) for number, own in enumerate(owners)), strict=True)

    def in_lines(of_owner: Sequence[Tensor], filling: int) -> Tensor:
        rows = [torch.cat([of_owner[number] for number in line]) for line in lines]
        even = pad_sequence(rows, batch_first=True, padding_value=filling)
        return pad(even, (0, -even.shape[1] % multiple), value=filling).to(tokens[0].device)

    contexts = torch.tensor([len(context) for context, _, _ in owners], device=tokens[0].device)
    return PackedSequences(in_lines(tokens, 0), in_lines(positions, 0), in_lines(parts, PADDING), contexts)


def _places(number: int, own: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Return positions and parts of an owner's tokens."""
    import torch

    context, chosen, rejected = map(len, own)
    completions = [torch.arange(context, context + length) for length in (chosen, rejected)]
    kinds = torch.tensor([CONTEXT, CHOSEN, REJECTED]).repeat_interleave(torch.tensor([context, chosen, rejected]))
    return torch.cat([torch.arange(context), *completions]), KINDS * number + kinds
