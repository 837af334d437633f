"""`kedro mlflow ui` shows a data root's runs, from any shell, and leaves no process behind."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.wiring.conftest import ToyProject, here
from tests.wiring.test_hooks import KEDRO

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_data_root_without_runs_is_named(tmp_path: Path) -> None:
    told = here() | {"FEDTEXT_TRACKING_ROOT": str(tmp_path), "FEDTEXT_TRACKING": "off"}
    done = subprocess.run(
        [KEDRO, "mlflow", "ui"], cwd=ROOT, env=told, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert str(tmp_path) in done.stderr
    assert "`kedro run`" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_runs_in_a_shell_without_the_environment_and_ends_with_its_workers(
    tracked: ToyProject, how: signal.Signals
) -> None:
    tracked.run()
    told = here() | {"PATH": "/usr/bin:/bin", "FEDTEXT_TRACKING_ROOT": str(tracked.data), "PYTHONUNBUFFERED": "1"}
    port = free_port()
    shown = subprocess.Popen(
        [KEDRO, "mlflow", "ui", "--port", str(port)],
        cwd=ROOT,
        env=told,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no thread runs here
    )
    try:
        until = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                break
            except OSError:
                assert shown.poll() is None
                assert time.monotonic() < until
                time.sleep(0.5)
        started = psutil.Process(shown.pid).children(recursive=True)
        assert started
    finally:
        shown.send_signal(how)
        output, _ = shown.communicate(timeout=60)
    assert not [process for process in started if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    assert re.search(r"http://127\.0\.0\.1:\d+/#/experiments/\d+/runs\?workflowType=machine_learning", output)
    assert "Traceback" not in output
