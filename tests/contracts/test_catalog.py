"""The catalog's patterns: each data set of a pipeline fits the one that is meant, and a name of no pipeline fits none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from kedro.io import AbstractDataset

from fedtext.wiring.config import active_loader
from fedtext.wiring.guard.catalog import catalog_resolver, dataset_classes, entry, place
from tests.contracts.graphs import registered

CHOICES = [
    {},
    {"popri": {"scoring": "mean_cosine"}, "pe": {"lookahead": 2}, "wasp": {"votes": "top_q"}},
    {"flexible": {"selection": "herd"}, "dpprefsyn": {"form": "clustered"}},
]
NEARLY = ["popri.candidate", "popri.round_01.ledgers", "popri.round_01.nonsense", "popri_nonsense", "nonsense"]


@pytest.mark.parametrize("choice", CHOICES, ids=range(len(CHOICES)))
def test_a_pattern_of_fewer_parts_takes_no_longer_name(choice: dict[str, dict[str, object]]) -> None:
    """`{algorithm}.candidates` would take `pe.round_01.candidates` for those of a `pe.round_01`, of another class."""
    pipelines = registered("tiny", **choice)
    resolver, root = catalog_resolver(active_loader()["catalog"]), active_loader().data_root
    found = set().union(*(pipeline.datasets() for pipeline in pipelines.values()))
    places = {name: place(entry(name, resolver)) for name in found if not name.startswith("params:")}
    below = {
        name: path.relative_to(root) for name, path in places.items() if path is not None and path != root / ".fedtext"
    }
    assert len(below) >= 400
    assert [name for name, path in below.items() if "." in str(path.parent)] == []


def test_names_of_no_pipeline_fit_no_pattern() -> None:
    registered()
    resolver = catalog_resolver(active_loader()["catalog"])
    assert dataset_classes(NEARLY, resolver) == {}
    assert [entry(name, resolver) for name in NEARLY] == [{}] * len(NEARLY)


def test_texts_for_people_open_in_a_spreadsheet(tmp_path: Path) -> None:
    """Excel reads CSV in the machine's own encoding unless a mark says UTF-8; pandas takes the mark off again."""
    registered()
    own = entry("popri_for_reading", catalog_resolver(active_loader()["catalog"]))
    dataset = AbstractDataset.from_config("texts", {**own, "filepath": str(tmp_path / "for_reading.csv")})
    texts = pd.DataFrame({"text": ["« J\u2019ai reçu, hier\u00a0! »", "患者主诉头晕。"], "plausibility": [-1.5, -2.0]})
    dataset.save(texts)
    assert (tmp_path / "for_reading.csv").read_bytes().startswith(b"\xef\xbb\xbftext,")
    pd.testing.assert_frame_equal(dataset.load(), texts)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "for_reading.csv"), texts)
