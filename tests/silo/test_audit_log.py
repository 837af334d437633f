"""A silo's audit log outlives a kill in the middle of a line."""

from __future__ import annotations

from pathlib import Path

from fedtext.silo.audit_log import FILE, Entry, add_entry, entries


def entry(round: int) -> Entry:
    return Entry(
        when="2026-12-01T00:00:00+00:00", question="kind", name="votes", round=round, numbers=3, noise_multiplier=6.0,
        epsilon=0.5, outcome="answered", sentence="",
    )  # fmt: skip


def test_a_line_that_was_cut_off_is_left_out_and_the_next_is_not(tmp_path: Path) -> None:
    for number in (1, 2):
        add_entry(tmp_path, entry(number))
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:-20])
    assert entries(tmp_path) == [entry(1)]
    for number in (3, 4):
        add_entry(tmp_path, entry(number))
    assert entries(tmp_path) == [entry(1), entry(3), entry(4)]
    assert len(file.read_text().splitlines()) == 4


def test_bytes_that_are_no_text_hide_no_other_line(tmp_path: Path) -> None:
    add_entry(tmp_path, entry(1))
    (tmp_path / FILE).write_bytes(b"\xff\xfe\n" + (tmp_path / FILE).read_bytes())
    assert entries(tmp_path) == [entry(1)]
