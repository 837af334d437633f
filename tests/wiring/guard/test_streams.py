"""What is written past Python's streams ends in a pipe, and everything is as before afterwards."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fedtext.system.progress import Terminal
from fedtext.wiring.guard.streams import MOST, HiddenOutput, hidden_descriptors, hidden_prints


def test_descriptors_lead_into_pipes_and_back(capfd: pytest.CaptureFixture[str]) -> None:
    os.write(1, b"before ")
    with hidden_descriptors() as written:
        os.write(1, b"secret")
        os.write(2, b"warning\n")
        print("secret", file=sys.__stdout__)
        said = written()
        assert b"secret" in said.output
        assert said.error == b"warning\n"
        assert written() == (b"", b"")
    os.write(1, b"after")
    assert capfd.readouterr() == ("before after", "")


def test_all_descriptors_of_the_same_pipe_are_held(capfd: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    kept = os.dup(1)
    os.dup2(writer, 1)
    copy, unlike = os.dup(1), os.pipe()
    try:
        with hidden_descriptors() as written:
            os.write(copy, b"secret")
            os.write(unlike[1], b"another pipe")
            assert written().output == b"secret"
        os.write(copy, b"after")
        os.write(1, b" it")
    finally:
        os.dup2(kept, 1)
    assert os.read(reader, 100) == b"after it"
    assert os.read(unlike[0], 100) == b"another pipe"


def test_a_full_pipe_stops_nobody() -> None:
    with hidden_descriptors() as written:
        os.write(2, b"x" * MOST)
        with pytest.raises(BlockingIOError):
            os.write(2, b"x")
        assert len(written().error) == MOST


def test_a_process_without_standard_streams_may_run(tmp_path: Path) -> None:
    code = (
        "import os; os.close(1); os.close(2)\n"
        "from fedtext.wiring.guard.streams import hidden_descriptors\n"
        f"with hidden_descriptors() as written: open({str(tmp_path / 'said')!r}, 'w').write(repr(tuple(written())))\n"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
    assert (tmp_path / "said").read_text() == "(b'', b'')"


def test_the_terminal_shows_what_others_cannot(capfd: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    with hidden_descriptors():
        terminal.write("3 of 7 batches\n")
        print("secret", file=sys.__stderr__)
    terminal.write("done\n")
    assert capfd.readouterr().err == "3 of 7 batches\ndone\n"


def test_prints_are_dropped_while_somebody_hides_them(capsys: pytest.CaptureFixture[str]) -> None:
    hidden: list[bool] = []
    hiding = [lambda: hidden.append(True)]
    with hidden_prints(lambda: hiding[0] if hiding else None):
        print("secret")
        kept = sys.stdout
        hiding.clear()
        print("shown")
    assert isinstance(kept, HiddenOutput)
    kept.write("shown later\n")
    assert hidden
    assert capsys.readouterr().out == "shown\nshown later\n"
