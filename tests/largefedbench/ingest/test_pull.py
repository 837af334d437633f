from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fedtext
from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.ingest.pull import pull
from fedtext.largefedbench.raw_pages import RawPageError
from fedtext.largefedbench.snapshot import provenance, read_snapshot
from fedtext.largefedbench.sources import SOURCES, raw_pages
from fedtext.largefedbench.tokens import load_tokenizer
from fedtext.largefedbench.turns import SPEECH, Turn
from fedtext.models.language_model import bundled
from fedtext.params.ingest import LIVE_SOURCES, Ingest
from fedtext.params.largefedbench import LargeFedBench
from tests.largefedbench.ingest.conftest import ENVIRONMENT
from tests.largefedbench.ingest.local_server import LocalSources, local_sources, parameters
from tests.parameters import conf_base
from tests.refusals import refuses

ROOT = Path(__file__).parents[3]
# Twelve weeks: seven preprints each; three sitting days each, of which some are not published; 24 notes in all.
SPEECHES = {"biorxiv": 84, "medrxiv": 84, "uk": 36, "ca": 34, "us": 33, "pubmed": 36, "openreview": 24}


@pytest.fixture(scope="module")
def server() -> Iterator[LocalSources]:
    with local_sources() as running:
        yield running


def run(server: LocalSources, raw_dir: Path, source: str = "biorxiv", **more: Any) -> dict[str, Any]:
    params = {**parameters(server.base), "source": source, "raw_dir": str(raw_dir), **more}
    return pull(conf_base(Ingest, params), environment=ENVIRONMENT)


@pytest.mark.parametrize("source", LIVE_SOURCES)
def test_the_builder_reads_what_was_pulled(server: LocalSources, tmp_path: Path, source: str) -> None:
    report = run(server, tmp_path, source)
    kinds = []
    for page in raw_pages(tmp_path, SOURCES[source]):
        items = list(SOURCES[source].parse(page))
        assert not [item for item in items if isinstance(item, RawPageError)]
        kinds += [item.kind for item in items if isinstance(item, Turn)]
    assert kinds.count(SPEECH) == SPEECHES[source]
    assert report["failed"] == {}
    assert report["windows_pulled"] == (1 if source == "openreview" else 12)


def test_a_snapshot_is_built_from_what_was_pulled(server: LocalSources, tmp_path: Path) -> None:
    """All seven sources into one directory, one build from it: every record that came is a client, none twice."""
    for source in LIVE_SOURCES:
        run(server, tmp_path / "raw", source)
    tokenizer = load_tokenizer(bundled("generator"), name="bundled:generator")
    params = conf_base(LargeFedBench, snapshot="2024.1", near_duplicates="report")  # its speeches differ in a word
    snapshot = build_snapshot(params, tokenizer, raw_dir=tmp_path / "raw", out_dir=tmp_path / "snapshots")
    facts = provenance(snapshot)
    assert {name: counts["clients"] for name, counts in facts["sources"].items()} == SPEECHES
    assert facts["bad_pages"] == []
    parliaments = SPEECHES["ca"] + SPEECHES["uk"] + SPEECHES["us"]
    assert sum(split["clients"] for split in facts["configs"]["congress"].values()) == parliaments
    assert len(read_snapshot(snapshot, "congress")) == parliaments
    assert sum(one["query"].get("session") == "44-1" for one in facts["queries"]) == 12  # what was asked, by window


def test_a_second_pull_asks_for_nothing(server: LocalSources, tmp_path: Path) -> None:
    run(server, tmp_path)
    asked = server.count
    assert run(server, tmp_path)["windows_done_before"] == 12
    assert server.count == asked


def test_more_weeks_leave_the_first_ones_alone(server: LocalSources, tmp_path: Path) -> None:
    run(server, tmp_path, to_date="2024-01-17")
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in tmp_path.rglob("*.gz")}
    report = run(server, tmp_path, from_date="2024-01-10", to_date="2024-02-01")
    assert (report["windows_done_before"], report["windows_pulled"]) == (2, 2)
    assert all((p.stat().st_mtime_ns, p.read_bytes()) == seen for p, seen in before.items())


def test_a_week_not_settled_waits(server: LocalSources, tmp_path: Path) -> None:
    report = run(server, tmp_path, today="2024-03-20", settle_days=14)
    assert (report["windows_pulled"], report["windows_waiting"]) == (9, 3)
    later = run(server, tmp_path, today="2024-04-08", settle_days=14)
    assert (later["windows_done_before"], later["windows_pulled"], later["windows_waiting"]) == (9, 3, 0)


def test_to_date_is_today_unless_said(server: LocalSources, tmp_path: Path) -> None:
    report = run(server, tmp_path, from_date="2024-01-01", to_date=None, today="2024-01-30", settle_days=0)
    assert (report["windows_pulled"], report["windows_waiting"]) == (4, 1)


def test_another_query_is_refused(server: LocalSources, tmp_path: Path) -> None:
    run(server, tmp_path, "pubmed", to_date="2024-01-02")
    pubmed = {**parameters(server.base)["pubmed"], "term": "heart[title]"}
    with refuses("window-of-another-query"):
        run(server, tmp_path, "pubmed", to_date="2024-01-02", pubmed=pubmed)


def test_a_failed_week_stops_or_is_listed(server: LocalSources, tmp_path: Path) -> None:
    def broken_second_week(count: int) -> int | None:
        return 10 if begun + 4 <= count < begun + 7 else None  # three pages a week; all attempts at the fourth

    begun = server.count
    server.before_answer = broken_second_week
    try:
        with refuses("request-failed"):
            run(server, tmp_path)
        begun = server.count - 3
        report = run(server, tmp_path, on_failed_window="continue")
    finally:
        server.before_answer = lambda count: None
    assert list(report["failed"]) == ["2024-W02"]
    assert (report["windows_done_before"], report["windows_pulled"]) == (1, 10)
    assert run(server, tmp_path)["windows_pulled"] == 1


@pytest.mark.parametrize("values", [{"source": None}, {"raw_dir": None}])
def test_source_and_directory_are_asked_for(values: dict[str, Any], tmp_path: Path) -> None:
    with refuses("nothing-to-pull", parameter="ingest.source"):
        pull(conf_base(Ingest, {"source": "uk", "raw_dir": str(tmp_path), **values}), environment=ENVIRONMENT)


def test_nobody_pulls_without_a_contact(tmp_path: Path) -> None:
    with refuses("contact-not-set", parameter="FEDTEXT_CONTACT"):
        pull(conf_base(Ingest, source="uk", raw_dir=str(tmp_path)), environment={})


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"preprints": {"base_url": "http://api.biorxiv.org"}}, "not-a-base-url"),
        ({"us": {"listing_url": "ftp://api.govinfo.gov"}}, "not-a-base-url"),
        ({"us": {"base_url": "https://govinfo.gov/?api_key=1"}}, "not-a-base-url"),
        ({"ca": {"sessions": "44"}}, "not-a-session"),
        ({"uk": {"chambers": "lords"}}, "unknown-choice"),
        ({"from_date": "2024-02-01", "to_date": "2024-01-01"}, "dates-swapped"),
        ({"source": "reddit"}, "unknown-choice"),
        ({"api_key": "x"}, "unknown-parameter"),
    ],
)
def test_parameters_are_checked(values: dict[str, Any], code: str) -> None:
    with refuses(code):
        conf_base(Ingest, values)


@pytest.mark.slow
def test_from_the_command_line(server: LocalSources, tmp_path: Path) -> None:
    values = {
        "data_root": tmp_path, "ingest.source": "biorxiv", "ingest.today": "2024-06-01", "ingest.to_date": "2024-01-02",
        "ingest.from_date": "2024-01-02", "ingest.preprints.base_url": f"{server.base}/preprints",
    }  # fmt: skip
    command = [str(Path(sys.executable).with_name("kedro")), "run", "--pipelines", "ingest", "--params"]
    command.append(",".join(f"{name}={value}" for name, value in values.items()))
    quiet = {"FEDTEXT_PROGRESS": "0", "FEDTEXT_TRACKING": "off", "PATH": "/usr/bin:/bin"}
    path = {"PYTHONPATH": str(Path(fedtext.__file__).parents[1])}  # the package under test, wherever it lies
    environment = {**ENVIRONMENT, **quiet, **path}
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert len(list((tmp_path / "01_raw" / "biorxiv" / "2024-W01").glob("*.json.gz"))) == 3
    assert "biorxiv: 0 windows pulled" in done.stderr
    assert "1 there before" in done.stderr
    del environment["FEDTEXT_CONTACT"]
    refused = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "FEDTEXT_CONTACT is not set" in refused.stderr + refused.stdout
    assert "Traceback" not in refused.stderr + refused.stdout
