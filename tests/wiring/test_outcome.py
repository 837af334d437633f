"""The last lines of a run say where its texts are, and which file an earlier run left."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline, node
from kedro_datasets.pandas import CSVDataset

from fedtext.wiring.hooks.outcome import outcome


def job(*made: str) -> Pipeline:
    return Pipeline([node(lambda: 0, None, list(made), name="make")])


@pytest.fixture
def catalog(tmp_path: Path) -> DataCatalog:
    files = {name: CSVDataset(filepath=str(tmp_path / f"{name}.csv")) for name in ("pe_synthetic", "pe_for_reading")}
    for file in files.values():
        file.save(pd.DataFrame({"text": ["a"]}))
    return DataCatalog(files)


def test_texts_that_the_run_made_have_their_place(catalog: DataCatalog, tmp_path: Path) -> None:
    counted = "private_counts_synthetic"  # the evaluation's, of no algorithm
    said = list(outcome(job("pe_cost", "pe_synthetic", "pe_for_reading", counted), catalog, 1.0))
    assert sum(line.startswith("texts") for line in said) == 1
    assert f"texts           {tmp_path / 'pe_synthetic.csv'}" in said
    assert f"to read first   {tmp_path / 'pe_for_reading.csv'}" in said


def test_texts_for_reading_of_an_earlier_run_are_said_to_be_that(catalog: DataCatalog, tmp_path: Path) -> None:
    unread = job("pe_cost", "pe_synthetic")
    said = list(outcome(unread, catalog, 1.0))
    assert f"texts           {tmp_path / 'pe_synthetic.csv'}" in said
    assert f"to read first   {tmp_path / 'pe_for_reading.csv'} (as an earlier run left it)" in said
    (tmp_path / "pe_for_reading.csv").unlink()
    assert not any("to read first" in line for line in outcome(unread, catalog, 1.0))


def test_a_part_that_writes_texts_says_of_which_run_the_report_is(tmp_path: Path) -> None:
    report = tmp_path / "report.csv"
    files = {
        "pe_synthetic": CSVDataset(filepath=str(tmp_path / "a.csv")),
        "pe_report": CSVDataset(filepath=str(report)),
    }
    report.write_text("text\na\n")
    said = list(outcome(job("pe_synthetic"), DataCatalog(files), 1.0))
    assert f"report          {report} (as an earlier run left it)" in said
