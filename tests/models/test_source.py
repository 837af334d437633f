from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest

from fedtext.models import source as model_source
from fedtext.models.source import Place, find_model, model_identity, unreadable
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


def test_the_first_line_of_a_library_error_is_the_reason():
    error = unreadable("m", "encoder", "'offline'", ValueError("\n  bad config\nlong story"))
    assert "encoder 'm' cannot be read: bad config. Check" in str(error)
    assert "long story" not in str(error)
