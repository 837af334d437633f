"""A silo whose process sends garbage: as `python -m tests.silo.liar serve`, by what LIE says."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from fedtext.federation.inquiry import Answer, packed_reply, read_reply
from fedtext.silo import cli
from fedtext.silo.handler import MessageHandler

LIES = {
    "width": lambda numbers: numbers[:-1],
    "range": lambda numbers: numbers + 2**40,
    "nan": lambda numbers: np.full(len(numbers), np.nan),
}


class Liar(MessageHandler):
    def reply(self, message: bytes) -> bytes:
        honest = read_reply(super().reply(message))
        if not isinstance(honest, Answer):
            return packed_reply(honest)
        return packed_reply(replace(honest, sum=LIES[os.environ["LIE"]](honest.sum)))


if __name__ == "__main__":
    import fedtext.silo.handler

    fedtext.silo.handler.MessageHandler = Liar  # type: ignore[misc]
    cli.main()
