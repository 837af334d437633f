"""How a run is refused: one message, no traceback, exit code 1."""

from __future__ import annotations

from collections.abc import Sequence

import click


class RunRefusedError(click.ClickException, RuntimeError):
    """A run that must not start; the command line prints the message alone."""

    def __init__(self, summary: str, reasons: Sequence[str] = ()) -> None:
        super().__init__("\n".join([summary, *(f"  - {reason}" for reason in reasons)]))
