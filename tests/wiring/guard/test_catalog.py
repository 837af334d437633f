"""What the catalog says of a data set: where it lies, in whichever words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedtext.privacy.flow import check_files, check_further_files
from fedtext.wiring.guard.catalog import further_places, place

WORDS = [
    "{}",
    "file://{}",
    "FILE://{}",
    "file://localhost{}",
    "local://{}",
    "file:{}",
    "simplecache::file://{}",
    "simplecache::{}",
]


def peek(said: str, **changes: Any) -> dict[str, Any]:
    return {"type": "pandas.CSVDataset", "filepath": said, **changes}


@pytest.mark.parametrize("words", WORDS)
def test_a_private_file_is_one_data_set_in_whichever_words_a_public_entry_names_it(words: str, tmp_path: Path) -> None:
    private = tmp_path.resolve() / "private_train.csv"
    there = place(peek(words.format(private)))
    assert there == private
    assert check_files({"private_train": private, "peek": there}, {"private_train": "private", "peek": "public"})
    assert place({"type": "pandas.CachedDataset", "dataset": peek(words.format(private))}) == private


def test_a_home_is_a_place_and_a_server_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place(peek("~/a.csv")) == tmp_path.resolve() / "a.csv"
    for elsewhere in ("s3://bucket/a.csv", "simplecache::s3://bucket/a.csv", ""):
        assert place(peek(elsewhere)) is None


@pytest.mark.parametrize("setting", ["{}", "file://{}", "{}/client_id=c1"])
def test_a_private_file_is_found_in_whichever_setting_of_a_public_entry(setting: str, tmp_path: Path) -> None:
    private = tmp_path.resolve() / "private_train.csv"
    asked = {"type": "huggingface.HFDataset", "dataset_name": "csv", "metadata": {"of": str(private)}}
    named = {**asked, "dataset_kwargs": {"data_files": {"train": [setting.format(private)]}}}
    files, classes = {"private_train": private}, {"private_train": "private", "peek": "public"}
    assert check_further_files({"peek": further_places(asked)}, files, classes) == []
    for config in (named, {"type": "CachedDataset", "dataset": named}):
        (found,) = check_further_files({"peek": further_places(config)}, files, classes)
        assert (found.rule, found.dataset) == ("shared file", "peek")
        assert check_further_files({"private_more": further_places(config)}, files, classes) == []
    assert further_places(peek(str(private))) == set(), "its own place is judged by itself"
