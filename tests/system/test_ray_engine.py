"""The engine over Ray: a closed cluster of this machine, results in order, a killed worker's piece computed again."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fedtext.system.engine import Engine
from fedtext.system.errors import InputError
from tests.refusals import refuses

pytest.importorskip("ray", reason="the engine over Ray is tested where it is installed: pip install 'ray==2.60.*'")

from fedtext.system.ray_engine import is_handing_over, is_started, over_ray

CONNECT = """
import sys
from ray._raylet import GcsClient
print(GcsClient(address=sys.argv[1]).internal_kv_keys(b"", None))
"""


@pytest.fixture(scope="module")
def spill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that a killed run has left."""
    spill = tmp_path_factory.mktemp("root") / ".fedtext/spill"
    (spill / "ray_spilled_objects").mkdir(parents=True)
    (spill / "ray_spilled_objects" / "somebody's samples").touch()
    return spill


@pytest.fixture(scope="module")
def two(spill: Path) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", "127.0.0.1:9")  # as in a job of another cluster, which is not asked
        with over_ray(2, None, spill) as engine:
            yield engine
    assert not is_started()


def test_results_come_in_the_order_of_the_pieces(two: Engine) -> None:
    shift = 3
    assert list(two.map(lambda piece: abs(piece) + shift, range(-20, 0))) == list(range(23, 3, -1))
    assert is_started()
    assert not is_handing_over()


def test_an_error_is_raised_as_the_function_raised_it(two: Engine) -> None:
    def fails(piece: int) -> int:
        raise InputError(f"piece {piece}: give another", code="odd", value=piece)

    with refuses("odd", value=0):
        list(two.map(fails, range(4)))


def test_the_piece_of_a_killed_worker_is_computed_again(two: Engine) -> None:
    def slow(piece: int) -> tuple[int, int]:
        time.sleep(0.3)
        return piece, os.getpid()

    found = two.map(slow, range(8))
    first = next(found)
    psutil.Process(first[1]).kill()
    assert [piece for piece, _ in (first, *found)] == list(range(8))


def test_workers_that_compute_otherwise_compute_nothing(two: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two, "_with", {})
    with refuses("worker-computes-otherwise"):
        list(two.map(abs, [-1]))


def test_it_is_closed_to_others_and_tells_nobody(two: Engine, spill: Path) -> None:
    assert stat.S_IMODE(spill.stat().st_mode) == 0o700
    assert not [*spill.rglob("somebody's samples")], "what a killed run left goes"
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    assert os.environ["RAY_AUTH_MODE"] == "token"
    import ray

    stranger = subprocess.run(
        [sys.executable, "-c", CONNECT, ray.get_runtime_context().gcs_address],
        env={name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert stranger.returncode != 0
    assert "InvalidAuthToken" in stranger.stderr
