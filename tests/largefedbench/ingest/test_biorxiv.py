from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from tests.largefedbench.ingest import shapes
from tests.refusals import refuses

Pull = Callable[..., dict[str, Any]]
BASE = "https://api.biorxiv.org/details/biorxiv/2024-03-18/2024-03-24"
DOIS = [f"10.1101/2024.03.{n:03d}" for n in range(250)]


def serve(router: respx.MockRouter, *answers: bytes | httpx.Response) -> respx.Route:
    """The answers in order, whatever the cursor."""
    responses = [a if isinstance(a, httpx.Response) else httpx.Response(200, content=a) for a in answers]
    return router.get(url__startswith=BASE).mock(side_effect=responses)


def cursors(route: respx.Route) -> list[int]:
    return [int(str(call.request.url).split("/")[-2]) for call in route.calls]


def done(root: Path, server: str = "biorxiv") -> dict[str, Any]:
    note: dict[str, Any] = json.loads((root / server / "2024-W12" / "_done.json").read_text("utf-8"))
    return note


def dois(root: Path) -> list[str]:
    pages = sorted((root / "biorxiv" / "2024-W12").glob("*.json.gz"))
    return [row["doi"] for page in pages for row in json.loads(gzip.decompress(page.read_bytes()))["collection"]]


def test_the_cursor_advances_by_what_came(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    """The page size changes between pages; total and cursor change their type."""
    route = serve(
        respx_mock,
        shapes.preprints(DOIS[:100], 0, "250"),
        shapes.preprints(DOIS[100:130], "100", 250),
        shapes.preprints(DOIS[130:250], 130, "250"),
    )
    report = pull_week("biorxiv")
    assert cursors(route) == [0, 100, 130]
    assert dois(tmp_path) == DOIS
    assert (report["records"], report["pages"], done(tmp_path)["expected"]) == (250, 3, 250)


def test_pages_are_what_was_sent(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    body = shapes.BOM + shapes.preprints(DOIS[:2], 0, 2) + b"\n "
    serve(respx_mock, body)
    pull_week("biorxiv")
    assert gzip.decompress((tmp_path / "biorxiv" / "2024-W12" / "0000.json.gz").read_bytes()) == body


def test_medrxiv_is_the_same_api(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    url = BASE.replace("details/biorxiv", "details/medrxiv") + "/0/json"
    respx_mock.get(url).mock(return_value=httpx.Response(200, content=shapes.preprints(DOIS[:2], "0", "2")))
    pull_week("medrxiv")
    assert done(tmp_path, "medrxiv")["query"]["server"] == "medrxiv"


@pytest.mark.parametrize(
    "bad",
    [
        shapes.HTML_ERROR,
        shapes.as_json({"messages": [{"status": "error: database is down"}], "collection": []}),
        shapes.as_json({"messages": [], "collection": []}),
        shapes.as_json({"messages": [{"status": "ok", "cursor": 0, "count": 1, "total": 2}]}),
        shapes.as_json({"detail": "rate"}),
        shapes.preprints(DOIS[:2], 0, "2", count=3),
        shapes.preprints(DOIS[:2], 30, 2),
        shapes.preprints(DOIS[:2], "thirty", 2),
        shapes.preprints(DOIS[:2], 0, "two"),
        shapes.preprints(DOIS[:2], 0, 2)[:-40],
        b"",
        httpx.Response(429, headers={"Retry-After": "3"}),
        httpx.Response(503, headers={"Retry-After": "Sat, 01 Jun 2024 12:00:03 GMT"}),
    ],
)
def test_an_error_in_disguise_is_asked_for_again(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path, bad: bytes | httpx.Response
) -> None:
    route = serve(respx_mock, bad, shapes.preprints(DOIS[:2], 0, 2))
    pull_week("biorxiv")
    assert (cursors(route), dois(tmp_path)) == ([0, 0], DOIS[:2])


def test_an_error_that_stays_fails_the_window(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    serve(respx_mock, *[shapes.as_json({"messages": [{"status": "down"}], "collection": []})] * 3)
    with refuses("biorxiv-status", value="down"):
        pull_week("biorxiv")
    assert not (tmp_path / "biorxiv" / "2024-W12").exists()


def test_a_cursor_out_of_step_is_never_stored(respx_mock: respx.MockRouter, pull_week: Pull) -> None:
    first = shapes.preprints(DOIS[:30], 0, "90")
    serve(respx_mock, first, *[shapes.preprints(DOIS[:30], 0, "90")] * 3)
    with refuses("biorxiv-cursor-out-of-step", value=0):
        pull_week("biorxiv")


@pytest.mark.parametrize(
    ("first_try", "reason"),
    [
        ([shapes.preprints(DOIS[:30], 0, 40), shapes.preprints(DOIS[30:40], 30, 41)], "total was 40, is 41"),
        ([shapes.preprints(DOIS[:30], 0, 40), shapes.preprints(DOIS[29:39], 30, 40)], "earlier page"),
        ([shapes.preprints(DOIS[:30], 0, 40), shapes.preprints(DOIS[30:45], 30, 40)], "says 40 records, 45 came"),
        ([shapes.preprints(DOIS[:30], 0, 40), shapes.no_posts()], "says 40 records, 30 came"),
        ([shapes.preprints([], 0, 40)], "says 40 records, 0 came"),
    ],
)
def test_a_week_that_changes_is_pulled_again_from_its_start(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    first_try: list[bytes], reason: str,
) -> None:  # fmt: skip
    serve(respx_mock, *first_try, shapes.preprints(DOIS[:41], 0, 41))
    pull_week("biorxiv")
    assert dois(tmp_path) == DOIS[:41]
    assert reason in caplog.text


def test_counts_that_never_add_up_stop_or_are_recorded(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path
) -> None:
    answers = [shapes.preprints(DOIS[:30], 0, 31), shapes.no_posts()]
    serve(respx_mock, *answers * 6)
    with refuses("window-incomplete"):
        pull_week("biorxiv")
    report = pull_week("biorxiv", on_mismatch="record")
    assert report["windows_not_reconciled"] == 1
    assert (done(tmp_path)["reconciled"], done(tmp_path)["expected"], done(tmp_path)["records"]) == (False, 31, 30)


def test_a_week_without_posts_is_done(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    route = serve(respx_mock, shapes.no_posts())
    pull_week("biorxiv")
    assert (done(tmp_path)["pages"], done(tmp_path)["reconciled"]) == ([], True)
    assert pull_week("biorxiv")["windows_done_before"] == 1
    assert route.call_count == 1


def test_rows_repeated_on_one_page_are_noted(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    serve(respx_mock, shapes.preprints([DOIS[0], *DOIS[:2]], 0, 3))
    pull_week("biorxiv")
    assert done(tmp_path)["notes"] == {"repeated": 1}
