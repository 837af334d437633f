"""JSON written member by member, so that what is written need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fedtext.system.atomic import replacing_file


def write_members(target: Path, brackets: str, members: Iterable[str]) -> int:
    """Replaces `target` by the members, JSON already, a line each between `brackets` (`[]`, `{}`); how many there were.

    All or nothing: an error while they are made leaves `target` as it was.
    """
    number = 0
    with replacing_file(target) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"{brackets[0]}\n")
        for number, member in enumerate(members, start=1):
            file.write(member if number == 1 else f",\n{member}")
        file.write(f"\n{brackets[1]}\n")
    return number
