from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from fedtext.largefedbench.ingest import credentials
from fedtext.largefedbench.ingest.errors import IngestError
from fedtext.largefedbench.ingest.pull import pull
from fedtext.params.ingest import Ingest
from tests.largefedbench.ingest import shapes
from tests.largefedbench.ingest.conftest import CONTACT
from tests.largefedbench.ingest.local_server import local_sources, parameters
from tests.parameters import conf_base
from tests.refusals import refuses

SECRETS = {
    "FEDTEXT_CONTACT": CONTACT, "GOVINFO_API_KEY": "govinfo-0a1b2c", "NCBI_API_KEY": "ncbi-3d4e5f",
    "OPENREVIEW_USERNAME": "reviewer@example.org", "OPENREVIEW_PASSWORD": "pass-6a7b8c",
}  # fmt: skip
HIDDEN = [value for name, value in SECRETS.items() if name != "FEDTEXT_CONTACT"] + ["token-9d0e1f"]


def every_source(router: respx.MockRouter, *, fail: bool) -> None:
    """Servers that answer well, or accept the key and then break down."""
    bad = httpx.Response(500, content=b"broken")
    day = "2024-03-18"

    def answer(content: bytes) -> httpx.Response:
        return bad if fail else httpx.Response(200, content=content)

    router.get(url__regex=r"https://api\.govinfo\.gov/published/.*").mock(
        return_value=answer(shapes.packages([f"CREC-{day}"]))
    )
    router.get(url__regex=r"https://www\.govinfo\.gov/.*").mock(return_value=answer(shapes.crec(day)))
    router.post(url__regex=r".*/esearch\.fcgi").mock(return_value=answer(shapes.search([1, 2])))
    router.post(url__regex=r".*/efetch\.fcgi").mock(return_value=answer(shapes.articles([1, 2])))
    router.post("https://api.openreview.net/login").mock(
        return_value=httpx.Response(200, json={"token": "token-9d0e1f"})
    )
    router.get(url__regex=r"https://api\.openreview\.net/notes.*").mock(return_value=answer(shapes.notes(["a"], 1)))


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize("source", ["us", "pubmed", "openreview"])
def test_no_secret_in_urls_logs_files_or_errors(
    respx_mock: respx.MockRouter, pull_week: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture,
    source: str, fail: bool,
) -> None:  # fmt: skip
    respx_mock._assert_all_called = False
    every_source(respx_mock, fail=fail)
    said = ""
    with caplog.at_level(logging.DEBUG):
        if fail:
            with pytest.raises(IngestError) as error:
                pull_week(source, environment=SECRETS)
            said = repr(error.value) + str(error.value)
        else:
            said = str(pull_week(source, environment=SECRETS))
    said += caplog.text + "".join(str(call.request.url) for call in respx_mock.calls)
    said += "".join(path.read_bytes().decode("latin-1") + path.name for path in tmp_path.rglob("*") if path.is_file())
    assert [secret for secret in HIDDEN if secret in said] == []
    sent = "".join(f"{call.request.headers.raw}{call.request.content!r}" for call in respx_mock.calls)
    expected = {"us": ["govinfo-0a1b2c"], "pubmed": ["ncbi-3d4e5f"], "openreview": ["pass-6a7b8c", "token-9d0e1f"]}
    assert all(secret in sent for secret in expected[source])  # they did reach the server


def test_no_secret_in_what_the_http_libraries_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Over real connections, where httpx and httpcore log every step."""
    with local_sources() as server, caplog.at_level(logging.DEBUG):
        for source in ("us", "pubmed"):
            values = {**parameters(server.base), "source": source, "raw_dir": str(tmp_path), "to_date": "2024-01-02"}
            assert pull(conf_base(Ingest, values), environment=SECRETS)["records"] == 3
    logged = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "/api/published/" in logged  # they did log
    assert [secret for secret in HIDDEN if secret in logged] == []


def test_the_content_server_never_sees_the_key(respx_mock: respx.MockRouter, pull_week: Callable[..., Any]) -> None:
    respx_mock._assert_all_called = False
    every_source(respx_mock, fail=False)
    pull_week("us", environment=SECRETS)
    with_key = [call.request.url.host for call in respx_mock.calls if "X-Api-Key" in call.request.headers]
    assert with_key == ["api.govinfo.gov"]


@pytest.mark.parametrize("value", ["", "  ", "a\nb", "é@example.org"])
def test_the_contact_is_one_plain_line(value: str) -> None:
    with refuses("contact-not-set", parameter="FEDTEXT_CONTACT"):
        credentials.contact({"FEDTEXT_CONTACT": value})


def test_a_missing_key_is_named() -> None:
    with refuses("key-not-set", parameter="GOVINFO_API_KEY"):
        credentials.required({}, credentials.GOVINFO_KEY, "us")


def test_a_secret_does_not_show_itself() -> None:
    secret = credentials.required({"GOVINFO_API_KEY": "hush"}, "GOVINFO_API_KEY", "us")
    assert "hush" not in repr(secret) + str(secret) + repr(vars(credentials.HeaderKey("X-Api-Key", secret)))
