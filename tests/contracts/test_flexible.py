"""Flexible participation's registered graphs: private data leave by training, profile and votes, whatever is kept."""

from __future__ import annotations

from typing import Any

import pytest
from kedro.pipeline import Pipeline

from fedtext.corpora.published.readers import CATEGORIES
from fedtext.corpora.splits import validate_client_split
from fedtext.params.compare import Compare
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.flexible import Flexible
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.params.task import Task
from fedtext.pipelines.compare.children import merged
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import ProjectConfigLoader
from tests.contracts import graphs

ALWAYS = ["flexible.count_codes", "flexible.train_strong_silos"]
RELEASES = {
    "votes": ["flexible.cast_votes", *ALWAYS],
    "herd": [ALWAYS[0], "flexible.release_code_means", ALWAYS[1]],
    "uniform": ALWAYS,
    "none": ALWAYS,
}


def registered(env: str | None = None, **groups: dict[str, Any]) -> Pipeline:
    return graphs.registered(env, **groups)["flexible"]


@pytest.mark.parametrize("selection", RELEASES)
def test_private_data_leave_only_by_the_planned_releases(selection: str) -> None:
    from tests.contracts.graphs import check_registered_pipelines

    job = registered(flexible={"selection": selection})
    assert check_registered_pipelines({"flexible": job}) == []
    found = [node.name for node in job.nodes if Tag.RELEASE in node.tags and node.name.startswith("flexible.")]
    assert sorted(found) == RELEASES[selection]


def test_silos_of_a_private_corpus_are_declared_and_never_counted() -> None:
    declared = {"source": "table", "path": "notes.csv", "declared_public": False}
    job = registered(corpus=declared, privacy={"population": 900})
    (maker,) = (node for node in job.nodes if "flexible.population" in node.outputs)
    assert maker.inputs == ["params:silos"]
    (counter,) = (node for node in registered().nodes if "flexible.population" in node.outputs)
    assert Tag.COUNT in counter.tags


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("env", [None, "tiny", "hub", "paper", "flexible"])
def test_every_environment_builds_and_validates(env: str | None) -> None:
    registered(env)
    loader = ProjectConfigLoader.active
    assert loader is not None
    Flexible.model_validate(loader["parameters"]["flexible"])
    Silos.model_validate(loader["parameters"]["silos"])


def entries(env: str | None) -> dict[str, dict[str, Any]]:
    """All parameters of each entry of flexible participation, for made-up clients of whom records are protected."""
    registered(env, partition={"clients": 10}, privacy={"unit": "record", "epsilon": 8.0})
    loader = ProjectConfigLoader.active
    assert loader is not None
    whole = loader["parameters"]
    named = Compare.model_validate(whole["compare"]).entries
    return {name: merged(whole, entry.params) for name, entry in named.items() if entry.algorithm == "flexible"}


@pytest.mark.parametrize("env", [None, "flexible"])
def test_every_entry_of_a_comparison_is_a_run(env: str | None) -> None:
    found = entries(env)
    assert len(found) >= 40
    for name, given in found.items():
        Flexible.model_validate(given["flexible"])
        silos, dealt = Silos.model_validate(given["silos"]), Partition.model_validate(given["partition"])
        validate_client_split(dealt, Privacy.model_validate(given["privacy"]))
        assert dealt.split == "record" or dealt.method == "natural", f"{name} holds whole silos out"
        assert silos.groups in (None, 1) or dealt.method == "natural", f"{name} hashes its silos into groups"


@pytest.mark.parametrize(("env", "texts"), [(None, 400), ("flexible", 5_000)])
def test_rates_are_compared_at_as_many_texts(env: str | None, texts: int) -> None:
    found = entries(env)
    for name in ("flexible_r50", "flexible_r25", "flexible_r17", "flexible_k1"):
        given = found[name]["flexible"]
        assert given["texts"] * given["kept"] == pytest.approx(texts, rel=1e-3), name


def test_every_share_of_the_tables_has_its_three_columns() -> None:
    found = entries(None)
    for share in (1, 5, 10, 20, 30, 40):
        names = [f"flexible_strong_{share}{column}" for column in ("", "_strong_only", "_no_dp")]
        assert [found[name]["silos"]["strong"] for name in names] == [share / 100] * 3
        columns = [(found[name]["flexible"]["noise"], found[name]["flexible"]["selection"]) for name in names]
        assert columns == [(True, "votes"), (True, "none"), (False, "none")]


def test_published_values_follow_the_budget() -> None:
    """A quarter is the profile's, and training without noise has rounds and rates of its own."""
    for name, given in entries("flexible").items():
        flexible = Flexible.model_validate(given["flexible"])
        assert flexible.profile_epsilon / given["privacy"]["epsilon"] == 0.25, name
        training = (flexible.training.rounds, flexible.training.batch_size, flexible.training.server_rate)
        published = (200, 256, 1e-3) if flexible.noise else (100, 32, 5e-5)
        assert training == ((50, 64, 5e-3) if "llama" in name else published), name
        assert (flexible.training.optimizer.method == "sgd") == (name == "flexible_plain_sgd")


def test_its_environment_has_its_models_and_codes_and_no_other_paper_s() -> None:
    registered("flexible")
    loader = ProjectConfigLoader.active
    assert loader is not None
    models, whole = loader["globals"]["models"], loader["parameters"]
    named = [models[role].rpartition("/")[2] for role in ("generator", "encoder", "classifier")]
    assert named == ["gpt2", "stsb-roberta-base-v2", "roberta-base"]
    codes = Flexible.model_validate(whole["flexible"]).labels
    assert codes == tuple(f"{category}\t{stars}" for category in CATEGORIES for stars in range(1, 6))
    assert Task.model_validate(whole["task"]).labels == codes
    assert Corpus.model_validate(whole["corpus"]).code_columns == ("category", "stars")
    assert whole["chunking"]["length"] == 128
    assert entries("flexible")["flexible_llama"]["models"]["generator"] == "meta-llama/Llama-2-7b-hf"
