"""What every registered pipeline must satisfy, whichever environment and scoring mode built it."""

from __future__ import annotations

import functools
import inspect
import typing
from pathlib import Path
from typing import Any

import pytest
from kedro.pipeline import Node, Pipeline
from kedro.validation.type_extractor import TypeExtractor

from fedtext.params import Parameters
from fedtext.params.compare import Compare
from fedtext.params.popri import SINGLE_RELEASE, Popri
from fedtext.pipeline_registry import algorithms
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import ProjectConfigLoader, active_parameters
from tests.contracts import graphs

OF_A_FILE = "pairs.read_private_pairs"  # asks for public prompts where a file of them is named
SCORINGS = [
    "witness_rff",
    "witness_linear",
    "mean_embedding",
    "mean_cosine",
    "mean_cosine_centred",
    "nearest_histogram",
]


def registered(env: str | None = None, **popri: object) -> dict[str, Pipeline]:
    """All pipelines as `kedro run --env ENV --params popri....` would build them."""
    return graphs.registered(env, **({"popri": popri} if popri else {}))


def jobs() -> dict[str, Pipeline]:
    """Every algorithm's whole job: what ends in a scorecard of its own name."""
    found = {name: job for name, job in registered().items() if f"{name}_scorecard" in job.all_outputs()}
    assert {"popri", "pe", "pe_sft", "dp_fedavg", "dp_ftrl"} <= set(found)
    return found


def every_node() -> list:
    nodes = {node.name: node for pipeline in registered().values() for node in pipeline.nodes}
    for scoring in ("mean_cosine",):
        for pipeline in registered(scoring=scoring, checkpoint="fid_on_private_validation").values():
            nodes |= {node.name: node for node in pipeline.nodes}
    return list(nodes.values())


def function_of(node: Node) -> Any:
    """The function of a node, without arguments that are fixed."""
    return node.func.func if isinstance(node.func, functools.partial) else node.func


def test_every_parameter_of_a_node_has_a_type_that_resolves() -> None:
    for node in every_node():
        hints = typing.get_type_hints(function_of(node))
        untyped = set(inspect.signature(function_of(node)).parameters) - set(hints)
        assert not untyped, f"{node.name}: {untyped} have no type"
        assert "return" in hints, f"{node.name} has no return type"


def test_nodes_that_read_docstrings_of_installed_packages_depend_on_them() -> None:
    nodes = every_node()
    known = {"public_records", "stdlib_records", "public_prompts"}
    readers = {n.name for n in nodes if known & set(function_of(n).__code__.co_names) and n.name != OF_A_FILE}
    assert "read_pretraining_text" in readers
    assert readers == {n.name for n in nodes if Tag.READS_PACKAGES in n.tags}


def test_nodes_are_short() -> None:
    for node in every_node():
        source, _ = inspect.getsourcelines(function_of(node))
        assert len(source) <= 30, f"{node.name} has {len(source)} lines: move the work into the library"


@pytest.mark.parametrize("scoring", SCORINGS)
def test_private_data_leave_only_by_releases(scoring: str) -> None:
    from tests.contracts.graphs import check_registered_pipelines

    overrides = {"scoring": scoring}
    if scoring not in SINGLE_RELEASE:
        overrides |= {"prompt_pool": "random", "oversample": 1.0}
    assert check_registered_pipelines(registered(**overrides)) == []


def test_trainings_that_are_chosen_on_validation_text_read_it_and_all_else_stays_allowed() -> None:
    from tests.contracts.graphs import check_registered_pipelines

    pipelines = graphs.registered(None, evaluation={"training": {"chosen_on": "validation"}})
    assert check_registered_pipelines({"popri": pipelines["popri"]}) == []
    trained = [node for node in pipelines["popri"].nodes if node.name.endswith((".score_texts", ".score_controls"))]
    assert len(trained) == 2
    assert all("private_validation" in node.inputs for node in trained)


@pytest.mark.parametrize("env", [None, "tiny", "hub", "paper"])
def test_every_environment_builds_and_validates(env: str | None) -> None:
    pipelines = registered(env)
    loader = ProjectConfigLoader.active
    assert loader is not None
    popri = Popri.model_validate(loader["parameters"]["popri"])
    rounds = {name for name in pipelines["popri"].all_outputs() if ".state" in name and ".round_" in name}
    assert len(rounds) == popri.rounds


@pytest.mark.parametrize("env", ["hub", "paper"])
def test_a_model_of_the_hub_trains_one_client_at_a_time(env: str) -> None:
    registered(env)  # 1.4 GB a client and core; the bundled model's clients are trained many at once
    loader = ProjectConfigLoader.active
    assert loader is not None
    assert [loader["parameters"][name]["local"]["clients_at_once"] for name in ("dp_fedavg", "dp_ftrl")] == [1, 1]


@pytest.mark.parametrize("scoring", SCORINGS)
def test_ballots_are_charged_every_round_and_single_releases_once(scoring: str) -> None:
    overrides = {"scoring": scoring, "rounds": 3, "prompt_pool": "random", "oversample": 1.0}
    releases = [node for node in registered(**overrides)["popri"].nodes if Tag.RELEASE in node.tags]
    assert len(releases) == (1 if scoring in SINGLE_RELEASE else 3)


def test_what_an_algorithm_reports_lies_in_its_own_folder() -> None:
    from kedro.io import DataCatalog

    for algorithm, job in jobs().items():
        loader = ProjectConfigLoader.active
        assert loader is not None
        catalog = DataCatalog.from_config(loader["catalog"])
        reported = [name for name in job.all_outputs() if name.startswith(f"{algorithm}_")]
        folders = {
            name: Path(str(catalog.get(name)._filepath)).parent.name
            for name in reported
            if name.endswith(("figure", "report"))
        }
        assert folders == dict.fromkeys(folders, algorithm)
        assert len(folders) >= 4


def test_an_algorithm_makes_all_that_its_job_reads() -> None:
    models = {"generator", "downstream", "describer", "chunk_tokenizer", "on_device", "encoder", "masked_model"}
    given = models | {"release_history", "run_facts"}
    for name, job in jobs().items():
        read = {dataset for dataset in job.inputs() if not dataset.startswith("params:")}
        read = {dataset for dataset in read if not dataset.startswith("plm_")}  # a generator by its name
        assert read <= given, f"{name}: no node writes {', '.join(sorted(read - given))}"


def test_an_algorithm_s_namespace_is_its_registered_name() -> None:
    """The comparison finds an algorithm's seconds by it."""
    for name, job in jobs().items():
        assert [node.namespace for node in job.nodes if f"{name}_privacy_report" in node.outputs] == [name]


def test_every_job_has_the_ledger_of_its_privacy_report() -> None:
    """The last lines of a run price the data set by it; an algorithm that stands on another has no ledger of its own."""
    for name, job in jobs().items():
        (writer,) = (node for node in job.nodes if f"{name}_privacy_report" in node.outputs)
        assert {each for each in writer.inputs if each.endswith("_ledger")} & job.all_outputs(), name


def test_an_algorithm_without_rounds_has_no_figures_of_rounds() -> None:
    found = jobs()
    for name, algorithm in algorithms().items():
        drawn = {algorithm.outputs.figure("rounds"), algorithm.outputs.figure("rounds_map")}
        assert drawn & found[name].all_outputs() == (drawn if algorithm.rounds else set()), name
    assert not algorithms()["pe_sft"].rounds


def test_every_algorithm_can_be_compared() -> None:
    known = list(jobs())
    given = active_parameters()["compare"]
    Compare.model_validate(given).validate_names(known)
    assert list(Compare.model_validate(given | {"algorithms": " ".join(known)}).chosen) == known


def test_conf_base_has_every_parameter() -> None:
    models = TypeExtractor(registered()).extract_types_from_pipelines()
    assert models["popri"] is Popri
    given = active_parameters()
    assert [missing for name in models for missing in left_out(name, models[name], given[name])] == []


def test_a_group_that_is_a_model_is_read_whole() -> None:
    """Kedro puts each model in its place by name. A part of a group that is a model already it refuses."""
    measured = {"entities": {"measured": True}, "questions": {"measured": True}}
    models = TypeExtractor(graphs.registered(None, evaluation=measured)).extract_types_from_pipelines()
    assert "evaluation" in models
    assert [name for name in models if name.rpartition(".")[0] in models and is_model(models[name])] == []


def is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Parameters)


def left_out(name: str, model: type, given: dict[str, object]) -> list[str]:
    """Fields of a parameter model, and of the models in it, that `given` has not."""
    found = [f"{name}.{field}" for field in model.model_fields if field not in given]
    for field, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, Parameters) and field in given:
            found += left_out(f"{name}.{field}", inner, given[field])
    return found


def test_all_graphs_are_built_of_one_reading_of_each_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading of the catalog takes a tenth of a second, and a comparison has a hundred runs."""
    read: list[str] = []
    as_it_is = ProjectConfigLoader.__getitem__

    def counted(self: ProjectConfigLoader, key: str) -> dict[str, object]:
        read.append(key)
        return as_it_is(self, key)

    monkeypatch.setattr(ProjectConfigLoader, "__getitem__", counted)
    registered(rounds=5)  # which no other contract has built before
    assert read.count("catalog") == 1
    assert read.count("parameters") == 1
