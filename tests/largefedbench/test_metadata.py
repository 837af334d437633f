"""The Croissant description by the standard's own reader: it is valid, and every table is read through it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.snapshot import read_table
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.corpus import Spans
from fedtext.params.largefedbench import LargeFedBench
from tests.parameters import conf_base

pytestmark = pytest.mark.slow
mlcroissant = pytest.importorskip("mlcroissant")


@pytest.fixture
def snapshot(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> Path:
    params = conf_base(LargeFedBench, snapshot="2025.1", chunking=Spans(length=4, min_tokens=2))
    return build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path)


def test_the_description_is_valid_and_reads_every_table(snapshot: Path) -> None:
    dataset = mlcroissant.Dataset(jsonld=snapshot / "croissant.json")
    assert dataset.metadata.ctx.issues.errors == dataset.metadata.ctx.issues.warnings == set()
    names = [one.id for one in dataset.metadata.record_sets]
    assert {"congress", "congress_chunks", "pubmed", "pubmed_chunks"} <= set(names)
    for name in names:
        table = read_table(snapshot, name.removesuffix("_chunks"), "chunks" if name.endswith("_chunks") else "clients")
        read = {row[f"{name}/client_id"].decode() for row in dataset.records(name)}
        assert read == set(table["client_id"].to_pylist())


def test_a_description_of_a_table_that_is_not_there_is_refused(snapshot: Path) -> None:
    described = json.loads((snapshot / "croissant.json").read_text("utf-8"))
    described["recordSet"][0]["field"][0]["source"]["fileSet"]["@id"] = "not_there-files"
    (snapshot / "croissant.json").write_text(json.dumps(described), "utf-8")
    with pytest.raises(mlcroissant.ValidationError, match="not_there-files"):
        mlcroissant.Dataset(jsonld=snapshot / "croissant.json")
