"""The nodes of `largefedbench`, `largefedbench_diff` and `snapshot`, called as Kedro calls them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from fedtext.corpora.records import RECORD_COLUMNS, SPLIT_COLUMN
from fedtext.datasets.snapshots import SnapshotDataset
from fedtext.largefedbench.figures import sample_speeches, speech_map, tokens_of_clients, tokens_per_client_by_config
from fedtext.largefedbench.licenses import LICENSES
from fedtext.largefedbench.raw_pages import RawPageError
from fedtext.largefedbench.snapshot import publish
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.params.corpus import Corpus
from fedtext.params.largefedbench import LargeFedBench, LicenseId
from fedtext.params.privacy import Privacy
from fedtext.pipelines.largefedbench.nodes import (
    build_largefedbench,
    compare_snapshots,
    describe_largefedbench,
    draw_largefedbench,
)
from fedtext.pipelines.sources.nodes import read_private_snapshot
from fedtext.resuming.fingerprint import FileDigests, local_paths
from fedtext.system.refusal import explanation
from tests.parameters import conf_base
from tests.refusals import refuses

PRIVACY = conf_base(Privacy, epsilon=1.0, delta=1e-5)


@pytest.fixture
def params(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> LargeFedBench:
    (tmp_path / "tokenizer.json").write_text(words.definition, "utf-8")
    return conf_base(
        LargeFedBench,
        raw_dir=str(raw),
        out_dir=str(tmp_path / "snapshots"),
        snapshot=2025.1,
        tokenizer=str(tmp_path / "tokenizer.json"),
    )


def built(params: LargeFedBench) -> Path:
    """What the build's node and the data set of its output make together."""
    return publish(build_largefedbench(params))


def read(params: LargeFedBench, snapshot: str | float, **corpus: object) -> pd.DataFrame:
    """What the data set of a snapshot's records and the node that takes it make together."""
    place = SnapshotDataset(filepath=params.out_dir, chosen=snapshot).load()
    declared = conf_base(Corpus, source="snapshot", snapshot=snapshot, config="congress", **corpus)
    return read_private_snapshot(place, declared, PRIVACY)


def test_from_raw_pages_to_records(params: LargeFedBench) -> None:
    snapshot = built(params)
    assert snapshot == Path(params.out_dir) / "2025.1"
    facts, card = describe_largefedbench(snapshot)
    assert facts["sources"]["ca"]["clients"] == 2
    assert "| whole turn | chair |" in card
    records = read(params, 2025.1)
    assert tuple(records.columns) == (*RECORD_COLUMNS, SPLIT_COLUMN)
    assert len(records) == 6
    few, more = (read(params, str(snapshot), max_clients=n) for n in (3, 5))
    assert 0 < len(few) < len(more) < 6  # about so many: a hash of its id takes each, whoever else is there
    assert set(few["client_id"]) < set(more["client_id"]) < set(records["client_id"])
    assert few["client_id"].is_monotonic_increasing


def test_diff_by_name(params: LargeFedBench) -> None:
    built(params)
    built(params.model_copy(update={"snapshot": "2025.2", "sources": ("ca", "us")}))
    difference, changes, ids = compare_snapshots(2025.1, "2025.2", params)
    assert difference["totals"] == {"added": 0, "removed": 7, "altered": 0, "moved": 0}
    assert changes["2025.1-to-2025.2"].startswith("# 2025.1 -> 2025.2")
    assert sum(len(kinds["removed"]) for kinds in ids["2025.1-to-2025.2"]["clients"].values()) == 7


def test_a_byte_that_changes_later_is_noticed_by_the_next_run(params: LargeFedBench) -> None:
    """The directory that the parameter names is an input by content: the reading node is no longer up to date."""
    snapshot = built(params)
    (named,) = local_paths(params.out_dir)
    before = FileDigests().of(named)
    assert FileDigests().of(named) == before
    table = next((snapshot / "congress" / "clients").glob("train-*.parquet"))
    table.write_bytes(table.read_bytes()[:-1] + b"?")
    assert FileDigests().of(named) != before
    with refuses("snapshot-file-changed", value=table.relative_to(snapshot).as_posix()):
        read(params, "2025.1")


def test_refusals_name_the_remedy(params: LargeFedBench, tmp_path: Path) -> None:
    with refuses("no-raw-pages"):
        build_largefedbench(params.model_copy(update={"raw_dir": str(tmp_path / "nowhere")}))
    with refuses("snapshots-not-told"):
        compare_snapshots(None, "2025.1", params)
    with refuses("snapshot-not-finished"):
        compare_snapshots("a", "b", params)
    with refuses("not-a-snapshot"):
        read(params, "missing")
    (tmp_path / "tokenizer.json").write_bytes(b"caf\xe9")
    with refuses("tokenizer-not-utf8"):
        build_largefedbench(params)


def test_a_bad_page_is_refused_in_one_sentence_even_out_of_a_worker(params: LargeFedBench, raw: Path) -> None:
    (raw / "ca" / "bad.xml").write_bytes(b"<Hansard>")
    with refuses("page-unreadable") as caught:
        build_largefedbench(params.model_copy(update={"on_bad_page": "stop"}))
    assert isinstance(caught.value, RawPageError)
    assert caught.value.name == "ca/bad.xml"
    assert str(explanation(caught.value, Path())) == str(caught.value)


def test_figures(params: LargeFedBench) -> None:
    snapshot = built(params)
    tokens = tokens_of_clients(snapshot)
    assert {config: len(numbers) for config, numbers in tokens.items()}["congress"] == 6
    figure = tokens_per_client_by_config(tokens)
    assert all(sum(trace.y) == pytest.approx(1) for trace in figure.data)
    speeches = sample_speeches(snapshot, 5)
    assert len(set(speeches.countries)) == 3
    assert sample_speeches(snapshot, 3).texts == speeches.texts[:3]
    encoder = SimpleNamespace(name="fake", encode=lambda texts, label: np.eye(8)[[len(t) % 8 for t in texts]])
    by_config, by_country = draw_largefedbench(snapshot, encoder, params)
    assert len(by_config.data) == 5
    assert {trace.name for trace in by_country.data} == {"Canada (2)", "United Kingdom (2)", "United States (2)"}


def test_the_map_is_the_same_twice() -> None:
    draw = np.random.default_rng(0)
    points = np.concatenate([draw.normal(centre, 0.1, (20, 6)) for centre in (0, 3)])
    countries = ["US"] * 20 + ["CA"] * 20
    maps = [speech_map(points, countries, seed=0, described="dots") for _ in range(2)]
    coordinates = [{trace.name: np.array([trace.x, trace.y]) for trace in one.data} for one in maps]
    assert all((coordinates[0][name] == coordinates[1][name]).all() for name in coordinates[0])
    centres = {name: values.mean(axis=1) for name, values in coordinates[0].items()}
    spread = max(values.std(axis=1).max() for values in coordinates[0].values())
    assert np.linalg.norm(centres["Canada (20)"] - centres["United States (20)"]) > 2 * spread


def test_lists_from_the_command_line_are_words() -> None:
    assert conf_base(LargeFedBench, sources="ca us").sources == ("ca", "us")
    assert conf_base(LargeFedBench, exclude_licenses="cc_by_nc cc_by_nd").exclude_licenses == ("cc_by_nc", "cc_by_nd")


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"snapshot": "a/b"}, "not-a-directory-name"),
        ({"sources": "ca moon"}, "unknown-choice"),
        ({"exclude_licenses": "cc_by_nc cc-by-nd"}, "unknown-choice"),
        ({"near_duplicate_similarity": 0.69}, "unfit-value"),
        ({"split": {"test_from": "2024-01-01"}}, "dates-without-meaning"),
        ({"split": {"method": "temporal"}}, "one-date-missing"),
        ({"split": {"method": "temporal", "test_from": "2024-01-01"}}, "one-date-missing"),
        ({"split": {"validation_share": 0.6, "test_share": 0.5}}, "nothing-left-to-train-on"),
        (
            {"split": {"method": "temporal", "validation_from": "2024-05-01", "test_from": "2024-05-01"}},
            "no-day-for-validation",
        ),
        ({"unknown": 1}, "unknown-parameter"),
    ],
)
def test_wrong_parameters_are_refused(values: dict[str, object], code: str) -> None:
    with refuses(code):
        conf_base(LargeFedBench, values)


def test_the_licences_that_can_be_excluded_are_those_there_are() -> None:
    assert set(get_args(LicenseId)) == set(LICENSES)
