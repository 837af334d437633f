"""A real PostgreSQL server for a test: started below the system's temporary folder, and stopped when the test ends.

As root the server refuses to run; then it runs as the user `postgres`, if there is one.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "correct-horse-battery"  # of every role: a test looks for it where it must not be
OWNER = "owner"


@dataclass(frozen=True)
class Server:
    """A running server, for TCP on this machine."""

    port: int

    def address(self, database: str = "postgres", user: str = OWNER, port: int | None = None) -> str:
        """The address of one of its databases, without a password and without encryption."""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}?sslmode=disable"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """What a statement of the owner's returns."""
        import psycopg

        with psycopg.connect(
            self.address(database), password=PASSWORD, autocommit=True, client_encoding="utf8"
        ) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []


def programs() -> Path:
    """The folder of the server's programs; the test is skipped where there is none, or nobody to run them."""
    pytest.importorskip("psycopg", reason="the driver is an extra: pip install 'fedtext[postgresql]'")
    found = shutil.which("initdb")
    if found is None or shutil.which("postgres") is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    if os.geteuid() == 0 and _unprivileged() is None:
        pytest.skip("PostgreSQL does not run as root, and there is no user 'postgres'")
    return Path(found).parent


@contextmanager
def running() -> Iterator[Server]:
    """Yield a fresh server."""
    folder, user = programs(), _unprivileged() if os.geteuid() == 0 else None
    # not a test's own folder: only its user may enter that, and a socket's path is short
    with tempfile.TemporaryDirectory(prefix="fedtext-pg-", dir="/tmp", ignore_cleanup_errors=True) as place:
        root = Path(place)
        (root / "password").write_text(PASSWORD)
        if user is not None:
            for path in (root, root / "password"):
                os.chown(path, user.pw_uid, user.pw_gid)
        own: dict[str, Any] = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        own |= {"cwd": place, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}}
        made = ["-D", f"{place}/data", "-U", OWNER, "-A", "scram-sha-256", "--pwfile", f"{place}/password", "--no-sync"]
        subprocess.run([folder / "initdb", *made], check=True, capture_output=True, **own)
        port = _free_port()
        settings = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": place, "fsync": "off"}
        told = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (root / "log").open("wb") as log:
            server = subprocess.Popen(
                [folder / "postgres", "-D", f"{place}/data", *told], stdout=log, stderr=log, **own
            )
        try:
            _wait(server, Server(port), root / "log")
            yield Server(port)
        finally:
            server.send_signal(signal.SIGINT)  # a fast shutdown: it waits for nobody
            with suppress(subprocess.TimeoutExpired):
                server.wait(10)
            server.kill()
            server.wait()


def _unprivileged() -> pwd.struct_passwd | None:
    with suppress(KeyError):
        return pwd.getpwnam("postgres")
    return None


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(server: subprocess.Popen[bytes], started: Server, log: Path) -> None:
    import psycopg

    until = time.monotonic() + 120
    while True:
        try:
            started.execute("SELECT 1")
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                raise AssertionError(log.read_text(errors="replace")) from None
            time.sleep(0.1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that the tests of a file share."""
    with running() as server:
        yield server


@pytest.fixture
def team_database(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty database of its own, whose password libpq finds in the environment.

    Its defaults are those under which a charge could be missed or lost.
    """
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    name = f"team_{secrets.token_hex(6)}"
    postgres.execute(f"CREATE DATABASE {name}")
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
    postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    return postgres.address(name)


class Cutting:
    """A cable to the server that is cut when a statement passes: before it arrives, or when it has been answered."""

    def __init__(self, port: int, statement: bytes, *, arrives: bool) -> None:
        self._port, self._statement, self._arrives = port, statement, arrives
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port, self.cut = self._listening.getsockname()[1], threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, suppress(OSError):
            while sent := client.recv(1 << 16):
                if self._statement in sent:
                    self.cut.set()
                    if self._arrives:
                        server.sendall(sent)
                        time.sleep(0.5)  # it is carried out, and the answer is not passed on
                    for end in (client, server):
                        end.shutdown(socket.SHUT_RDWR)
                    return
                server.sendall(sent)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while (answer := server.recv(1 << 16)) and not self.cut.is_set():
                client.sendall(answer)
            client.shutdown(socket.SHUT_RDWR)
