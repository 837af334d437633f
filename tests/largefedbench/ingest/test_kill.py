"""kill -9 during a pull from a real local server: whatever moment it hits, the same bytes in the end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedtext.largefedbench.ingest.pull import pull
from fedtext.params.ingest import Ingest
from tests.largefedbench.ingest.conftest import ENVIRONMENT
from tests.largefedbench.ingest.local_server import LocalSources, local_sources, parameters
from tests.parameters import conf_base

ROOT = Path(__file__).parents[3]
KILLED = -signal.SIGKILL


@pytest.fixture
def server() -> Iterator[LocalSources]:
    with local_sources() as running:
        yield running


def asked(server: LocalSources, source: str, raw_dir: Path, **more: Any) -> dict[str, Any]:
    return {**parameters(server.base), "source": source, "raw_dir": str(raw_dir), **more}


def start(params: dict[str, Any], *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.largefedbench.ingest.pull_once", json.dumps(params), *more]
    environment = {**os.environ, **ENVIRONMENT, "FEDTEXT_PROGRESS": "0"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE)


def finish(params: dict[str, Any]) -> dict[str, Any]:
    return pull(conf_base(Ingest, params), environment=ENVIRONMENT)


def pages(raw_dir: Path) -> dict[str, bytes]:
    """Every file of every finished window; nothing else may count for a reader."""
    files = {p.relative_to(raw_dir).as_posix(): p for p in sorted(raw_dir.rglob("*")) if p.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.endswith("/.lock")}


def visible(raw_dir: Path) -> dict[str, bytes]:
    """As `pages`, without what an interrupted window left under a temporary name."""
    return {name: data for name, data in pages(raw_dir).items() if "/." not in name}


def kill_in_flight(server: LocalSources, params: dict[str, Any], after: int, cut: int) -> int:
    """Starts a pull and kills it at its `after`th request, when `cut` bytes of the answer are under way."""
    victim = start(params)
    begun = server.count

    def before_answer(count: int) -> int | None:
        if count - begun == after:
            victim.kill()
            return cut
        return None

    server.before_answer = before_answer
    _, errors = victim.communicate(timeout=300)
    server.before_answer = lambda count: None
    assert victim.returncode in {0, KILLED}, errors.decode()[-2000:]
    return victim.returncode


def check(server: LocalSources, source: str, tmp_path: Path, kills: int, latest: int) -> None:
    """Kills each at a request from the second to the `latest`, so that some windows are left for the end."""
    finish(asked(server, source, tmp_path / "whole"))
    whole = pages(tmp_path / "whole")
    dice = random.Random(source)
    params = asked(server, source, tmp_path / "killed")
    done = 0
    for _ in range(kills):
        done += kill_in_flight(server, params, dice.randint(2, latest), dice.choice([0, 1, 200])) == KILLED
        so_far = visible(tmp_path / "killed")
        assert so_far.items() <= whole.items()  # nothing half-written, nothing that differs
    report = finish(params)
    assert done == kills
    assert report["windows_pulled"] > 0  # the kills left something to do
    assert pages(tmp_path / "killed") == whole


@pytest.mark.slow
@pytest.mark.parametrize("kills", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_again_and_again_the_same_bytes(server: LocalSources, tmp_path: Path, kills: int) -> None:
    check(server, "biorxiv", tmp_path, kills=kills, latest=4)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["uk", "ca", "us", "pubmed", "openreview"])
def test_every_source_survives_kills(server: LocalSources, tmp_path: Path, source: str) -> None:
    check(server, source, tmp_path, kills=3, latest=9)


def test_killed_at_every_step_of_a_commit(server: LocalSources, tmp_path: Path) -> None:
    """A week of four files: an fsync each, one of the directory, the rename, one of the parent; then the next week."""
    week = {"to_date": "2024-01-10"}
    finish(asked(server, "biorxiv", tmp_path / "whole", **week))
    whole = pages(tmp_path / "whole")
    for step in range(1, 9):
        params = asked(server, "biorxiv", tmp_path / str(step), **week)
        victim = start(params, str(step))
        _, errors = victim.communicate(timeout=300)
        assert victim.returncode == KILLED, errors.decode()[-2000:]
        assert visible(tmp_path / str(step)).items() <= whole.items()
        finish(params)
        assert pages(tmp_path / str(step)) == whole
