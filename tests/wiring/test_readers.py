"""What is looked at before a run is found by the names that pipelines give their nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.wiring.config import active_parameters
from fedtext.wiring.hooks.named_files import check_named_files
from fedtext.wiring.readers import Reader, readers
from tests.pipelines.conftest import configure
from tests.refusals import refuses


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


def test_public_pairs_are_looked_at_before_the_run(tmp_path: Path) -> None:
    """At an address they are fetched then: a file that is not there is found before anything is computed."""
    from fedtext.pipeline_registry import register_pipelines

    (tmp_path / "mine.csv").write_text("prompt,chosen,rejected,client_id\np,a,b,one\nq,c,d,two\n")
    told = {"source": "table", "path": str(tmp_path / "mine.csv"), "declared_public": True}
    configure(corpus=told, dpprefsyn={"form": "public", "public_pairs": str(tmp_path / "none.csv")})
    pipeline = register_pipelines()["dpprefsyn"]
    assert Reader.PUBLIC_PAIRS in readers(pipeline)
    with refuses("missing-pairs", value=str(tmp_path / "none.csv")):
        check_named_files(pipeline, active_parameters())
