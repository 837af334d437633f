from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kedro.io import DatasetError

from fedtext.corpora.records import SPLITS
from fedtext.datasets.files import JSONListDataset
from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.diff import compare, render_diff
from fedtext.largefedbench.exports import export_popri, export_seven_fields
from fedtext.largefedbench.snapshot import read_table
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.corpus import Spans
from fedtext.params.largefedbench import Export, LargeFedBench
from fedtext.pipelines.export.nodes import export_snapshot
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import CANADA, preprint, preprint_page


def build(raw: Path, out: Path, words: ChunkTokenizer, name: str, **changes: object) -> Path:
    params = conf_base(LargeFedBench, snapshot=name, chunking=Spans(length=4, min_tokens=2), **changes)
    return build_snapshot(params, words, raw_dir=raw, out_dir=out)


def test_popri_export(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words, "a")
    number = export_popri(snapshot, "congress", None, tmp_path / "popri.json")
    exported = json.loads((tmp_path / "popri.json").read_text("utf-8"))
    chunks = read_table(snapshot, "congress", "chunks").to_pandas()
    assert number == len(exported) == chunks["client_id"].nunique()
    assert {client: len(texts) for client, texts in exported.items()} == chunks["client_id"].value_counts().to_dict()
    assert exported["2024-07-30.uk.debate.1.2"] == ["What steps she is", "taking to improve school", "buses in Wales."]


def test_seven_field_export(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words, "a")
    number = export_seven_fields(snapshot, "congress", None, tmp_path / "seven.json")
    exported = json.loads((tmp_path / "seven.json").read_text("utf-8"))
    assert number == len(exported) == 6
    assert all(list(one) == ["url", "date_str", "title", "speaker", "data", "chamber", "country"] for one in exported)
    assert {one["country"] for one in exported} == {"USA", "GBR", "CA"}


def test_seven_fields_of_every_split_are_catalog_outputs(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words, "a")
    told = conf_base(Export, snapshot=str(snapshot), config="congress")
    files = [JSONListDataset(filepath=str(tmp_path / f"{split}.json")) for split in SPLITS]
    for file, members in zip(files, export_snapshot(told, "unused"), strict=True):
        file.save(members)
    found = [one for file in files for one in file.load()]
    export_seven_fields(snapshot, "congress", None, tmp_path / "seven.json")
    assert found == json.loads((tmp_path / "seven.json").read_text("utf-8"))
    assert [len(file.load()) for file in files] == [
        len(read_table(snapshot, "congress", "clients", split))
        if (snapshot / f"congress/clients/{split}-00000.parquet").exists()
        else 0
        for split in SPLITS
    ]


def test_an_export_without_a_snapshot_or_config_is_refused(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    with refuses("export-not-told", parameter="export"):
        export_snapshot(conf_base(Export), "unused")
    snapshot = build(raw, tmp_path, words, "a")
    with refuses("unknown-config", parameter="export.config", value="moon"):
        export_snapshot(conf_base(Export, snapshot="a", config="moon"), str(snapshot.parent))
    (snapshot / "README.md").write_text("changed", "utf-8")
    with refuses("snapshot-file-changed", value="README.md"):
        export_snapshot(conf_base(Export, snapshot="a", config="congress"), str(snapshot.parent))


def test_an_export_that_fails_leaves_the_earlier_file(tmp_path: Path) -> None:
    file = JSONListDataset(filepath=str(tmp_path / "a.json"))
    file.save([{"a": "é"}, 2])
    assert file.load() == [{"a": "é"}, 2]

    def failing() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    with pytest.raises(DatasetError, match="gone"):
        file.save(failing())
    assert file.load() == [{"a": "é"}, 2]
    file.save([])
    assert file.load() == []


def test_exports_verify_first(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words, "a")
    (snapshot / "README.md").write_text("changed", "utf-8")
    with refuses("snapshot-file-changed", value="README.md"):
        export_popri(snapshot, "congress", None, tmp_path / "popri.json")
    assert not (tmp_path / "popri.json").exists()


def test_diff_says_who_came_went_and_changed(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    old = build(raw, tmp_path, words, "a")
    (raw / "biorxiv/new.json").write_bytes(preprint_page([preprint("10.1101/n", date="2024-06-03")]))
    (raw / "ca/HAN096-E.XML.xml").write_text(CANADA.replace("every morning", "every evening"), "utf-8")
    (raw / "pubmed/0.xml").unlink()
    new = build(raw, tmp_path, words, "b")
    difference = compare(old, new)
    assert difference["totals"] == {"added": 1, "removed": 1, "altered": 1, "moved": 0}
    assert difference["clients"]["congress"]["altered"] == ["2024-05-09.ca.100"]
    assert difference["clients"]["pubmed"]["removed"] == ["2024-03-01.pubmed.11"]
    assert difference["changes"] == [
        {"config": "biorxiv", "change": "added", "source": "biorxiv", "month": "2024-06", "clients": 1},
        {"config": "congress", "change": "altered", "source": "ca", "month": "2024-05", "clients": 1},
        {"config": "pubmed", "change": "removed", "source": "pubmed", "month": "2024-03", "clients": 1},
    ]
    assert difference["parameters"] == {}
    assert "| congress | ca | 2024-05 | altered | 1 |" in render_diff(difference)


def test_a_snapshot_does_not_differ_from_itself(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words, "a")
    difference = compare(snapshot, snapshot)
    assert set(difference["totals"].values()) == {0}
    assert difference["changes"] == []


def test_changed_parameters_are_named(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    old = build(raw, tmp_path, words, "a")
    new = build(raw, tmp_path, words, "b", cleaning="published")
    assert compare(old, new)["parameters"]["cleaning"] == ["clean", "published"]
    with refuses("snapshot-not-finished"):
        compare(old, tmp_path / "nowhere")
