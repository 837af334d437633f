from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from fedtext.corpora.records import RECORD_COLUMNS, SPLIT_COLUMN
from fedtext.largefedbench import build as build_module
from fedtext.largefedbench import shards
from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.snapshot import (
    CLIENTS,
    MANIFEST,
    provenance,
    read_snapshot,
    read_table,
    verify,
)
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.corpus import Spans
from fedtext.params.largefedbench import LargeFedBench, Splitting
from fedtext.system.engine import computing_on, over_processes
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import US_DATE, preprint, preprint_page

SMALL = {"snapshot": "t.1", "chunking": Spans(length=4, min_tokens=2)}


def build(raw: Path, out: Path, words: ChunkTokenizer, **changes: object) -> Path:
    return build_snapshot(conf_base(LargeFedBench, SMALL | changes), words, raw_dir=raw, out_dir=out)


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def all_clients(snapshot: Path) -> pd.DataFrame:
    parts = [read_table(snapshot, config, "clients").to_pandas() for config in provenance(snapshot)["configs"]]
    return pd.concat(parts, ignore_index=True)


def test_clients_and_their_texts(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path / "out", words)
    texts = dict(zip(*all_clients(snapshot)[["client_id", "text"]].to_numpy().T, strict=True))
    assert texts["2024-05-09.ca.100"] == (
        "Ferries carry us across the river every morning. The Northern Star sails again, and that is a promise kept."
    )
    assert (
        texts["2024-05-09.ca.102"]
        == "The member knows the ferries are late. They are late every day, and I asked why. No."
    )
    assert texts["2024-05-14.us.pt1-PgH3001.0001"] == (
        "The bridge over our river is old, and “nobody” has looked at its pillars for 2 1/2 years. The gentleman from "
        "Texas knows that state-owned bridges are no better, and the water is rising under all of them. CO2 is not the "
        "question here, though some like to think so."
    )
    assert texts["2024-07-30.uk.debate.1.3"] == (
        "We spend £3 million on buses, as my hon. Friend the Member for North Dale knows. I will go on. Lords amendment "
        "7 on buses was passed by a large majority. The Windsor framework (Northern Ireland) matters too."
    )
    assert texts["2024-05-02.biorxiv.10.1101/1"] == "We study 10.1101/1. CO2 rose by 5%."
    assert sorted(texts) == [
        "2022-10-17.openreview.r1",
        "2024-03-01.pubmed.11",
        "2024-05-02.biorxiv.10.1101/1",
        "2024-05-02.biorxiv.10.1101/5",
        "2024-05-09.ca.100",
        "2024-05-09.ca.102",
        "2024-05-14.us.pt1-PgH3001.0001",
        "2024-05-14.us.pt1-PgH3001.0004",
        "2024-07-30.uk.debate.1.2",
        "2024-07-30.uk.debate.1.3",
        "undated.scitldr.p1",
    ]


def test_every_word_and_turn_is_kept_or_counted(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    for cleaning in ("clean", "published"):
        snapshot = build(raw, tmp_path / cleaning, words, cleaning=cleaning)
        for name, counts in provenance(snapshot)["sources"].items():
            left_out, removed = counts["left_out"].values(), counts["removed"].values()
            assert counts["turns"] == counts["clients"] + sum(rule["turns"] for rule in left_out), name
            gone = sum(rule["words"] for rule in (*left_out, *removed))
            fused = counts["removed"].get("fused_heading", {"times": 0})["times"]  # half a kept word, and a rule's word
            assert counts["words"] == counts["words_kept"] + gone - fused, name


def test_chunks_are_spans_of_the_text(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path / "out", words)
    texts = dict(zip(*all_clients(snapshot)[["client_id", "text"]].to_numpy().T, strict=True))
    for config in provenance(snapshot)["configs"]:
        chunks = read_table(snapshot, config, "chunks").to_pandas()
        for row in chunks.itertuples():
            assert texts[row.client_id][row.start : row.end] == row.text
            assert 1 <= row.n_tokens <= 4
        firsts = chunks.groupby("client_id")["index"].apply(list)
        assert all(one == list(range(len(one))) for one in firsts)


def test_the_same_bytes_in_another_directory_whatever_the_shards(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    first = contents(build(raw, tmp_path / "one", words))
    elsewhere = shutil.copytree(raw, tmp_path / "elsewhere" / "pages")
    second = contents(build(elsewhere, tmp_path / "two" / "deep", words, shard_bytes=1))
    assert first == second
    text = b"".join(first.values())
    assert str(tmp_path).encode() not in text


@pytest.mark.slow
def test_two_processes_give_the_same_bytes(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    one = contents(build(raw, tmp_path / "one", words))
    with over_processes(2) as engine, computing_on(engine):
        assert contents(build(raw, tmp_path / "two", words, shard_bytes=1)) == one


def test_a_killed_build_goes_on_from_its_shards(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = contents(build(raw, tmp_path / "whole", words))
    real, written = shards._write_batch, []

    def stop_after_three(*arguments: object) -> None:
        written.append(arguments)
        if len(written) > 3:
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(shards, "_write_batch", stop_after_three)
    with pytest.raises(KeyboardInterrupt):
        build(raw, tmp_path / "out", words, shard_bytes=1)
    assert not (tmp_path / "out" / "t.1").exists()
    done = len(list((tmp_path / "out").rglob("shards/**/*.parquet")))
    assert done >= 3
    written.clear()
    monkeypatch.setattr(shards, "_write_batch", lambda *arguments: (written.append(1), real(*arguments)))
    assert contents(build(raw, tmp_path / "out", words, shard_bytes=1)) == whole
    total = len(list(raw.rglob("*.*"))) + 1
    assert len(written) <= total - 3
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["t.1"]


def test_a_shard_does_not_outlive_the_library_that_wrote_it(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build_module, "_merge", stop)
    found = []
    for release in ("1.0", "1.1"):
        monkeypatch.setattr(build_module, "version", lambda name, release=release: release)
        with pytest.raises(KeyboardInterrupt):
            build(raw, tmp_path, words, sources=("scitldr",))
        found.append({path.name for path in tmp_path.rglob("shards/**/*.parquet")})
    assert len(found[0]) == len(found[1]) == 1
    assert found[0] != found[1]


def test_building_again_verifies_and_returns_it(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words)
    before = (snapshot / MANIFEST).stat().st_mtime_ns
    assert build(raw, tmp_path, words) == snapshot
    assert (snapshot / MANIFEST).stat().st_mtime_ns == before
    with refuses("snapshot-of-other-pages"):
        build(raw, tmp_path, words, cleaning="published")


def test_appending_pages_moves_and_changes_nobody(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    rows = [preprint(f"10.1101/x{number}") for number in range(60)]
    (raw / "biorxiv/2024-05-01/1.json").write_bytes(preprint_page(rows))
    shares = conf_base(Splitting, validation_share=0.3, test_share=0.3)
    before = all_clients(build(raw, tmp_path, words, split=shares)).set_index("client_id")
    (raw / "biorxiv/2024-04-01.json").write_bytes(preprint_page([preprint(f"10.1101/y{n}") for n in range(60)]))
    after = all_clients(build(raw, tmp_path, words, split=shares, snapshot="t.2")).set_index("client_id")
    assert len(after) == len(before) + 60
    pd.testing.assert_frame_equal(after.loc[before.index], before)
    assert set(before["split"]) == {"train", "validation", "test"}


def test_a_client_that_comes_twice_is_kept_once_and_counted(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    (raw / "biorxiv/again.json").write_bytes(preprint_page([preprint("10.1101/1", abstract="Another text here.")]))
    snapshot = build(raw, tmp_path, words)
    rows = read_table(snapshot, "biorxiv", "clients").to_pandas().set_index("client_id")["text"]
    assert rows["2024-05-02.biorxiv.10.1101/1"].startswith("We study")
    counts = provenance(snapshot)["sources"]["biorxiv"]
    assert counts["left_out"]["duplicate_client_id"] == {"turns": 1, "words": 3}
    assert counts["clients"] == len(rows) == 2


@pytest.mark.parametrize(
    ("changes", "left", "rule"),
    [
        ({"from_date": date(2024, 5, 10)}, {"us", "uk"}, "before_from_date"),
        ({"to_date": date(2024, 5, 9)}, {"ca", "biorxiv", "pubmed", "openreview"}, "after_to_date"),
        ({"model_cutoff": date(2024, 5, 14)}, {"uk"}, "not_after_cutoff"),
        ({"exclude_licenses": ("speakers_permission_ca",)}, {"us", "uk", "biorxiv", "pubmed", "openreview", "scitldr"}, "license_speakers_permission_ca"),
        ({"sources": ("ca", "us")}, {"ca", "us"}, None),
    ],
)  # fmt: skip
def test_filters(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, changes: dict, left: set[str], rule: str | None
) -> None:
    snapshot = build(raw, tmp_path, words, **changes)
    assert set(all_clients(snapshot)["source"]) == left
    rules = {name for counts in provenance(snapshot)["sources"].values() for name in counts["left_out"]}
    assert rule is None or rule in rules
    if "exclude_licenses" in changes:
        assert not (snapshot / "licenses/speakers_permission_ca.txt").exists()


def test_a_temporal_split_puts_the_newest_text_in_test(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    split = conf_base(Splitting, method="temporal", validation_from=date(2024, 5, 14), test_from=date(2024, 7, 1))
    clients = all_clients(build(raw, tmp_path, words, split=split))
    assert set(clients["split"][clients["source"] == "uk"]) == {"test"}
    assert set(clients["split"][clients["source"] == "us"]) == {"validation"}
    assert set(clients["split"][clients["source"].isin(["ca", "biorxiv", "scitldr"])]) == {"train"}


def test_the_published_reading_shows_its_faults(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words, cleaning="published", near_duplicates="report")
    texts = dict(zip(*all_clients(snapshot)[["client_id", "text"]].to_numpy().T, strict=True))
    us = texts["2024-05-14.us.pt1-PgH3001.0001"]
    assert "{time}  1015" in us
    assert "Dear Madam: the bridge is safe." in us
    assert "I yield back the balance of my time." in us
    assert "2024-05-02.biorxiv.10.1101/1" in texts
    assert "2024-06-01.biorxiv.10.1101/1.v2" in texts  # every version of a preprint
    assert "2024-05-09.ca.102" not in texts  # another speaker's label lost the whole intervention
    assert "2024-07-30.uk.debate.1.4" in texts  # the chair's turn
    notes = provenance(snapshot)["sources"]["us"]["notes"]
    assert notes["never_sanitised"] == provenance(snapshot)["sources"]["us"]["clients"] == 3


def test_bad_pages_are_listed_or_stop_the_build(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    (raw / "ca" / "bad.xml").write_bytes(b"<Hansard>")
    (raw / "us" / f"CREC-{US_DATE}" / "html" / "bad-PgH1.htm").write_bytes(b"\xff\xfe")
    snapshot = build(raw, tmp_path, words)
    bad = provenance(snapshot)["bad_pages"]
    assert [one["page"] for one in bad] == ["ca/bad.xml", f"us/CREC-{US_DATE}/html/bad-PgH1.htm"]
    assert "XMLSyntaxError" in bad[0]["reason"]
    assert bad[0]["page"] in (snapshot / "README.md").read_text("utf-8")
    assert {"2024-05-09.ca.100", "2024-05-14.us.pt1-PgH3001.0001"} <= set(all_clients(snapshot)["client_id"])
    with refuses("page-unreadable"):
        build(raw, tmp_path, words, snapshot="t.2", on_bad_page="stop")
    assert not (tmp_path / "t.2").exists()


def test_nothing_to_build_from_is_said(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    with refuses("no-raw-pages", parameter="largefedbench.raw_dir"):
        build(tmp_path / "nowhere", tmp_path, words)
    with refuses("snapshot-not-set", parameter="largefedbench.snapshot"):
        build(raw, tmp_path, words, snapshot=None)
    with refuses("no-client-left"):
        build(raw, tmp_path, words, from_date=date(2030, 1, 1))


def test_a_licence_that_is_not_kept_names_no_file(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    bad = [preprint(f"10.1101/{name}", type="WITHDRAWN", license=name) for name in ("../../../escaped", "N/A")]
    (raw / "biorxiv/bad.json").write_bytes(preprint_page(bad))
    snapshot = build(raw, tmp_path / "out", words, cleaning="published", sources=("biorxiv",))
    assert not list(tmp_path.rglob("escaped*"))
    assert provenance(snapshot)["sources"]["biorxiv"]["left_out"]["licence_not_kept"]["turns"] == 3


def test_provenance_papers_and_licences(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words)
    facts = provenance(snapshot)
    assert facts["tokenizer"] == {"name": "words", "sha256": words.sha256}
    assert facts["queries"] == [{"query": "details/biorxiv/2024-05-01/2024-05-07", "window": "biorxiv/2024-05-01"}]
    assert facts["dates"]["congress"] == ["2024-05-09", "2024-07-30"]
    assert "raw_dir" not in facts["parameters"]
    pages = (snapshot / "raw_pages.sha256").read_text("utf-8")
    assert pages.count("\n") == 8
    card = (snapshot / "README.md").read_text("utf-8")
    assert "Contains Parliamentary information licensed under the Open Parliament Licence v3.0." in card
    assert "do not use it for commercial gain" in (snapshot / "licenses/speakers_permission_ca.txt").read_text("utf-8")
    croissant = json.loads((snapshot / "croissant.json").read_text("utf-8"))
    files = [one for one in croissant["distribution"] if one["@type"] == "cr:FileObject"]
    hashes = verify(snapshot)
    assert all(hashes[one["contentUrl"]] == one["sha256"] for one in files)
    ids = [one["@id"] for one in croissant["distribution"]]
    for record_set in croissant["recordSet"]:
        for field in record_set["field"]:
            assert field["source"]["fileSet"]["@id"] in ids


def test_a_flipped_byte_anywhere_is_an_error_that_names_the_file(
    raw: Path, tmp_path: Path, words: ChunkTokenizer
) -> None:
    snapshot = build(raw, tmp_path, words)
    verify(snapshot)
    for path in sorted(path for path in snapshot.rglob("*") if path.is_file() and path.name != MANIFEST):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with refuses("snapshot-file-changed", value=path.relative_to(snapshot).as_posix()):
            read_snapshot(snapshot, "congress")
        path.write_bytes(data)
    manifest = (snapshot / MANIFEST).read_bytes()
    (snapshot / MANIFEST).write_bytes(manifest.replace(b"  ", b" \x00", 1))
    with refuses("manifest-line-unusable", value=1):
        verify(snapshot)
    (snapshot / MANIFEST).write_bytes(manifest)
    (snapshot / "extra").write_bytes(b"")
    with refuses("snapshot-holds-stranger", value="extra"):
        verify(snapshot)
    (snapshot / "extra").rename(tmp_path / "extra")
    (snapshot / "provenance.json").unlink()
    with refuses("snapshot-file-missing", value="provenance.json"):
        verify(snapshot)


def test_read_snapshot_gives_the_records_of_every_corpus(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words)
    records = read_snapshot(snapshot, "congress")
    assert tuple(records.columns) == (*RECORD_COLUMNS, SPLIT_COLUMN)
    assert read_snapshot(snapshot, "congress", "train").equals(records[records["split"] == "train"])
    assert records["client_id"].is_monotonic_increasing
    assert set(records["label"]) == {"CA", "GB", "US"}
    undated = read_snapshot(snapshot, "scitldr")
    assert undated["date"].tolist() == [None]
    assert undated["label"].tolist() == [None]
    with refuses("config-unknown-to-snapshot", value="nothing"):
        read_snapshot(snapshot, "nothing")
    with refuses("split-unknown-to-config", value="all"):
        read_snapshot(snapshot, "congress", "all")
    with refuses("snapshot-not-finished"):
        read_snapshot(tmp_path / "nowhere", "congress")


def test_what_a_hub_leaves_beside_a_snapshot_is_no_part_of_it(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    snapshot = build(raw, tmp_path, words)
    hashes = verify(snapshot)
    for name in (".cache/huggingface/download/README.md.metadata", ".gitattributes", ".git/HEAD"):
        (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        (snapshot / name).write_text("the hub's own", "utf-8")
    assert verify(snapshot) == hashes
    (snapshot / ".cache" / "another").write_text("not the hub's", "utf-8")
    with refuses("snapshot-holds-stranger"):
        verify(snapshot)


def test_croissant_has_the_snapshots_version_and_a_date(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    def described(name: str, **changes: object) -> tuple[str, str]:
        snapshot = build(raw, tmp_path / name, words, **changes)
        croissant = json.loads((snapshot / "croissant.json").read_text("utf-8"))
        return croissant["version"], croissant["datePublished"]

    assert described("a")[1] == provenance(build(raw, tmp_path / "a", words))["dates"]["congress"][1]
    assert described("b", date_published="2025-07-01") == (described("a")[0], "2025-07-01")


def test_datasets_loads_it_offline(
    raw: Path, tmp_path: Path, words: ChunkTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    snapshot = build(raw, tmp_path, words, split=conf_base(Splitting, validation_share=0.3, test_share=0.3))
    loaded = datasets.load_dataset(str(snapshot), "congress", cache_dir=str(tmp_path / "cache"))
    sizes = provenance(snapshot)["configs"]["congress"]
    assert {split: len(part) for split, part in loaded.items()} == {s: one["clients"] for s, one in sizes.items()}
    default = datasets.load_dataset(str(snapshot), cache_dir=str(tmp_path / "cache"))  # the first config
    assert default["train"].column_names == [field.name for field in CLIENTS]
    assert set(default["train"]["source"]) == {"biorxiv"}
    chunks = datasets.load_dataset(str(snapshot), "congress_chunks", cache_dir=str(tmp_path / "cache"))
    assert chunks["train"].column_names == ["client_id", "index", "text", "start", "end", "n_tokens", "split"]
