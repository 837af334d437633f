"""A cluster that is started as docs/scaling.md says, of two nodes, over TLS and with a token; its nodes share a machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

ray = pytest.importorskip(
    "ray", reason="the engine over Ray is tested where it is installed: pip install 'ray==2.60.*'"
)

HERE = ray.util.get_node_ip_address()  # Ray takes this one where it is told 127.0.0.1
PATIENCE = 300  # seconds, on a machine that others use
PROGRAM = """
import os, sys, time
from pathlib import Path
from fedtext.system.ray_engine import over_ray

def piece(number):
    import ray
    time.sleep(0.5)
    return number, ray.get_runtime_context().get_node_id()

with over_ray(None, sys.argv[1], Path(sys.argv[2])) as engine:
    import ray
    while sum(node["Alive"] for node in ray.nodes()) < 2:
        time.sleep(0.5)
    found = list(engine.map(piece, range(12)))
print([number for number, _ in found] == list(range(12)), len({node for _, node in found}))
"""


class Cluster(NamedTuple):
    """Where it answers, and the environment of whoever may ask."""

    address: str
    env: dict[str, str]


def certificates(folder: Path) -> dict[str, str]:
    """Ray's settings for TLS, with a certificate of this machine by an authority made for the test."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "ca.key", "-out", "ca.crt",
            "-subj", "/CN=test authority")  # fmt: skip
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=node")
    (folder / "names").write_text(f"subjectAltName=IP:{HERE},DNS:localhost")
    openssl("x509", "-req", "-in", "own.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-out", "own.crt", "-extfile", "names")  # fmt: skip
    return {
        "RAY_USE_TLS": "1",
        "RAY_TLS_SERVER_CERT": str(folder / "own.crt"),
        "RAY_TLS_SERVER_KEY": str(folder / "own.key"),
        "RAY_TLS_CA_CERT": str(folder / "ca.crt"),
    }


@contextmanager
def node(env: dict[str, str], *words: str) -> Iterator[subprocess.Popen[str]]:
    """A node of a cluster, ended by its own process group: `ray stop` would end all of the machine's."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *words]
    started = subprocess.Popen(
        command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        yield started
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(started.pid, number)
                started.wait(20)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HERE, 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder, port = tmp_path_factory.mktemp("secure"), free_port()
    (folder / "token").write_text("5" * 64)
    mine = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(folder / "token")}
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    env = {**plain, **mine, **certificates(folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with ExitStack() as nodes:
        head = [f"--port={port}", "--head", "--num-cpus=1", "--include-dashboard=false"]
        nodes.enter_context(node(env, *head, f"--object-spilling-directory={folder}/spill"))
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                socket.create_connection((HERE, port), 1).close()
                break
            except OSError:
                time.sleep(0.5)
        nodes.enter_context(node(env, f"--address={HERE}:{port}", "--num-cpus=1"))
        yield Cluster(f"{HERE}:{port}", env)


def asked(cluster: Cluster, env: dict[str, str], spill: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, cluster.address, str(spill)],
        env=env, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_pieces_are_computed_on_both_nodes_over_tls(cluster: Cluster, tmp_path: Path) -> None:
    done = asked(cluster, cluster.env, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["True", "2"]


@pytest.mark.slow
@pytest.mark.parametrize("lacks", ["RAY_USE_TLS", "RAY_AUTH_TOKEN_PATH"])
def test_who_lacks_tls_or_the_token_is_refused_in_one_sentence(cluster: Cluster, tmp_path: Path, lacks: str) -> None:
    env = {name: value for name, value in cluster.env.items() if name != lacks}
    if lacks == "RAY_AUTH_TOKEN_PATH":
        env["RAY_AUTH_TOKEN"] = "6" * 64
    done = asked(cluster, env, tmp_path)
    assert done.returncode != 0
    assert "RunRefusedError: Ray cannot be reached at" in done.stderr
