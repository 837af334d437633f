"""Public files at addresses: copied once for each content, and never with a secret in a message."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import pandas as pd
import pytest

from fedtext.corpora.public import public_prompts
from fedtext.corpora.table import read_public_table, read_table
from fedtext.params.corpus import Corpus
from fedtext.resuming.fingerprint import local_paths
from fedtext.system import remote_files
from fedtext.system.remote_files import is_address, known_copy, local_path, shown
from tests.parameters import conf_base
from tests.refusals import refuses

ASKED = "corpus.public_path"


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(remote_files, "_copies", {})
    monkeypatch.setattr(remote_files.platformdirs, "user_cache_path", lambda _: tmp_path / "cache")
    yield
    files = fsspec.filesystem("memory")
    files.store.clear()


def stored(path: str, content: bytes) -> str:
    """The address of a file in memory."""
    fsspec.filesystem("memory").pipe_file(f"/{path}", content)
    return f"memory://{path}"


def corpus(**told: object) -> Corpus:
    return conf_base(Corpus, source="table", **told)


@pytest.mark.parametrize("name", ["s3://b/x.csv", "memory://x", "https://h/x.csv", "S3://b"])
def test_an_address_is_no_path(name: str) -> None:
    assert is_address(name)


@pytest.mark.parametrize("name", ["x.csv", "/a/b", "C:/x", "a:b", "~/x", "endpoint:m@http://h/v1"])
def test_a_path_is_no_address(name: str) -> None:
    assert not is_address(name)
    assert local_path(name, ASKED) == name


def test_a_table_at_an_address_is_read_as_a_file_is(tmp_path: Path) -> None:
    address = stored("bucket/texts.csv", b"text,label\none text,a\nanother text,b\n")
    table = read_public_table(corpus(public_path=address))
    assert table["text"].tolist() == ["one text", "another text"]
    (tmp_path / "texts.csv").write_bytes(b"text,label\none text,a\nanother text,b\n")
    pd.testing.assert_frame_equal(table, read_public_table(corpus(public_path=str(tmp_path / "texts.csv"))))
    local = f"file://{tmp_path / 'texts.csv'}"
    assert known_copy(local) == tmp_path / "texts.csv", "a file of this machine is not copied, and is known at once"
    pd.testing.assert_frame_equal(table, read_public_table(corpus(public_path=local)))
    assert len(public_prompts(corpus(public_path=address), 5, 0)) == 2


def test_a_folder_of_parts_at_an_address_is_one_table(tmp_path: Path) -> None:
    for number, text in enumerate(("first", "second")):
        part = tmp_path / "part.parquet"
        pd.DataFrame({"text": [f"the {text} text"]}).to_parquet(part)
        stored(f"bucket/parts/{number}.parquet", part.read_bytes())
    table = read_public_table(corpus(public_path="memory://bucket/parts"))
    assert table["text"].tolist() == ["the first text", "the second text"]


def test_a_copy_is_made_once_a_content_and_a_result_depends_on_it() -> None:
    address = stored("texts.csv", b"text\none\n")
    first = local_path(address, ASKED)
    assert Path(first).name == "texts.csv"
    fsspec.filesystem("memory").rm("/texts.csv")
    assert local_path(address, ASKED) == first, "a node without a network finds the copy"
    assert local_paths({"public_path": address}) == [Path(first)]
    remote_files._copies.clear()
    assert local_paths({"public_path": address}) == []
    stored("texts.csv", b"text\nother\n")
    assert local_path(address, ASKED) != first
    assert Path(local_path(address, ASKED)).read_bytes() == b"text\nother\n"


def test_of_two_runs_at_once_one_copies_and_the_other_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    address, copied = stored("texts.csv", b"text\none\n"), []
    files = type(fsspec.filesystem("memory"))
    get = files.get_file

    def slow(self: object, path: str, place: str) -> None:
        copied.append(path)
        time.sleep(0.3)
        get(self, path, place)

    monkeypatch.setattr(files, "get_file", slow)
    with ThreadPoolExecutor(2) as runs:
        found = set(runs.map(lambda _: remote_files._copied(address, ASKED), range(2)))
    assert len(copied) == 1
    assert [one.read_bytes() for one in found] == [b"text\none\n"]


class Quiet(SimpleHTTPRequestHandler):
    """A web server that says nothing in the log."""

    def log_message(self, *_: object) -> None:
        pass


class Untelling(Quiet):
    """One that does not tell when a file was changed."""

    def send_header(self, keyword: str, value: str) -> None:
        if keyword != "Last-Modified":
            super().send_header(keyword, value)


@pytest.mark.parametrize("kind", [Quiet, Untelling])
def test_a_file_of_a_web_server_is_copied_again_when_it_has_changed(tmp_path: Path, kind: type[Quiet]) -> None:
    place = tmp_path / "texts.csv"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(kind, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for at, text in enumerate(("one", "two")):
            place.write_text(text)
            os.utime(place, (at, at))
            remote_files._copies.clear()
            assert Path(local_path(f"http://127.0.0.1:{server.server_port}/texts.csv", ASKED)).read_text() == text
        server.shutdown()


def test_what_is_wrong_with_an_address_is_one_sentence() -> None:
    with refuses("nothing-at-address", parameter=ASKED):
        local_path("memory://nowhere.csv", ASKED)
    with refuses("unknown-file-system", parameter=ASKED, value="nosuch"):
        local_path("nosuch://a/b.csv", ASKED)
    for secret in ("s3://me:secret@bucket/x.csv", "https://host/x.csv?token=secret"):
        with refuses("address-holds-a-secret") as refused:
            local_path(secret, ASKED)
        assert "secret" not in str(refused.value).replace("holds more than a place", "")
    assert shown("s3://me:secret@bucket/x?key=1") == "s3://bucket/x"


def test_a_private_table_lies_on_this_machine() -> None:
    address = stored("mine.csv", b"text\none\n")
    with refuses("private-table-at-address", parameter="corpus.path"):
        read_table(corpus(path=address))
