"""Which public text a graph begins with, and that a described one reads nothing private."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from kedro.pipeline import Pipeline

from fedtext.corpora.public import public_records
from fedtext.evaluation.fluency import FLUENT
from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.languages import THAT_WRITES
from fedtext.params.corpus import PUBLISHED_NAMES, Corpus
from fedtext.params.privacy import Privacy
from fedtext.pipelines.sources.nodes import another_generator, judge_generator, read_private_published
from fedtext.pipelines.sources.pipeline import described_text_pipeline, public_text_pipeline
from tests.corpora.published.forms import COUNT, MAKERS
from tests.parameters import conf_base
from tests.pipelines.conftest import configure
from tests.refusals import refuses

KIND = "questions that customers ask their bank"


def job(**corpus: str) -> Pipeline:
    from fedtext.pipeline_registry import register_pipelines

    configure(corpus=corpus)
    return register_pipelines()["popri"]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("corpus", "nodes"),
    [
        ({}, {"propose_topics", "write_described_texts"}),  # conf/base says what the docstrings are
        ({"description": KIND}, {"propose_topics", "write_described_texts"}),
        ({"description": None}, {"read_public_records"}),  # installed packages' docstrings
        ({"source": "table", "path": "mine.csv"}, {"read_public_records"}),  # of a table it says nothing
        # The user's own text comes first, and the generator may know nothing of it.
        ({"description": KIND, "public_path": "mine.csv"}, {"read_public_records", "judge_generator"}),
    ],
)
def test_public_text_is_the_user_s_else_as_described_else_docstrings(corpus: dict[str, str], nodes: set[str]) -> None:
    settings = configure(corpus=corpus)
    assert {node.name for node in public_text_pipeline(settings).nodes} == nodes
    found = {node.name for node in job(**corpus).nodes}
    assert found & {"read_public_records", "judge_generator", "propose_topics", "write_described_texts"} == nodes


def test_the_flow_check_finds_nothing_and_nothing_private_is_read() -> None:
    from fedtext.pipeline_registry import register_pipelines
    from fedtext.wiring.config import ProjectConfigLoader, privacy_class
    from tests.contracts.graphs import check_registered_pipelines

    configure(corpus={"description": KIND})
    assert check_registered_pipelines(register_pipelines()) == []
    loader = ProjectConfigLoader.active
    assert loader is not None
    names = {name for name in described_text_pipeline().datasets() if not name.startswith("params:")}
    assert names == {"describer", "encoder", "public_topics", "public_records"}
    assert {privacy_class(name, loader["catalog"][name]) for name in names} == {"public"}


def test_a_generator_is_warned_of_that_hardly_knows_the_public_text(caplog: pytest.LogCaptureFixture) -> None:
    """The bundled generator has read documentation, and nothing else."""
    generator = LocalGenerator("bundled:generator")
    known = pd.DataFrame({"text": list(public_records(conf_base(Corpus), max_texts=40)["text"])})
    strange = pd.DataFrame({"text": ["My card was eaten by the machine, and nobody at the branch will help me!"] * 3})
    fit = judge_generator(known, generator)
    assert fit["nats_per_byte"] < FLUENT
    assert not caplog.records
    assert judge_generator(strange, generator)["nats_per_byte"] > FLUENT
    assert "hardly knows texts like those of corpus.public_path" in caplog.text
    assert "models.generator=smollm2 " in caplog.text
    german = pd.DataFrame({"text": ["Meine Karte wurde vom Automaten eingezogen, und niemand hilft mir!"] * 3})
    judge_generator(german, generator)
    assert f"models.generator={THAT_WRITES} " in caplog.text  # SmolLM2 writes English alone


@pytest.mark.parametrize(("generator", "other"), [("bundled:generator", "smollm2"), ("smollm2", THAT_WRITES)])
def test_a_generator_is_not_named_as_its_own_remedy(generator: str, other: str) -> None:
    assert another_generator(generator, ["My card was eaten by the machine."]) == other


NIGHTLY = [pytest.param(name, marks=pytest.mark.slow) for name in PUBLISHED_NAMES[2:]]  # each builds all graphs


@pytest.mark.parametrize("name", [*PUBLISHED_NAMES[:2], *NIGHTLY])
def test_every_published_data_set_has_one_door(name: str) -> None:
    nodes = {node.name for node in job(source=name, path="mine").nodes}
    assert {one for one in nodes if one.startswith("read_private_")} == {"read_private_published"}


def test_a_published_data_set_becomes_private_records(tmp_path: Path) -> None:
    """PubMed's reader stands floors above the others, and comes in by the same node."""
    for name in PUBLISHED_NAMES:
        folder = tmp_path / name
        folder.mkdir()
        corpus = conf_base(Corpus, source=name, path=str(MAKERS[name](folder)))
        assert len(read_private_published(corpus, conf_base(Privacy, population=20))) >= COUNT


def test_private_rows_are_not_shown_as_public(tmp_path: Path) -> None:
    path = str(MAKERS["banking77"](tmp_path))
    corpus = conf_base(Corpus, source="banking77", path=path, public_path=path)
    with refuses("public-texts-are-private"):
        read_private_published(corpus, conf_base(Privacy, population=20))
