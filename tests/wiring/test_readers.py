"""What is looked at before a run is found by the names that pipelines give their nodes."""

from __future__ import annotations

import pytest

from fedtext.wiring.readers import Reader, readers
from tests.pipelines.conftest import configure


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("corpus", "pipeline", "found"),
    [
        ({}, "popri", {Reader.DOCSTRINGS, Reader.DESCRIPTION}),
        ({"source": "table", "path": "mine.csv"}, "popri", {Reader.TABLE, Reader.PUBLIC, Reader.ENROLMENT}),
        ({"source": "imdb", "path": "there"}, "pe", {Reader.PUBLISHED, Reader.PUBLIC, Reader.ENROLMENT}),
        ({"source": "snapshot", "description": "speeches"}, "popri", {Reader.SNAPSHOT, Reader.DESCRIPTION}),
        ({"source": "hh", "path": "there"}, "dpprefsyn", {Reader.PAIRS, Reader.PROMPTS, Reader.ENROLMENT}),
    ],
)
def test_a_pipeline_has_the_readers_of_its_corpus(corpus: dict[str, str], pipeline: str, found: set[Reader]) -> None:
    from fedtext.pipeline_registry import register_pipelines

    configure(corpus=corpus)
    assert readers(register_pipelines()[pipeline]) == found
