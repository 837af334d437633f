"""What a silo checks before it connects; the connection itself is Flower's (test_flower.py)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from fedtext.silo import supernode
from fedtext.silo.settings import Link
from tests.refusals import refuses

LINK = Link(superlink="127.0.0.1:8000", root_certificates=None, private_key=None)


def connecting(link: Link, beside: Path) -> None:
    supernode.serve(link, beside, lambda message: message)


@pytest.mark.parametrize("installed", [None, "1.43.0"])
def test_another_flower_is_refused(installed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def version(_: str) -> str:
        if installed is None:
            raise metadata.PackageNotFoundError
        return installed

    monkeypatch.setattr(metadata, "version", version)
    with refuses("another-flower", value=installed or "none"):
        connecting(LINK, tmp_path)


def test_only_a_key_of_the_right_kind_is_taken(tmp_path: Path) -> None:
    for kind in ("ecdsa", "ed25519"):
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(tmp_path / kind)], check=True)
    private, public = supernode._keys(tmp_path / "ecdsa")
    assert public.public_numbers() == private.public_key().public_numbers()
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "words", "-f", str(tmp_path / "locked")], check=True)
    (tmp_path / "none").write_text("no key")
    for other in ("ed25519", "locked", "none"):
        with refuses("silo-key-of-other-kind", parameter="link.private_key"):
            supernode._keys(tmp_path / other)


def test_a_missing_certificate_is_named(tmp_path: Path) -> None:
    with refuses("missing-link-file", value=str(tmp_path / "server.pem")):
        supernode._file("server.pem", tmp_path)


@pytest.mark.parametrize("written", [b"no certificate", b"\xff", b""])
def test_what_is_no_certificate_is_named(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "server.pem").write_bytes(written)
    with refuses("silo-certificate-unreadable", value=str(tmp_path / "server.pem")):
        supernode._certificates(tmp_path / "server.pem")


def ending(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Let Flower end the process where it connects."""

    @contextmanager
    def ended(*_: object, **__: object) -> Iterator[None]:
        raise SystemExit(code)
        yield

    flower = ModuleType("flwr.supernode.fleet_http_connection")
    monkeypatch.setattr(flower, "http_request_response", ended, raising=False)
    for name, module in (("flwr", ModuleType("flwr")), ("flwr.supernode", ModuleType("")), (flower.__name__, flower)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(supernode, "_validate_version", lambda: None)


def test_a_silo_that_the_superlink_does_not_take_is_told_why_it_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, 1)
    with refuses("superlink-takes-no-silo", value=LINK.superlink):
        connecting(LINK, tmp_path)


def test_a_silo_that_is_ended_while_it_waits_for_the_superlink_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, 0)
    with pytest.raises(SystemExit) as ended:
        connecting(LINK, tmp_path)
    assert ended.value.code == 0


def test_a_connection_that_is_lost_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    @contextmanager
    def connected(_: Link, __: Path) -> Iterator[tuple[object, ...]]:
        made.append(len(made))

        def receive() -> None:
            if len(made) == 1:
                raise ConnectionError("away")

        yield "node", receive, None, None, None, None

    monkeypatch.setattr(supernode, "_validate_version", lambda: None)
    monkeypatch.setattr(supernode, "_connected", connected)
    monkeypatch.setattr(supernode, "RECONNECT", 0.0)
    monkeypatch.setattr(supernode, "PAUSE", 0.0)
    asked: list[int] = []

    def stopped() -> bool:
        asked.append(0)
        return len(made) > 1 and len(asked) > 5

    supernode.serve(LINK, tmp_path, lambda message: message, stopped)
    assert made == [0, 1]
