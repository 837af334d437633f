"""What the catalog says of a data set: where it lies, in whichever words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedtext.privacy.flow import check_files
from fedtext.wiring.guard.catalog import place

WORDS = ["{}", "file://{}", "local://{}", "file:{}", "simplecache::file://{}", "simplecache::{}"]


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
