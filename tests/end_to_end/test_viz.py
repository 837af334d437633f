"""A real `kedro viz` server over a real run: the rounds are there, the privacy layers are there, private text is not."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from tests.end_to_end.conftest import ROOT, TINY, command, env, params


@pytest.fixture(scope="module")
def viz(tiny_run: Path) -> Iterator[httpx.Client]:
    port = _free_port()
    arguments = command("viz", "run", "--no-browser", "--port", str(port), "--env", "tiny")
    arguments += ["--params", params(data_root=tiny_run, **TINY)]
    server = _started(arguments, port)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield client
    finally:
        server.terminate()
        server.wait(30)


def _free_port() -> int:
    """Below the ports that the system lends to outgoing connections: a look at one of those may find itself."""
    for port in range(20_000 + os.getpid() % 10_000, 31_000, 7):
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    pytest.fail("no free port from 20,000 to 31,000")


def _started(arguments: list[str], port: int) -> subprocess.Popen[bytes]:
    """A server that answers. `kedro viz run` gives up after a minute by itself, so a loaded machine gets three tries."""
    for _ in range(3):
        server = subprocess.Popen(arguments, cwd=ROOT, env=env(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while server.poll() is None:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/api/main", timeout=60).status_code == 200:
                    return server
            except httpx.TransportError:
                time.sleep(1)
    pytest.fail("kedro viz ended three times before it answered")


def _nodes(viz: httpx.Client) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = viz.get("/api/main").json()["nodes"]
    return nodes


def test_rounds_are_boxes_and_layers_are_privacy_classes(viz: httpx.Client) -> None:
    graph = viz.get("/api/main").json()
    boxes = {node["id"] for node in graph["nodes"] if node["type"] == "modularPipeline"}
    assert {"popri", "popri.round_01", "popri.round_02", "evaluation", "report"} <= boxes
    assert set(graph["layers"]) == {"public", "private", "released", "held-out evaluation", "report"}
    assert graph["layers"].index("private") < graph["layers"].index("released") < graph["layers"].index("report")


def test_no_private_text_is_served(viz: httpx.Client, tiny_run: Path) -> None:
    private = pd.read_parquet(tiny_run / "03_primary" / "private_records.parquet")["text"].str.slice(0, 60).tolist()
    served = [viz.get("/api/main").text]
    served += [viz.get(f"/api/nodes/{node['id']}").text for node in _nodes(viz) if node["type"] in {"data", "task"}]
    assert len(served) > 40
    assert any("preview" in text for text in served), "no preview is served at all: the check would see nothing"
    # JSON escapes line breaks, so whole first lines are compared
    for line in {text.splitlines()[0] for text in private if len(text.splitlines()[0]) > 40}:
        assert not any(line in text for text in served)
