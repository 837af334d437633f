"""What is newer than a model, counted; texts drawn evenly from both sides; and the pipeline from a snapshot to a page."""

from __future__ import annotations

import datetime
from pathlib import Path

import pandas as pd
import pytest

from fedtext.largefedbench.build import build_snapshot
from fedtext.largefedbench.newer import NEWER, OLDER, UNDATED, count_by_month, dated_records, draw_texts
from fedtext.largefedbench.tokens import ChunkTokenizer
from fedtext.models.language_model import LanguageModel
from fedtext.params.contamination import Contamination
from fedtext.params.corpus import Spans
from fedtext.params.largefedbench import LargeFedBench
from fedtext.pipelines.contamination import nodes
from tests.parameters import conf_base
from tests.refusals import refuses

from .pages import preprint, preprint_page

CUTOFF = datetime.date(2024, 3, 31)
ON_DEVICE = LanguageModel("bundled:on_device")
THINGS = ["soup", "kettle", "ferry", "lamp", "garden", "bread", "river", "ladder", "window", "violin", "coat", "bridge"]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory, words: ChunkTokenizer) -> Path:
    """Twelve preprints before the cutoff, on it or after it; a short one; medRxiv on one side only."""
    root = tmp_path_factory.mktemp("dated")

    def rows(server: str, months: tuple[int, ...]) -> bytes:
        return preprint_page([
            preprint(
                f"10.1101/{server}{month}{i}", server=server, date=f"2024-{month:02d}-{28 + i % 4 if month == 3 else 10}",
                abstract=f"The {thing} was studied by us in month {month}, and we found that it {'grew ' * i}at night.",
            )
            for month in months
            for i, thing in enumerate(THINGS)
        ])  # fmt: skip

    for server, months in (("biorxiv", (3, 5)), ("medrxiv", (5,))):
        (root / "raw" / server).mkdir(parents=True)
        (root / "raw" / server / "page.json").write_bytes(rows(server, months))
    params = conf_base(LargeFedBench, snapshot="a", chunking=Spans(length=4, min_tokens=2), near_duplicates="ignore")
    return build_snapshot(params, words, raw_dir=root / "raw", out_dir=root)


def contamination(snapshot: Path, **changes: object) -> Contamination:
    told = {"snapshot": str(snapshot), "cutoff": CUTOFF, "words": 8, "texts": 11, "ngram": 2}
    return conf_base(Contamination, {**told, **changes})


def test_records_are_told_apart_by_date(snapshot: Path) -> None:
    records = dated_records(snapshot, None, CUTOFF)
    assert records["side"].value_counts().to_dict() == {NEWER: 24, OLDER: 12}
    assert set(records.loc[records["side"] == OLDER, "date"]) == {f"2024-03-{day}" for day in (28, 29, 30, 31)}
    assert dated_records(snapshot, "medrxiv", CUTOFF)["side"].unique().tolist() == [NEWER]
    assert count_by_month(records) == [
        {"config": "biorxiv", "source": "biorxiv", "month": "2024-03", "side": OLDER, "records": 12},
        {"config": "biorxiv", "source": "biorxiv", "month": "2024-05", "side": NEWER, "records": 12},
        {"config": "medrxiv", "source": "medrxiv", "month": "2024-05", "side": NEWER, "records": 12},
    ]


def test_the_day_before_turns_the_last_day_s_records(snapshot: Path) -> None:
    earlier = dated_records(snapshot, "biorxiv", CUTOFF - datetime.timedelta(days=1))
    assert (earlier["side"] == NEWER).sum() == 12 + 3


def test_records_without_a_date_are_on_no_side(raw: Path, tmp_path: Path, words: ChunkTokenizer) -> None:
    params = conf_base(LargeFedBench, snapshot="a", chunking=Spans(length=4, min_tokens=2))
    records = dated_records(build_snapshot(params, words, raw_dir=raw, out_dir=tmp_path), "scitldr", CUTOFF)
    assert set(records["side"]) == {UNDATED}
    assert {one["month"] for one in count_by_month(records)} == {UNDATED}


def test_texts_are_drawn_evenly_and_of_sources_with_both_sides(snapshot: Path) -> None:
    records = dated_records(snapshot, None, CUTOFF)
    drawn = draw_texts(snapshot, records, texts=5, words=16, seed=0)
    assert drawn.groupby(["source", "side"]).size().to_dict() == {("biorxiv", NEWER): 5, ("biorxiv", OLDER): 5}
    assert drawn["client_id"].is_unique
    assert {len(text.split()) for text in drawn["text"]} == {16}
    pd.testing.assert_frame_equal(drawn, draw_texts(snapshot, records.sample(frac=1), texts=5, words=16, seed=0))
    assert set(draw_texts(snapshot, records, texts=5, words=16, seed=1)["client_id"]) != set(drawn["client_id"])
    assert len(draw_texts(snapshot, records, texts=50, words=16, seed=0)) == 24
    assert not len(draw_texts(snapshot, records[records["side"] == NEWER], texts=5, words=16, seed=0))
    assert not len(draw_texts(snapshot, records, texts=5, words=500, seed=0))


def test_from_a_snapshot_to_a_page(snapshot: Path) -> None:
    params = contamination(snapshot)
    newer, counts, texts = nodes.date_records(params, "unused")
    assert len(newer) == 24
    assert counts["totals"] == {NEWER: 24, OLDER: 12, UNDATED: 0}
    completions = nodes.complete_texts(texts, ON_DEVICE, params)
    likelihoods = nodes.score_likelihoods(texts, ON_DEVICE, params, ON_DEVICE)
    report, page = nodes.report_contamination(counts, completions, likelihoods, ON_DEVICE, params)
    assert set(report["tests"]) == {"longest_run", "shared_ngrams", "log_likelihood", "reference", "beyond_reference"}
    assert report["texts"] == 11
    assert report["model"] == "bundled:on_device"
    assert "| biorxiv | biorxiv | 2024-03 | older | 12 |" in page
    assert "24 are newer, 12 are not, and 0 have no date" in page


def test_a_model_that_knows_the_older_half_by_heart_is_called_out(snapshot: Path) -> None:
    params = contamination(snapshot)
    _, counts, texts = nodes.date_records(params, "unused")
    true = [" ".join(text.split()[8:]) for text in texts["text"]]

    class ByHeart:
        identity = "m at http://localhost"

        def write(self, requests: list[str], **_: object) -> list[list[str]]:
            return [[text if side == OLDER else "no"] for text, side in zip(true, texts["side"], strict=True)]

    completions = nodes.complete_texts(texts, ByHeart(), params)
    likelihoods = nodes.score_likelihoods(texts, ByHeart(), params)  # a server tells none
    report, page = nodes.report_contamination(counts, completions, likelihoods, ByHeart(), params)
    assert set(report["tests"]) == {"longest_run", "shared_ngrams"}
    assert report["tests"]["shared_ngrams"]["estimate"] == 1
    assert "it has probably read some" in page
    assert "m at http://localhost" in page


def test_too_few_texts_are_counted_and_not_tested(snapshot: Path) -> None:
    params = contamination(snapshot, config="medrxiv")
    _, counts, texts = nodes.date_records(params, "unused")
    completions = nodes.complete_texts(texts, ON_DEVICE, params)
    likelihoods = nodes.score_likelihoods(texts, ON_DEVICE, params, ON_DEVICE)
    report, page = nodes.report_contamination(counts, completions, likelihoods, ON_DEVICE, params)
    assert report["tests"] == {}
    assert "Not tested: no source has 10 long enough records on both sides" in page


def test_refusals_name_the_remedy(snapshot: Path, tmp_path: Path) -> None:
    with refuses("contamination-not-told", parameter="contamination"):
        nodes.date_records(conf_base(Contamination), "unused")
    with refuses("unknown-config-of-older", value="congress"):
        nodes.date_records(contamination(snapshot, config="congress"), "unused")
    with refuses("snapshot-not-finished"):
        nodes.date_records(contamination(tmp_path), "unused")
    with refuses("unfit-value"):
        conf_base(Contamination, words=151)
    assert conf_base(Contamination, snapshot=2025.1).snapshot == "2025.1"
