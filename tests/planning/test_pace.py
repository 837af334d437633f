"""Paces are measured, kept for the next run, and not guessed."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from fedtext.models.architecture import architecture_of
from fedtext.params.privacy import Privacy
from fedtext.planning.pace import Paces
from fedtext.planning.work import Kind, Work
from fedtext.privacy.signal import Signal
from tests.parameters import conf_base

SMALL = architecture_of("bundled:on_device")
READING = Work(Kind.READING, 10_000, 8, 32.0)
VOTES = Signal(release="votes", use="votes", unit="client", population=100, asked=100, numbers=1000, noise=1.0)


def test_a_plan_measures_and_a_run_reads_what_was_measured(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "paces.json"
    unknown = Paces(conf_base(Privacy), file, measures=False)
    assert math.isnan(unknown.seconds(READING, SMALL))
    assert not file.exists()
    measured = Paces(conf_base(Privacy), file, measures=True)
    seconds = [measured.seconds(READING, SMALL), measured.message_seconds(VOTES)]
    assert all(0 < one < 100 for one in seconds)
    read = Paces(conf_base(Privacy), file, measures=False)
    assert [read.seconds(READING, SMALL), read.message_seconds(VOTES)] == seconds
    assert all(value > 0 for value in json.loads(file.read_text()).values())


def test_twice_the_work_takes_twice_the_time(tmp_path: Path) -> None:
    paces = Paces(conf_base(Privacy), tmp_path / "paces.json", measures=True)
    once = paces.seconds(READING, SMALL)
    assert paces.seconds(Work(Kind.READING, 20_000, 8, 32.0), SMALL) == 2 * once
    more = VOTES.model_copy(update={"asked": 200.0})
    assert paces.message_seconds(VOTES) < paces.message_seconds(more) <= 2 * paces.message_seconds(VOTES)


def test_devices_share_the_time(tmp_path: Path) -> None:
    paces = Paces(conf_base(Privacy), tmp_path / "paces.json", measures=True)
    once = paces.seconds(READING, SMALL)
    assert paces.seconds(replace(READING, devices=4), SMALL) == once / 4


def test_every_kind_of_work_can_be_measured(tmp_path: Path) -> None:
    paces = Paces(conf_base(Privacy), tmp_path / "paces.json", measures=True)
    for kind in Kind:
        work = Work(kind, 1000, 4, 16.0, texts=40, shown=100, shared=2, referred=10)
        assert paces.seconds(work, SMALL) > 0
