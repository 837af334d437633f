"""Preference pairs packed into lines without padding between them: `context | chosen | rejected`, pair after pair.

A completion starts with its prompt's last token; the context is the prompt before it. A token sees what comes before it
in its own context and completion, nothing of the other completion and nothing of other pairs, and has the position that
it has in a row of its own. So a prompt is computed once for both completions, and a short pair costs what it has tokens.

Lines have room for the longest pair and for `ROOM` tokens: attention compares all places of a line, and in longer ones
that would take more time than padding does.

Shapes: `pair` pairs; `row` = 2 pairs, all chosen, then all rejected; `line` lines of `place` places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Bool, Float, Int

if TYPE_CHECKING:
    import torch
    from torch import Tensor

ROOM = 512  # tokens
CONTEXT, CHOSEN, REJECTED = 0, 1, 2
KINDS = 3
PADDING = -1  # of `part`


@dataclass(frozen=True)
class PackedPairs:
    """Pairs in lines.

    Attributes:
        ids: Tokens, line x place.
        positions: Of a token in its prompt and completion, line x place.
        part: 3 x the pair's number, plus 0 for its context, 1 for its chosen and 2 for its rejected completion.
    """

    ids: Int[Tensor, "line place"]
    positions: Int[Tensor, "line place"]
    part: Int[Tensor, "line place"]
    contexts: Int[Tensor, " pair"]

    @property
    def scored(self) -> Bool[Tensor, "line place"]:
        """Where a token of a completion follows."""
        return (self.part != PADDING) & (self.part % KINDS != CONTEXT)

    @property
    def completions(self) -> tuple[Int[Tensor, " token"], Int[Tensor, " token"]]:
        """The row, and the step in it, of each scored token that follows, line by line."""
        part, position = self.part[self.scored], self.positions[self.scored]
        pair = part // KINDS
        return pair + len(self.contexts) * (part % KINDS - CHOSEN), position - self.contexts[pair]

    def visible(self) -> Bool[Tensor, "line 1 place place"]:
        """Who (third) sees whom (fourth)."""
        import torch

        query, key = self.part[:, :, None], self.part[:, None, :]
        own = (query == key) | (key % KINDS == CONTEXT) & (query // KINDS == key // KINDS)
        order = torch.arange(self.part.shape[1], device=self.part.device)
        return (own & (order <= order[:, None]))[:, None]  # padding sees padding: no query is without a key


def packed_pairs(
    context_ids: Int[Tensor, "pair context"],
    context_mask: Int[Tensor, "pair context"],
    input_ids: Int[Tensor, "row begun"],
    attention_mask: Int[Tensor, "row begun"],
) -> PackedPairs:
    """A batch of `fedtext.training.shared_prompt.collate` in lines; nothing is scored after a completion's last token."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    contexts = [ids[real.bool()] for ids, real in zip(context_ids, context_mask, strict=True)]
    before = [ids[real.bool()][:-1] for ids, real in zip(input_ids, attention_mask, strict=True)]
    lengths = torch.tensor([len(context) for context in contexts], device=context_ids.device)
    pairs = range(len(contexts))
    parts = [[contexts[pair], before[pair], before[pair + len(contexts)]] for pair in pairs]
    lines = packed([sum(map(len, own)) for own in parts], ROOM)

    def laid_out(of_part: list[list[Tensor]], filling: int) -> Tensor:
        rows = [torch.cat([piece for pair in line for piece in of_part[pair]]) for line in lines]
        return pad_sequence(rows, batch_first=True, padding_value=filling)

    def positions(pair: int) -> list[Tensor]:
        first = [0, len(contexts[pair]), len(contexts[pair])]
        return [_counted(start, piece) for start, piece in zip(first, parts[pair], strict=True)]

    codes = [[torch.full_like(p, KINDS * pair + kind) for kind, p in enumerate(parts[pair])] for pair in pairs]
    return PackedPairs(
        laid_out(parts, 0), laid_out([positions(pair) for pair in pairs], 0), laid_out(codes, PADDING), lengths
    )


def packed(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Numbers of what has these lengths, in lines of `room` or of the longest: each into the first with room for it."""
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


def _counted(first: int, piece: Tensor) -> Tensor:
    import torch

    return torch.arange(first, first + len(piece), device=piece.device)
