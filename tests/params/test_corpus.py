"""What a corpus refuses before anything is read."""

from __future__ import annotations

import pytest

from fedtext.params.corpus import Corpus
from tests.parameters import conf_base
from tests.refusals import refuses


@pytest.mark.parametrize("source", ["docstrings", "table", "snapshot"])
@pytest.mark.parametrize(("name", "read_by"), [("path", "table"), ("snapshot", "snapshot"), ("config", "snapshot")])
def test_what_only_another_source_reads_is_not_ignored(source: str, name: str, read_by: str) -> None:
    """Who gives a file without its source would otherwise get results about the docstrings."""
    given = {"source": source, name: "mine"}
    if source == read_by:
        assert getattr(conf_base(Corpus, given), name) == "mine"
        return
    with refuses("parameter-of-another-source", parameter=f"corpus.{name}"):
        conf_base(Corpus, given)


@pytest.mark.parametrize("empty", ["", "  ", ". "])
def test_a_description_says_something(empty: str) -> None:
    with refuses("empty-description", parameter="corpus.description"):
        conf_base(Corpus, description=empty)


def test_a_description_is_one_phrase() -> None:
    assert conf_base(Corpus, description=" letters\nto a bank. ").description == "letters to a bank"
