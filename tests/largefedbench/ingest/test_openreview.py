from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from fedtext.largefedbench.ingest.errors import RefusedError, UnusableAnswerError
from tests.largefedbench.ingest import shapes
from tests.largefedbench.ingest.conftest import ENVIRONMENT
from tests.refusals import refuses

Pull = Callable[..., dict[str, Any]]
URL = "https://api.openreview.net/notes"
USER = {**ENVIRONMENT, "OPENREVIEW_USERNAME": "ada@example.org", "OPENREVIEW_PASSWORD": "hush"}


def serve(router: respx.MockRouter, *answers: bytes) -> respx.Route:
    return router.get(URL).mock(side_effect=[httpx.Response(200, content=body) for body in answers])


def done(root: Path) -> dict[str, Any]:
    directory = root / "openreview" / "ICLR.cc-2023-Conference-Blind_Submission"
    note: dict[str, Any] = json.loads((directory / "_done.json").read_text("utf-8"))
    return note


def test_notes_page_by_page(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    route = serve(respx_mock, shapes.notes(["a", "b"], "3"), shapes.notes(["c"], 3))
    pull_week("openreview")
    asked = [call.request.url.params for call in route.calls]
    assert [params["offset"] for params in asked] == ["0", "2"]
    assert asked[0]["invitation"] == "ICLR.cc/2023/Conference/-/Blind_Submission"
    assert asked[0]["details"] == "directReplies"
    assert (done(tmp_path)["records"], done(tmp_path)["notes"]) == (3, {"reviews": 3})


@pytest.mark.parametrize(
    "bad",
    [
        shapes.HTML_ERROR,
        b'{"name": "Error", "message": "down"}',
        shapes.notes(["a"], "lots"),
        shapes.notes(["a", "a"], 2),
    ],
)
def test_an_error_body_is_asked_for_again(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path, bad: bytes
) -> None:
    serve(respx_mock, bad, shapes.notes(["a"], 1))
    pull_week("openreview")
    assert done(tmp_path)["records"] == 1


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (shapes.notes(["b"], 3), "openreview-note-repeated"),
        (shapes.notes(["c"], 4), "openreview-total-changed"),
        (shapes.notes([], 3), "window-incomplete"),
    ],
)
def test_pages_that_do_not_fit_are_refused(
    respx_mock: respx.MockRouter, pull_week: Pull, second: bytes, code: str
) -> None:
    serve(respx_mock, *[shapes.notes(["a", "b"], 3), second] * 3)
    with refuses(code):
        pull_week("openreview")


def test_venues_of_api_v2(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    review = {"id": "r", "invitations": ["ICLR.cc/2024/Conference/Submission1/-/Official_Review"], "content": {}}
    note = {"id": "a", "forum": "a", "content": {"title": {"value": "T"}}, "details": {"directReplies": [review]}}
    route = respx_mock.get("https://api2.openreview.net/notes")
    route.mock(return_value=httpx.Response(200, content=shapes.as_json({"notes": [note], "count": 1})))
    login = respx_mock.post("https://api2.openreview.net/login")
    login.mock(return_value=httpx.Response(200, json={"token": "abc"}))
    venues = {"invitations": "", "invitations_v2": "ICLR.cc/2024/Conference/-/Submission"}
    pull_week("openreview", openreview=venues, environment=USER)
    assert login.call_count == 1
    assert route.calls.last.request.headers["Authorization"] == "Bearer abc"
    directory = tmp_path / "openreview" / "ICLR.cc-2024-Conference-Submission"
    assert json.loads((directory / "_done.json").read_text("utf-8"))["notes"] == {"reviews": 1}


def test_signing_in_once(respx_mock: respx.MockRouter, pull_week: Pull) -> None:
    login = respx_mock.post("https://api.openreview.net/login")
    login.mock(return_value=httpx.Response(200, json={"token": "abc"}))
    route = serve(respx_mock, shapes.notes(["a"], 2), shapes.notes(["b"], 2))
    pull_week("openreview", environment=USER)
    assert json.loads(login.calls.last.request.content) == {"id": "ada@example.org", "password": "hush"}
    assert login.call_count == 1
    assert {call.request.headers["Authorization"] for call in route.calls} == {"Bearer abc"}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(200, json={"mfaPending": True}), UnusableAnswerError),
        (httpx.Response(400, json={"message": "Invalid username or password"}), UnusableAnswerError),
        (httpx.Response(403), RefusedError),
        (httpx.Response(404), RefusedError),
        (httpx.Response(307, headers={"Location": "https://evil.example/login"}), UnusableAnswerError),
    ],
)
def test_a_failed_login_repeats_nothing_secret(
    respx_mock: respx.MockRouter, pull_week: Pull, answer: httpx.Response, error: type[Exception]
) -> None:
    login = respx_mock.post("https://api.openreview.net/login").mock(return_value=answer)
    with pytest.raises(error) as raised:
        pull_week("openreview", environment=USER)
    assert "hush" not in str(raised.value)
    assert login.call_count == 1


def test_a_user_needs_a_password(pull_week: Pull) -> None:
    with refuses("key-not-set", parameter="OPENREVIEW_PASSWORD"):
        pull_week("openreview", environment={**ENVIRONMENT, "OPENREVIEW_USERNAME": "ada@example.org"})
