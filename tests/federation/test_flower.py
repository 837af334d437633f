"""The way through Flower, with a command in place of Flower's: what it is told, and what each of its failures says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fedtext.federation import flower
from fedtext.federation.flower import FlowerTransport
from tests.refusals import refuses

TAKEN = '{"success": true, "run-id": "1"}'


def transport(folder: Path, script: str, *, certificate: Path | None = None, patience: float = 5.0) -> FlowerTransport:
    """One whose command is a Python script with `arguments`, `config` and `place` at hand."""
    command = folder / "flwr"
    head = (
        f"#!{sys.executable}\nimport json, os, re, sys\nfrom pathlib import Path\narguments = sys.argv[1:]\n"
        "config = arguments[arguments.index('--run-config') + 1]\n"
        "place = Path(json.loads(re.search(r'place=(\".*?\") ', config)[1]))\n"
    )
    command.write_text(head + script)
    command.chmod(0o700)
    return FlowerTransport("127.0.0.1:8000", str(command), certificate, folder / "own", patience)


ECHO = f"""
message = (place / "message").read_bytes()
for number in range(2):
    (place / f"reply-{{number}}").write_bytes(message + bytes([number]))
(place / "end.json").write_text('{{"replies": 2}}')
(Path(__file__).parent / "seen").write_text(json.dumps([arguments, dict(os.environ)]))
print("Loading project configuration...")
print('{TAKEN}')
"""


def test_bytes_go_and_come_back_and_nothing_is_left_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    assert transport(tmp_path, ECHO).ask(b"\x00who", 3) == [b"\x00who\x00", b"\x00who\x01"]
    assert not list((tmp_path / "own" / "asked").iterdir())
    arguments, environment = json.loads((tmp_path / "seen").read_text())
    assert arguments[0] == "run"
    assert (Path(arguments[1]) / "relay.py").exists()
    assert "wanted=3" in arguments[4]
    assert environment["FLWR_TELEMETRY_ENABLED"] == "0"
    assert "PYTHONPATH" not in environment


@pytest.mark.parametrize("encrypted", [True, False])
def test_the_connection_is_encrypted_where_there_is_a_certificate(tmp_path: Path, encrypted: bool) -> None:
    certificate = tmp_path / 'ser"ver.pem' if encrypted else None
    if certificate is not None:
        certificate.touch()
    transport(tmp_path, ECHO, certificate=certificate).ask(b"who", 1)
    told = (tmp_path / "own" / "home" / "config.toml").read_text()
    assert ("insecure = true" in told) is not encrypted
    assert (r"ser\"ver.pem" in told) is encrypted


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refuses("root-certificates-missing", parameter="federation.root_certificates"):
        transport(tmp_path, ECHO, certificate=tmp_path / "server.pem").ask(b"who", 1)


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = FlowerTransport("127.0.0.1:8000", str(tmp_path / "none"), None, tmp_path / "own", 1.0)
    with refuses("flwr-missing", parameter="federation.flwr"):
        missing.ask(b"who", 1)


FAULTS = {
    "in JSON": """print(json.dumps({"success": False, "error-message": "cannot\\n connect"}))""",
    "in words": """print("cannot"); print(" connect", file=sys.stderr); sys.exit(2)""",
}


@pytest.mark.parametrize("script", FAULTS.values(), ids=FAULTS)
def test_a_superlink_that_takes_no_run_is_told_in_flower_s_words(tmp_path: Path, script: str) -> None:
    with refuses("superlink-takes-no-run", parameter="federation.superlink") as raised:
        transport(tmp_path, script).ask(b"who", 1)
    assert "(cannot connect)" in str(raised.value)


def test_an_app_that_fails_or_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = """(place / "end.json").write_text('{"failed": "OSError: no"}'); print('""" + TAKEN + "')"
    with refuses("relay-failed"):
        transport(tmp_path, failed).ask(b"who", 1)
    monkeypatch.setattr(flower, "WAIT", 0.5)
    with refuses("superlink-silent", parameter="federation.superlink"):
        transport(tmp_path, f"print('{TAKEN}')", patience=0.1).ask(b"who", 1)


def test_what_the_app_of_a_killed_run_still_writes_is_no_reply_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was killed while a silo was missing: that no other replied is not the end of the same question again."""
    late = f"""
first = Path(__file__).parent / "first"
if not first.exists():
    first.write_text(str(place)); sys.exit(1)
place = Path(first.read_text())
place.mkdir(parents=True, exist_ok=True)
(place / "end.json").write_text('{{"replies": 0}}')
print('{TAKEN}')
"""
    with refuses("superlink-takes-no-run"):
        transport(tmp_path, late).ask(b"who", 2)
    monkeypatch.setattr(flower, "WAIT", 0.5)
    with refuses("superlink-silent"):
        transport(tmp_path, late, patience=0.1).ask(b"who", 2)
    assert transport(tmp_path, ECHO).ask(b"who", 2) == [b"who\x00", b"who\x01"]
    assert not list((tmp_path / "own" / "asked").iterdir())


def test_a_command_that_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flower, "BEGIN", 0.2)
    with refuses("superlink-takes-no-run") as raised:
        transport(tmp_path, "import time; time.sleep(20)").ask(b"who", 1)
    assert "(no reply within 0 s)" in str(raised.value)
