"""What a plan assumes of texts that nobody has read or written yet."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Parameters


class Planning(Parameters):
    """`filled`: the share of its most tokens that a text has, on average; `samples`: a client's samples, on average."""

    filled: float = Field(gt=0, le=1)
    samples: float = Field(gt=0)
