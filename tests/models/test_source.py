from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import numpy as np
import pytest
from safetensors.numpy import save_file

from fedtext.models import source as model_source
from fedtext.models.source import (
    Place,
    check_model_files,
    check_tokenizer_files,
    context_of,
    find_model,
    model_identity,
    unreadable,
    weight_files,
)
from tests.refusals import refuses

COMMIT, CACHED = "c0ffee", "cac4ed"


class Hub:
    """Stands where huggingface_hub.HfApi does."""

    error: Exception | None = None

    def model_info(self, source: str, revision: str, timeout: float) -> SimpleNamespace:
        assert timeout <= 30
        if self.error is not None:
            raise self.error
        return SimpleNamespace(sha=COMMIT if revision == "main" else revision)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """The hub answers, and its cache holds the configuration of `owner/cached`."""
    config = tmp_path / CACHED / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({}))
    held = {"owner/cached": str(config)}
    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda source, name, revision: held.get(source))
    monkeypatch.setattr(Hub, "error", None)
    model_source._on_hub.cache_clear()
    yield Hub
    model_source._on_hub.cache_clear()


def find(source: str) -> Place:
    return find_model(source, "encoder", "'offline'")


def test_a_directory_is_itself(tmp_path, hub):
    hub.error = AssertionError("a directory needs no hub")
    assert find(str(tmp_path)) == Place(str(tmp_path), local=True)


def test_a_home_directory_is_expanded(tmp_path, hub, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "model").mkdir()
    assert find("~/model") == Place(str(tmp_path / "model"), local=True)


def test_a_model_on_the_hub_is_read_from_there(hub):
    assert find("owner/name") == Place("owner/name", local=False, commit=COMMIT)
    assert find("owner/name@v1") == Place("owner/name", local=False, revision="v1", commit="v1")
    assert model_identity("owner/name", "encoder", "'offline'") == f"owner/name@{COMMIT}"


def test_the_hub_is_asked_once(hub):
    found = find("owner/name")
    hub.error = AssertionError("asked twice")
    assert find("owner/name") == found


def test_without_a_network_the_cache_is_read_and_nothing_else(hub):
    hub.error = ConnectionError("Name or service not known")
    assert find("owner/cached") == Place("owner/cached", local=True, commit=CACHED)
    with refuses("model-unreadable", value="owner/name"):
        find("owner/name")


def test_a_name_the_hub_does_not_know_is_refused_even_when_cached(hub):
    from huggingface_hub.errors import RepositoryNotFoundError

    hub.error = RepositoryNotFoundError.__new__(RepositoryNotFoundError)
    Exception.__init__(hub.error, "404 Client Error. Repository Not Found")
    with refuses("model-unreadable"):
        find("owner/cached")


def test_a_revision_the_hub_does_not_know_is_refused_even_when_cached(hub):
    from huggingface_hub.errors import RevisionNotFoundError

    hub.error = RevisionNotFoundError.__new__(RevisionNotFoundError)
    Exception.__init__(hub.error, "404 Client Error. Revision Not Found")
    with refuses("model-unreadable"):
        find("owner/cached@v9")


def test_a_malformed_name_is_refused(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with refuses("model-unreadable"):
        find("a/b/c/d")


@pytest.mark.parametrize("source", ["/nowhere/x", "./nowhere", "../nowhere", "~/nowhere-at-all"])
def test_a_missing_directory_is_not_asked_of_the_hub(source, hub):
    hub.error = AssertionError("a path needs no hub")
    with refuses("no-model-directory", value=source):
        find(source)


def shards(directory: Path) -> Path:
    """A model in two files, with the index that names them."""
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    for number, name in enumerate(names):
        save_file({f"weight{number}": np.zeros(3, np.float32)}, directory / name)
    told = {"weight_map": {f"weight{number}": name for number, name in enumerate(names)}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(told))
    (directory / "config.json").write_text("{}")
    (directory / "tokenizer.json").write_text("{}")
    return directory / names[1]


def test_a_file_that_the_index_names_must_be_there(tmp_path: Path) -> None:
    last = shards(tmp_path)
    check_model_files(str(tmp_path), "language model", "'offline'")
    last.unlink()
    with refuses("model-unreadable") as refused:
        check_model_files(str(tmp_path), "language model", "'offline'")
    assert last.name in str(refused.value)


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "tokenizer.json", "model-00002-of-00002.safetensors"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n", "pointer of Git LFS"),
        (b"[" * 100_000, "damaged"),
        (b"5", "damaged"),
    ],
    ids=["pointer", "nested", "number"],
)
def test_a_pointer_and_a_damaged_file_are_named(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    shards(tmp_path)
    (tmp_path / name).write_bytes(content)
    with refuses("model-unreadable") as refused:
        check_model_files(str(tmp_path), "language model", "'offline'")
    assert f"{name} is " in str(refused.value)
    assert told in str(refused.value)


def test_a_tokenizer_alone_may_be_no_pointer_either(tmp_path: Path) -> None:
    shards(tmp_path)
    check_tokenizer_files(str(tmp_path), "tokenizer", "'offline'")
    (tmp_path / "tokenizer.json").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with refuses("model-unreadable") as refused:
        check_tokenizer_files(str(tmp_path), "tokenizer", "'offline'")
    assert "tokenizer.json is a pointer of Git LFS" in str(refused.value)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model-00002-of-00002.safetensors"])
@pytest.mark.parametrize("folder", [True, False])
def test_what_has_a_file_s_name_alone_is_named(tmp_path: Path, name: str, folder: bool) -> None:
    """As in a copy of the hub's cache, where files are links to others."""
    shards(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir() if folder else (tmp_path / name).symlink_to(tmp_path / "blobs" / name)
    with refuses("model-unreadable") as refused:
        check_model_files(str(tmp_path), "language model", "'offline'")
    assert f"{name} is a folder, or a link" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors.index.json", b'{"weight_map": ["weight1"]}'),
        ("model.safetensors.index.json", b'{"weight_map": {"weight1": 3}}'),
        ("modules.json", b'{"path": ""}'),
        ("modules.json", b"["),
        ("sentence_bert_config.json", b"{"),
        ("generation_config.json", b"[]"),
        ("config.json", b"\xef\xbb\xbf{}"),
        ("config.json", "{}".encode("utf-16")),
    ],
)
def test_a_file_of_another_form_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    shards(tmp_path)
    (tmp_path / name).write_bytes(content)
    with refuses("model-unreadable") as refused:
        check_model_files(str(tmp_path), "language model", "'offline'")
    assert f"{name} is cut short or damaged" in str(refused.value)


def test_a_limit_that_is_no_number_of_tokens_is_none(tmp_path: Path) -> None:
    for told, limit in (({"n_positions": 9}, 9), ({"max_position_embeddings": -1}, None), ({"n_positions": "9"}, None)):
        (tmp_path / "config.json").write_text(json.dumps(told))
        assert context_of(str(tmp_path), "language model", "'offline'") == limit


def test_weights_of_other_programs_are_not_the_model_s(tmp_path: Path) -> None:
    shards(tmp_path)
    for name in ("consolidated.safetensors", "original/model.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"not ours")
    assert len(weight_files(tmp_path)) == 2
    check_model_files(str(tmp_path), "language model", "'offline'")


def test_the_first_line_of_a_library_error_is_the_reason():
    error = unreadable("m", "encoder", "'offline'", ValueError("\n  bad config\nlong story"))
    assert "encoder 'm' cannot be read: bad config. Check" in str(error)
    assert "long story" not in str(error)
    field = unreadable("m", "encoder", "'offline'", ValueError("Error for field 'vocab_size':\n  int expected\nmore"))
    assert "cannot be read: Error for field 'vocab_size': int expected. Check" in str(field)
