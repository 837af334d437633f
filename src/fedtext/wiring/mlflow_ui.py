"""`kedro mlflow ui`: MLflow's pages over the records of a data root, opened where runs are listed.

kedro-mlflow's own command starts the program `mlflow` of whichever environment is active, and leaves its workers behind
when it is ended.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import webbrowser
from contextlib import closing, suppress
from types import FrameType
from typing import Any

import click

from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.config import ProjectConfigLoader, loader_for
from fedtext.wiring.tracking_server import database_path, is_remote

HOST, PORT = "127.0.0.1", "5000"
LISTED = "#/experiments/{experiment}/runs?workflowType=machine_learning"
ALONE = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # no process but the server
GRACE = 10.0  # seconds that the server has to end by itself


@click.command()
@click.option("--env", "-e", help="The environment whose mlflow.yml and data root are meant.")
@click.option("--host", "-h", help="The network address to listen on (default: 127.0.0.1).")
@click.option("--port", "-p", help="The port to listen on (default: 5000).")
def ui(env: str | None, host: str | None, port: str | None) -> None:
    """Show runs, parameters and metrics in a browser."""
    loader = loader_for(env, {})
    uri, page = _records(loader)
    if is_remote(uri):
        webbrowser.open(uri)
        return
    chosen = loader.tracking.get("ui") or {}
    serve(uri, page, host or chosen.get("host") or HOST, port or str(chosen.get("port") or PORT))


def _records(loader: ProjectConfigLoader) -> tuple[str, str]:
    """Return the URI of the records, and the page that lists the runs of the data root.

    Raises:
        RunRefusedError: there are no records yet.
    """
    tracking = loader.tracking
    uri = str((tracking.get("server") or {}).get("mlflow_tracking_uri"))
    if (path := database_path(uri)) is None:
        return uri, ""
    if not path.exists():
        raise RunRefusedError(
            f"no run is recorded in {loader.tracking_root}: start one with `kedro run`, or name another data root, "
            "FEDTEXT_TRACKING_ROOT=DIR kedro mlflow ui",
            code="no-run-recorded",
            value=str(loader.tracking_root),
        )
    name = ((tracking.get("tracking") or {}).get("experiment") or {}).get("name")
    with closing(sqlite3.connect(path)) as database, suppress(sqlite3.Error):
        newest = database.execute(
            "select experiment_id from experiments order by name = ? desc, experiment_id desc", (name,)
        ).fetchone()  # of a data root that was moved, the experiment bears its earlier name
        return uri, LISTED.format(experiment=newest[0]) if newest else ""
    return uri, ""


def serve(uri: str, page: str, host: str, port: str) -> None:
    """Run MLflow's server until it ends, or until this process is told to end: its workers end with it.

    Args:
        uri: Where the records lie.
        page: What is told to be opened, behind the server's address.
        host: Network address to listen on.
        port: Port to listen on.
    """
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri, "--workers", "1"]
    server = subprocess.Popen(
        [*command, "--host", host, "--port", port], env={**os.environ, **ALONE}, start_new_session=True
    )
    click.echo(f"runs are listed at http://{host}:{port}/{page} (Ctrl-C ends it)")

    def end(signum: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + signum)

    before: dict[signal.Signals, Any] = {one: signal.signal(one, end) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        if server.wait():
            raise click.ClickException(f"MLflow's server ended with {server.returncode}: is port {port} free?")
    except KeyboardInterrupt:
        pass
    finally:
        _end_group(server)
        for one, handler in before.items():
            signal.signal(one, handler)


def _end_group(server: subprocess.Popen[bytes]) -> None:
    """End the server and what it started; what does not end by itself is killed."""
    for how, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(server.pid, how)
        with suppress(subprocess.TimeoutExpired):
            server.wait(patience)
