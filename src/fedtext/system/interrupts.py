"""Ctrl-C while a command is still being imported: one line in place of a traceback."""

from __future__ import annotations

import sys
from types import TracebackType

INTERRUPTED = "interrupted; what was done is kept: run the same command to resume"


def tell_interrupts_in_one_line() -> None:
    """Replace what Python prints of a KeyboardInterrupt that nobody catches; the exit code stays the shell's 130."""
    print_error = sys.excepthook

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if is_interrupt(error):
            print(f"Error: {INTERRUPTED}", file=sys.stderr)
        else:
            print_error(kind, error, trace)

    sys.excepthook = tell


def is_interrupt(error: BaseException) -> bool:
    """Return whether Ctrl-C came while `error` was made: pydantic, interrupted in C, has nothing of it but its name."""
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None and before not in chain:
        chain.append(before)
    named = str(error).rstrip(" :\n").endswith(KeyboardInterrupt.__name__)
    return named or any(isinstance(one, KeyboardInterrupt) for one in chain)
