from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
import yaml

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.release import LISTED, push_release, render_changelog, write_release
from fedtext.largefedbench.snapshot import provenance, read_snapshot, verify
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench, Release
from tests.dataset_hub import DatasetHub, serving
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import CANADA, preprint, preprint_page

DAY = datetime.date(2025, 7, 1)


@pytest.fixture
def snapshots(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> tuple[Path, Path]:
    """Two snapshots: in the second one client is new, one gone, one changed."""

    def build(name: str) -> Path:
        params = conf_base(LargeFedBench, snapshot=name)
        return build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "out")

    old = build("2025.1")
    (raw / "biorxiv/new.json").write_bytes(preprint_page([preprint("10.1101/n", date="2024-06-03")]))
    (raw / "ca/HAN096-E.XML.xml").write_text(CANADA.replace("every morning", "every evening"), "utf-8")
    (raw / "pubmed/0.xml").unlink()
    return old, build("2025.2")


def test_a_release_says_what_it_is_and_what_changed(snapshots: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = snapshots
    release = write_release(new, old, tmp_path / "releases" / "2025.2", DAY)
    assert "CHANGELOG.md" in verify(release)
    croissant = json.loads((release / "croissant.json").read_text("utf-8"))
    assert (croissant["version"], croissant["datePublished"]) == ("2025.2", "2025-07-01")
    citation = yaml.safe_load((release / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], citation["date-released"]) == ("2025.2", "2025-07-01")
    changelog = (release / "CHANGELOG.md").read_text("utf-8")
    for line in (
        "## biorxiv: 1 added",
        "- 2024-06-03.biorxiv.10.1101/n",
        "## congress: 1 altered",
    ):
        assert line in changelog
    assert "| pubmed | pubmed | 2024-03 | removed | 1 |" in changelog
    changes = json.loads((release / "changes.json").read_text("utf-8"))
    assert all("removed" not in kinds for kinds in changes["clients"].values())  # they may have asked to be
    assert "2024-03-01.pubmed.11" not in changelog + json.dumps(changes)
    card = (release / "README.md").read_text("utf-8")
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["license"] == "other"
    assert "federated-learning" in front["tags"]
    assert "2025.2, published 2025-07-01. What changed since 2025.1" in card
    assert read_snapshot(release, "congress").equals(read_snapshot(new, "congress"))
    assert provenance(new)["date_published"] == "2024-07-30"  # the snapshot itself stays as it was built


def test_a_release_is_made_once(snapshots: tuple[Path, Path], tmp_path: Path) -> None:
    old, new = snapshots
    release = write_release(new, None, tmp_path / "r", DAY)
    before = (release / "README.md").read_bytes()
    assert write_release(new, None, tmp_path / "r", datetime.date(2026, 1, 1)) == release
    assert (release / "README.md").read_bytes() == before
    with refuses("release-of-another-snapshot", parameter="largefedbench.snapshot"):
        write_release(old, None, tmp_path / "r", DAY)


def test_the_first_release_has_no_changes(snapshots: tuple[Path, Path], tmp_path: Path) -> None:
    release = write_release(snapshots[0], None, tmp_path / "r", DAY)
    assert "First version: " in (release / "CHANGELOG.md").read_text("utf-8")
    assert not (release / "changes.json").exists()


def test_a_long_list_of_ids_is_shortened_in_the_changelog_alone() -> None:
    ids = [f"id{number:03d}" for number in range(LISTED + 3)]
    totals = {"added": len(ids), "removed": 0, "altered": 0, "moved": 0}
    changes = {
        "old": "a", "new": "b", "totals": totals, "parameters": {}, "changes": [],
        "clients": {"congress": {"added": ids}},
    }  # fmt: skip
    changelog = render_changelog({"snapshot": "b", "date_published": "2025-07-01", "configs": {}}, changes)
    assert changelog.count("- id") == LISTED
    assert "- and 3 more, in changes.json" in changelog


def pushed(directory: Path, endpoint: str, token: str = "hush", repository: str | None = "ada/bench") -> str:
    params = conf_base(Release, repository=repository, endpoint=endpoint)
    return push_release(directory, params, environment={"HF_TOKEN": token})


def test_pushing(snapshots: tuple[Path, Path], tmp_path: Path) -> None:
    release = write_release(snapshots[1], snapshots[0], tmp_path / "2025.2", DAY)
    with serving(DatasetHub("hush")) as hub:
        hub.files["stale.parquet"] = b"of an earlier version"
        address = pushed(release, hub.endpoint)
    assert address.startswith(f"{hub.endpoint}/datasets/ada/bench/commit/")
    assert "private" in hub.repositories["ada/bench"].values()  # its visibility
    assert hub.tags == ["2025.2"]
    there = {path.relative_to(release).as_posix(): path.read_bytes() for path in release.rglob("*") if path.is_file()}
    assert hub.files == there


def test_what_cannot_be_pushed_is_said(snapshots: tuple[Path, Path], tmp_path: Path) -> None:
    release = write_release(snapshots[1], None, tmp_path / "r", DAY)
    for values in ({"token": ""}, {"repository": None}):
        with refuses("nothing-to-push-with", parameter="release.repository"):
            pushed(release, "https://hub.example", **values)  # type: ignore[arg-type]
    with refuses("snapshot-is-no-release"):
        pushed(snapshots[1], "https://hub.example")
    with serving(DatasetHub("another")) as hub, refuses("hub-refused") as caught:
        pushed(release, hub.endpoint, token="hush-hush")
    assert "hush-hush" not in str(caught.value)
    (release / "README.md").write_text("changed", "utf-8")
    with refuses("snapshot-file-changed", value="README.md"):
        pushed(release, "https://hub.example")
