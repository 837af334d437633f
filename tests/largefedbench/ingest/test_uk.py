from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import respx

from fedtext.largefedbench.ingest.errors import UnusableAnswerError
from fedtext.largefedbench.ingest.uk import read_listing
from tests.largefedbench.ingest import shapes
from tests.refusals import refuses

Pull = Callable[..., dict[str, Any]]
BASE = "https://www.theyworkforyou.com/pwdata/scrapedxml"
UK = {"chambers": "debates"}


def serve(
    router: respx.MockRouter, chamber: str, files: dict[str, httpx.Response], *others: str
) -> dict[str, respx.Route]:
    listing = shapes.uk_listing([*files, *others])
    router.get(f"{BASE}/{chamber}/").mock(return_value=httpx.Response(200, content=listing))
    return {name: router.get(f"{BASE}/{chamber}/{name}").mock(return_value=answer) for name, answer in files.items()}


def day(date: str = "2024-03-18", latest: str = "yes") -> httpx.Response:
    return httpx.Response(200, content=shapes.uk_day(date, latest=latest))


def window(root: Path, chamber: str = "debates") -> Path:
    return root / "uk" / chamber / "2024-W12"


def done(root: Path) -> dict[str, Any]:
    note: dict[str, Any] = json.loads((window(root) / "_done.json").read_text("utf-8"))
    return note


def test_the_highest_letter_only(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    """A day issued four times is fetched once; other weeks and other files of the directory not at all."""
    others = ["debates2024-03-18a.xml", "debates2024-03-18b.xml", "debates2024-03-18z.xml", "debates2024-03-17a.xml",
              "debates2024-03-25a.xml", "changedates.txt", "westminster2024-03-18a.xml"]  # fmt: skip
    files = {"debates2024-03-18aa.xml": day(), "debates2024-03-19a.xml": day("2024-03-19")}
    serve(respx_mock, "debates", files, *others)
    pull_week("uk", uk=UK)
    assert sorted(p.name for p in window(tmp_path).glob("*.gz")) == [f"{name}.gz" for name in sorted(files)]
    assert (done(tmp_path)["expected"], done(tmp_path)["notes"]["superseded"]) == (2, 3)
    assert respx_mock.calls.call_count == 3


def test_a_file_that_is_not_the_latest_is_rejected(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path
) -> None:
    serve(respx_mock, "debates", {"debates2024-03-18b.xml": day(latest="no")}, "debates2024-03-18a.xml")
    report = pull_week("uk", uk=UK)
    assert report["rejected"] == 1
    assert done(tmp_path)["rejected"] == {"debates2024-03-18b.xml": 'latest="no"'}
    assert not list(window(tmp_path).glob("*.gz"))


def test_a_day_listed_and_not_there_is_missing(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    serve(
        respx_mock,
        "debates",
        {"debates2024-03-18a.xml": httpx.Response(404), "debates2024-03-19a.xml": day("2024-03-19")},
    )
    report = pull_week("uk", uk=UK)
    assert (report["missing"], report["records"], done(tmp_path)["reconciled"]) == (1, 1, True)


def test_every_chamber_has_its_directory_and_one_listing(
    respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path
) -> None:
    names = {"debates": "debates", "westminhall": "westminster", "lordspages": "daylord"}
    for chamber, name in names.items():
        serve(respx_mock, chamber, {f"{name}2024-03-18a.xml": day(), f"{name}2024-03-26a.xml": day("2024-03-26")})
    pull_week("uk", to_date="2024-03-31")
    for chamber, name in names.items():
        assert (window(tmp_path, chamber) / f"{name}2024-03-18a.xml.gz").is_file()
    assert respx_mock.calls.call_count == 9  # 3 listings, 6 days


@pytest.mark.parametrize("body", [shapes.HTML_ERROR, shapes.bomb("publicwhip"), shapes.uk_day("2024-03-18")[:-9], b""])
def test_a_bad_day_is_refused(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path, body: bytes) -> None:
    serve(respx_mock, "debates", {"debates2024-03-18a.xml": httpx.Response(200, content=body)})
    with pytest.raises(UnusableAnswerError) as caught:
        pull_week("uk", uk=UK)
    assert "debates2024-03-18a.xml" in str(caught.value)
    assert not window(tmp_path).exists()


def test_an_error_page_is_no_empty_listing() -> None:
    with refuses("uk-listing-empty", value="debates"):
        read_listing("debates", shapes.HTML_ERROR)


def test_letters_in_order_of_issue() -> None:
    names = ["daylord2024-03-18z.xml", "daylord2024-03-18aa.xml", "daylord2024-03-18.xml", "daylord2024-03-18b.xml"]
    assert read_listing("daylord", shapes.uk_listing(names)) == {"2024-03-18": ["", "b", "z", "aa"]}


def test_entities_for_single_characters_are_kept(respx_mock: respx.MockRouter, pull_week: Pull, tmp_path: Path) -> None:
    serve(respx_mock, "debates", {"debates2024-03-18a.xml": day()})
    pull_week("uk", uk=UK)
    stored = gzip.decompress((window(tmp_path) / "debates2024-03-18a.xml.gz").read_bytes())
    assert stored == shapes.uk_day("2024-03-18")
    assert b"&ndash;" in stored
