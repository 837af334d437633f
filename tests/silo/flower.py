"""A real SuperLink and real silos, encrypted and authenticated, in Flower's own environment.

FEDTEXT_FLOWER names that environment (`python -m venv`, `pip install -c constraints-flower.txt -e '.[flower,offline]'`);
by default it is `.venv-flower` beside this project's.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from fedtext.federation.flower import CONNECTION, FlowerTransport
from tests.silo.examples import NAMES, peers_of, silo, table

ROOT = Path(__file__).parents[2]
ENVIRONMENT = Path(os.environ.get("FEDTEXT_FLOWER") or ROOT / ".venv-flower")
LONGEST = 400.0  # seconds for a process to be there
STRONG = "north"  # the silo that trains
ALLOWED = 20.0  # epsilon of a silo, for all tests of a module together
SILO, LIAR = "fedtext.silo.cli", "tests.silo.liar"


def needs_flower() -> None:
    if not (ENVIRONMENT / "bin" / "flower-superlink").exists():
        pytest.skip(f"{ENVIRONMENT} has no Flower: make it as constraints-flower.txt says, and set FEDTEXT_FLOWER")


@dataclass
class Place:
    """A folder with three silos and the server's files, and the processes that run in it."""

    folder: Path
    port: int
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def certificate(self) -> Path:
        return self.folder / "server.pem"

    def transport(self, patience: float = 60.0) -> FlowerTransport:
        flwr = str(ENVIRONMENT / "bin" / "flwr")
        return FlowerTransport(f"127.0.0.1:{self.port}", flwr, self.certificate, self.folder / "server", patience)

    def start(self, name: str, command: list[str], **environment: str) -> None:
        log = (self.folder / f"{name}.log").open("ab")
        self.running[name] = subprocess.Popen(
            command, cwd=self.folder, stdout=log, stderr=log, env=self._environment() | environment,
            start_new_session=True,
        )  # fmt: skip

    def start_silo(self, name: str, module: str = SILO, **environment: str) -> None:
        before = self.log(name).count("connected to")
        serve = [str(ENVIRONMENT / "bin" / "python"), "-m", module, "serve", "--settings", f"{name}.yml"]
        self.start(name, serve, **environment)
        self.wait_for(lambda: self.log(name).count("connected to") > before, name)

    def log(self, name: str) -> str:
        own = self.folder / f"{name}-own" / "silo.log"
        return own.read_text() if own.exists() else ""

    def end(self, name: str, how: int = signal.SIGTERM) -> None:
        process = self.running.pop(name)
        os.killpg(process.pid, how)
        process.wait(30)

    def wait_for(self, there: object, what: str) -> None:
        end = time.monotonic() + LONGEST
        while not there():  # type: ignore[operator]
            ended = what in self.running and self.running[what].poll() is not None
            if ended or time.monotonic() > end:
                pytest.fail(f"{what} is not there: {(self.folder / f'{what}.log').read_text()[-2000:]}")
            time.sleep(0.3)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FLWR")}
        path = f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}"
        own = {
            "FLWR_HOME": str(self.folder / "flower"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
        }
        state = {"FEDTEXT_STATE": str(self.folder / "state"), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        return kept | own | state | {"PATH": path, "OMP_NUM_THREADS": "1"}

    def do(self, *command: str) -> None:
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def federation(folder: Path, names: Sequence[str] = NAMES) -> Iterator[Place]:
    """A SuperLink that demands keys, and silos that have theirs."""
    needs_flower()
    place = Place(folder, _free_port())
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    key = ["-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.pem", "-days", "2"]
    place.do("openssl", "req", "-x509", *key, *subject)
    place.start(
        "superlink",
        [
            str(ENVIRONMENT / "bin" / "flower-superlink"), "--host", "127.0.0.1", "--port", str(place.port),
            "--ssl-ca-certfile", "server.pem", "--ssl-certfile", "server.pem", "--ssl-keyfile", "server.key",
            "--enable-supernode-auth", "--disable-runtime-dependency-installation",
        ],
    )  # fmt: skip
    place.wait_for(lambda: "running on" in (folder / "superlink.log").read_text(), "superlink")
    (folder / "flower").mkdir(exist_ok=True)
    (folder / "flower" / "config.toml").write_text(
        f'[superlink]\ndefault = "{CONNECTION}"\n[superlink.{CONNECTION}]\naddress = "127.0.0.1:{place.port}"\n'
        f'root-certificates = "{place.certificate}"\n'
    )
    try:
        for name in names:
            table(name).to_csv(folder / f"{name}.csv", index=False)
            link = {
                "superlink": f"127.0.0.1:{place.port}",
                "root_certificates": "server.pem",
                "private_key": f"{name}.key",
            }
            declared = silo(
                name, link=link, protection={"epsilon": ALLOWED}, secure_sums={"peers": peers_of(name, folder, names)},
                models={"generator": "bundled:generator" if name == STRONG else None},
            )  # fmt: skip
            (folder / f"{name}.yml").write_text(yaml.safe_dump(declared.model_dump(mode="json")))
            place.do("ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", f"{name}.key")
            place.do(str(ENVIRONMENT / "bin" / "flwr"), "supernode", "register", f"{name}.key.pub", CONNECTION)
        for name in names:
            place.start_silo(name)
        yield place
    finally:
        for name in list(place.running):
            place.end(name, signal.SIGKILL)
