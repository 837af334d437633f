"""What a silo checks before it connects; the connection itself is Flower's (test_flower.py)."""

from __future__ import annotations

import subprocess
from pathlib import Path

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
    (tmp_path / "none").write_text("no key")
    for other in ("ed25519", "none"):
        with refuses("silo-key-of-other-kind", parameter="link.private_key"):
            supernode._keys(tmp_path / other)


def test_a_missing_certificate_is_named(tmp_path: Path) -> None:
    with refuses("missing-link-file", value=str(tmp_path / "server.pem")):
        supernode._file("server.pem", tmp_path)
