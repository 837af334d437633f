"""One small pull from each live source: shapes change, and only this notices.

    FEDTEXT_CONTACT=you@example.org pytest -m network tests/largefedbench/ingest/test_live.py

Needs a network and a contact, for the US also GOVINFO_API_KEY; a few minutes in all, and a few dozen requests.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fedtext.largefedbench.ingest.pull import pull
from fedtext.largefedbench.raw_pages import RawPageError
from fedtext.largefedbench.sources import SOURCES, raw_pages
from fedtext.largefedbench.turns import SPEECH
from fedtext.params.ingest import Ingest
from tests.parameters import conf_base

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(not os.environ.get("FEDTEXT_CONTACT"), reason="set FEDTEXT_CONTACT to pull from live sources"),
]
# A week in which all three parliaments sat, and few requests for each source.
SMALL = {
    "uk": {"chambers": "westminhall"},
    "ca": {"sessions": "44-1"},
    "pubmed": {"term": "hasabstract AND differential privacy[tiab]"},
}


@pytest.mark.parametrize("source", ["biorxiv", "medrxiv", "uk", "ca", "us", "pubmed", "openreview"])
def test_a_week_of_a_live_source(source: str, tmp_path: Path) -> None:
    if source == "us" and not os.environ.get("GOVINFO_API_KEY"):
        pytest.skip("set GOVINFO_API_KEY to pull from govinfo")
    week = {"from_date": "2024-03-18", "to_date": "2024-03-18"}
    small = {source: SMALL[source]} if source in SMALL else {}
    report = pull(conf_base(Ingest, {"source": source, "raw_dir": str(tmp_path), **week, **small}))
    assert report["windows_pulled"] == 1
    assert report["records"] > 0
    turns = [turn for page in raw_pages(tmp_path, SOURCES[source]) for turn in SOURCES[source].parse(page)]
    assert not [turn for turn in turns if isinstance(turn, RawPageError)]
    assert any(turn.kind == SPEECH for turn in turns if not isinstance(turn, RawPageError))
