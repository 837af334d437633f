"""Snapshots as Kedro's versions, by the catalog that a user would write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from kedro.io import DataCatalog

from fedtext.datasets.snapshots import SnapshotDataset
from fedtext.largefedbench.build import built_snapshot
from fedtext.largefedbench.snapshot import MANIFEST, Built
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.largefedbench import LargeFedBench
from tests.largefedbench.conftest import raw, words  # noqa: F401 - fixtures
from tests.parameters import conf_base
from tests.refusals import refuses

KIND = "fedtext.datasets.snapshots"


@pytest.fixture
def built(raw: Path, words: ChunkTokenizer, tmp_path: Path) -> Any:
    """Builds a snapshot of that name, which nobody has published yet."""

    def _built(name: str, **changes: object) -> Built:
        params = conf_base(LargeFedBench, {"snapshot": name} | changes)
        return built_snapshot(params, words, raw_dir=raw, out_dir=tmp_path / "snapshots")

    return _built


def catalog(place: Path, versions: dict[str, str] | None = None, name: str | None = None) -> DataCatalog:
    entry = {"filepath": str(place), "versioned": True}
    return DataCatalog.from_config(
        {
            "snapshot": {"type": f"{KIND}.SnapshotDataset", "name": name, **entry},
            "speeches": {"type": f"{KIND}.SnapshotRecordsDataset", "config": "congress", **entry},
        },
        load_versions=versions,
    )


def test_a_build_is_saved_under_its_name_and_not_before(built: Any, tmp_path: Path) -> None:
    place = tmp_path / "snapshots"
    made = built("2025.1")
    kept = catalog(place, name="2025.1")
    assert not (place / "2025.1").exists()
    assert not kept.exists("snapshot")
    kept.save("snapshot", made)
    assert (place / "2025.1" / MANIFEST).is_file()
    assert kept.load("snapshot") == place / "2025.1"
    assert [path.name for path in place.iterdir()] == ["2025.1"], "nothing of the build is left"
    kept.save("snapshot", built("2025.1"))  # one that would come out the same is kept


def test_kedro_s_versions_are_the_snapshots_names(built: Any, tmp_path: Path) -> None:
    place = tmp_path / "snapshots"
    for name, sources in (("2025.10", "ca us"), ("2025.9", "ca uk us")):
        catalog(place, name=name).save("snapshot", built(name, sources=sources))
    (place / "notes").mkdir()
    later = (place / "2025.10" / MANIFEST).stat().st_mtime_ns + 10**9
    os.utime(place / "2025.9" / MANIFEST, ns=(later, later))
    every = catalog(place)
    assert every["speeches"].list_versions(full_path=False) == ["2025.9", "2025.10"]
    assert set(every.load("speeches")["client_id"].str[11:13]) == {"ca", "uk", "us"}, "the newest, and not 2025.10"
    assert set(every.load("speeches", version="2025.10")["client_id"].str[11:13]) == {"ca", "us"}
    asked = catalog(place, {"speeches": "2025.10"}).load("speeches")  # kedro run --load-versions speeches:2025.10
    assert set(asked["client_id"].str[11:13]) == {"ca", "us"}


def test_a_version_that_is_not_there_is_no_dataset(built: Any, tmp_path: Path) -> None:
    place = tmp_path / "snapshots"
    with refuses("no-snapshots"):
        catalog(place).load("speeches")
    catalog(place, name="2025.1").save("snapshot", built("2025.1"))
    wrong = catalog(place, {"speeches": "2025.2"})
    assert not wrong.exists("speeches")
    with refuses("not-a-snapshot"):
        wrong.load("speeches")


def test_nothing_is_saved_where_another_entry_keeps_it(built: Any, tmp_path: Path) -> None:
    made = built("2025.1")
    with refuses("snapshot-belongs-elsewhere"):
        catalog(tmp_path / "snapshots", name="2025.2").save("snapshot", made)
    assert made.directory.is_dir()
    assert not made.target.exists()
    with refuses("snapshot-is-read-only"):
        catalog(tmp_path / "snapshots").save("speeches", made)


def test_what_was_built_is_read_and_else_what_is_chosen(built: Any, tmp_path: Path) -> None:
    place = tmp_path / "snapshots"
    for name in ("2025.1", "2025.2"):
        catalog(place, name=name).save("snapshot", built(name))
    chosen = SnapshotDataset(filepath=str(place), name="2025.2", chosen=2025.1)
    assert chosen.load() == place / "2025.1"
    chosen.save(built("2025.2"))
    assert chosen.load() == place / "2025.2"
    from_elsewhere = SnapshotDataset(filepath="elsewhere", chosen=str(place / "2025.1"))
    assert from_elsewhere.exists()  # though nothing was built there
    assert from_elsewhere.load() == place / "2025.1"
    assert not SnapshotDataset(filepath="elsewhere").exists()
