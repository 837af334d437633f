"""The way to silos through Flower: each message is one run of a small app beside the SuperLink.

Flower's command line (`flwr`) and its SuperLink have an environment of their own, for their requirements contradict
fedtext's. This process starts `flwr run`, and app and process exchange files in one folder: so the SuperLink runs on
the machine where this process runs. The silos are anywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from fedtext.system.errors import FedtextError, MissingFileError
from fedtext.system.folders import make_own_folder

CONNECTION = "fedtext"
BEGIN = 120.0  # seconds for Flower's command
WAIT = 120.0  # seconds for the SuperLink to start the app
PAUSE = 0.2


class FlowerError(FedtextError, RuntimeError):
    """A SuperLink that is not there, or does not run the app."""


@dataclass(frozen=True)
class FlowerTransport:
    """Carries messages to the silos that are connected to a SuperLink (fedtext.federation.silos_asked.Transport).

    Attributes:
        superlink: Its address, as 127.0.0.1:8000.
        flwr: Flower's command line, a path or a name on the PATH.
        root_certificates: The certificate of the SuperLink's authority; None: the connection is not encrypted.
        folder: Where messages lie on their way.
        patience: Seconds for all silos to be there and to reply.
    """

    superlink: str
    flwr: str
    root_certificates: Path | None
    folder: Path
    patience: float

    def ask(self, message: bytes, wanted: int) -> Sequence[bytes]:
        """Implement Transport.

        Raises:
            RuntimeError: the SuperLink cannot be reached, or its app fails.
            OSError: Flower's command line or the certificate is not there.
        """
        place = self._new_place(hashlib.sha256(message).hexdigest()[:16])
        (place / "message").write_bytes(message)
        self._start(place, wanted)
        said = self._end_of(place)
        replies = [(place / f"reply-{number}").read_bytes() for number in range(said["replies"])]
        shutil.rmtree(place)
        return replies

    def _new_place(self, asked: str) -> Path:
        """Return a folder of one's own for a message: the app of a run that was killed may yet write to its own."""
        for old in (self.folder / "asked").glob(f"{asked}*"):
            shutil.rmtree(old, ignore_errors=True)
        place = self.folder / "asked" / f"{asked}-{secrets.token_hex(4)}"
        make_own_folder(place)
        return place

    def _start(self, place: Path, wanted: int) -> None:
        home = self.folder / "home"
        make_own_folder(home)
        (home / "config.toml").write_text(self._connection(), "utf-8")
        config = f"place={json.dumps(str(place))} wanted={wanted} patience={self.patience}"
        with as_file(files("fedtext.federation") / "flower_relay") as app:
            command = [self._command(), "run", str(app), CONNECTION, "--run-config", config, "--format", "json"]
            fault = _fault_of(command, _environment(home))
        if fault is not None:
            raise FlowerError(
                f"the SuperLink at {self.superlink} (federation.superlink) took no run ({fault[:300]}): start it on "
                "this machine, as docs/silos.md shows, with a certificate that is valid now and that "
                "federation.root_certificates is or has signed, and run the same command again",
                code="superlink-takes-no-run",
                parameter="federation.superlink",
                value=self.superlink,
            )

    def _end_of(self, place: Path) -> Mapping[str, Any]:
        """Wait for the app's last word."""
        end = time.monotonic() + WAIT + self.patience
        while not (place / "end.json").exists():
            if time.monotonic() > end:
                raise FlowerError(
                    f"the SuperLink at {self.superlink} did not run the app within {WAIT + self.patience:.0f} s: look "
                    f"at its log; it must run on this machine as the same user, and see {self.folder.parent} (TMPDIR)",
                    code="superlink-silent",
                    parameter="federation.superlink",
                    value=self.superlink,
                )
            time.sleep(PAUSE)
        said: dict[str, Any] = json.loads((place / "end.json").read_text("utf-8"))
        if "failed" in said:
            raise FlowerError(
                f"the app of Flower failed ({said['failed'][:300]}): look at the SuperLink's log, and run the same "
                "command again",
                code="relay-failed",
                value=self.superlink,
            )
        return said

    def _connection(self) -> str:
        certificate = self.root_certificates
        if certificate is not None and not certificate.is_file():
            raise MissingFileError(
                f"federation.root_certificates {certificate} is not a file: name the certificate that the SuperLink "
                "was started with (--ssl-ca-certfile), or leave it unset for one without encryption",
                code="root-certificates-missing",
                parameter="federation.root_certificates",
                value=str(certificate),
            )
        how = "insecure = true" if certificate is None else f"root-certificates = {json.dumps(str(certificate))}"
        return (
            f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
            f"address = {json.dumps(self.superlink)}\n{how}\n"
        )

    def _command(self) -> str:
        found = shutil.which(str(Path(self.flwr).expanduser()))
        if found is None:
            raise MissingFileError(
                f"federation.flwr is {self.flwr!r}, and there is no such command: install Flower in an environment of "
                "its own (constraints-flower.txt) and give the path of its `flwr`",
                code="flwr-missing",
                parameter="federation.flwr",
                value=self.flwr,
            )
        return found


def _fault_of(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Do Flower's command and return what it says is wrong; None if the run was taken."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=BEGIN)
    except subprocess.TimeoutExpired:
        return f"no reply within {BEGIN:.0f} s"
    try:
        said = json.loads(done.stdout[done.stdout.index("{") :])
        return None if said["success"] else " ".join(str(said["error-message"]).split())
    except (ValueError, KeyError, TypeError):
        return " ".join((done.stdout + done.stderr).split()) or f"flwr ended with {done.returncode}"


def _environment(home: Path) -> dict[str, str]:
    """Return the environment of Flower's command: no telemetry, no search for updates, and none of this project's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KEDRO", "FEDTEXT"))}
    return kept | {"FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
