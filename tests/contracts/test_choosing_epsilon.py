"""The tables of docs/choosing_epsilon.md are those that its command prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.signal_to_noise import attacks, by_clients, by_trust, gains

PAGE = Path(__file__).parents[2] / "docs" / "choosing_epsilon.md"


@pytest.mark.parametrize("made", [gains, attacks, by_clients, by_trust])
def test_a_table_is_what_the_command_prints(made: Callable[[], list[str]]) -> None:
    assert "\n".join(made()) in PAGE.read_text(encoding="utf-8")
