"""The evaluation's two forms as graphs, and the one with DP run in memory with a real on-device model and the real mechanism."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline, node
from kedro.runner import SequentialRunner

from fedtext.evaluation.tasks.classification import compare_released_classifications, release_classification
from fedtext.federation.units import Population
from fedtext.params.corpus import Chunking, Corpus
from fedtext.params.evaluation import Classification, Evaluation
from fedtext.params.privacy import Privacy
from fedtext.params.task import Task
from fedtext.params.training import TunedTraining
from fedtext.privacy.noise import new_noise_key
from fedtext.privacy.tags import Tag
from fedtext.reporting.tables import task_tables
from fedtext.wiring.algorithm import no_controls
from fedtext.wiring.config import active_loader
from fedtext.wiring.hooks.tracking import run_name
from tests.parameters import conf_base
from tests.pipelines.conftest import ON_DEVICE, HashEncoder, Kept, configure, made_up
from tests.refusals import refuses

TABLE = {"source": "table", "path": "mine.csv"}
CONTROL = "private_counts_private"


def job(corpus: dict[str, Any], **evaluation: Any) -> dict[str, Pipeline]:
    """Every registered pipeline of a corpus and these parameters of the evaluation."""
    from tests.contracts.graphs import registered

    return registered(corpus=corpus, evaluation=evaluation)


FORMS: list[dict[str, Any]] = [
    {},
    {"dp": False},
    {"private_control": True},
    {"dp": False, "private_control": True},
]


@pytest.mark.parametrize("evaluation", FORMS)
def test_private_data_leave_only_by_releases_in_every_form(evaluation: dict[str, Any]) -> None:
    from tests.contracts.graphs import check_registered_pipelines

    assert check_registered_pipelines(job(TABLE, **evaluation)) == []


def exact_figures(graph: Pipeline) -> set[str]:
    """Names of the nodes whose figures of private text leave without a release."""
    return {
        node.name
        for node in graph.nodes
        if Tag.HELD_OUT in node.tags and any(name.rpartition(".")[2].startswith("private_") for name in node.inputs)
    }


def test_no_registered_pipeline_of_a_private_table_has_an_exact_figure_that_nobody_asked_for() -> None:
    for evaluation in FORMS:
        left = {name: exact_figures(graph) for name, graph in job(TABLE, **evaluation).items()}
        assert any(left.values()) is ("dp" in evaluation)
        controls = {name for graph in job(TABLE, **evaluation).values() for name in graph.datasets()} & {CONTROL}
        assert bool(controls) is ("private_control" in evaluation)


def count_rows(private_test: pd.DataFrame) -> dict[str, Any]:
    """As somebody might who wants to know how much there is."""
    return {
        "rows": len(private_test),
        "clients": private_test["client_id"].nunique(),
        "lengths": private_test["text"].str.len().tolist(),
    }


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("corpus", "evaluation", "refused"),
    [
        (TABLE, {}, True),
        (TABLE, {"dp": True}, True),
        (TABLE, {"private_control": True}, True),
        (TABLE, {"dp": False}, False),
        (TABLE | {"declared_public": True}, {}, False),
        ({"declared_public": False}, {}, True),
        ({}, {}, False),
    ],
)
def test_a_new_evaluation_of_private_text_needs_a_release_or_an_evaluation_that_was_opened(
    corpus: dict[str, Any], evaluation: dict[str, Any], *, refused: bool
) -> None:
    from tests.contracts.graphs import check_pipeline

    counting = node(count_rows, "private_test", "popri_rows", name="count_rows", tags=Tag.HELD_OUT)
    graph = job(corpus, **evaluation)["popri"] + Pipeline([counting])
    shown = {"type": "json.JSONDataset", "filepath": "rows.json", "metadata": {"fedtext": {"privacy": "released"}}}
    said = check_pipeline(graph, {**active_loader()["catalog"], "popri_rows": shown})
    found = [one for one in said if (one.rule, one.node) == ("unpriced", "count_rows")]
    assert bool(found) is refused
    assert len(said) == len(found)


def test_the_tracker_names_an_epsilon_where_an_algorithm_spends_it_and_not_where_test_clients_alone_do() -> None:
    jobs = job(TABLE)
    for name, said in (("zero_shot", "zero_shot"), ("pe", "pe, epsilon 1")):
        assert any(Tag.RELEASE in one.tags for one in jobs[name].nodes)
        assert run_name({"pipeline_names": [name]}, jobs[name]) == said


def test_a_new_control_on_a_private_table_needs_to_have_been_asked_for() -> None:
    from tests.contracts.graphs import check_pipeline

    control = node(count_rows, "private_train", "private_counts_more", name="count_train", tags=Tag.CONTROL)
    for evaluation in FORMS:
        graph = job(TABLE, **evaluation)["popri"] + Pipeline([control])
        said = check_pipeline(graph, active_loader()["catalog"])
        assert ("count_train" in {one.node for one in said}) is ("private_control" not in evaluation)


def test_on_private_text_nothing_is_trained_without_protection_and_held_out_figures_are_releases() -> None:
    for name in ("popri", "dp_fedavg"):
        graph = job(TABLE)[name]
        assert CONTROL not in graph.datasets()
        held_out = {f"{name}_tokens_figure", "partition_figure"}
        assert not held_out & graph.datasets()
        releases = {
            node.name for node in graph.nodes if Tag.RELEASE in node.tags and node.name.startswith("evaluation")
        }
        assert f"evaluation.{name}.release_accuracy" in releases
        assert (f"evaluation.{name}.release_test_features" in releases) == (name == "popri")
        figures = [node for node in graph.nodes if {f"{name}_accuracy", f"{name}_distances"} & set(node.outputs)]
        assert not any(part.startswith("private_") for node in figures for part in node.inputs)


def test_public_text_keeps_its_control_and_its_exact_figures() -> None:
    graph = job({})["popri"]
    assert {CONTROL, "popri_tokens_figure", "partition_figure"} <= graph.datasets()
    assert not any(name.endswith("evaluation_privacy_report") for name in graph.datasets())


def test_the_control_on_private_text_is_an_explicit_choice() -> None:
    graph = job(TABLE, private_control=True)["popri"]
    reader = next(node for node in graph.nodes if node.name == "evaluation.popri.release_accuracy")
    assert CONTROL in reader.inputs


@pytest.mark.parametrize(
    ("names", "said"), [("fid fud", "no measure is called 'fud'"), ("top_1", "taken on held-out texts")]
)
def test_a_measure_of_sets_that_is_not_there_is_refused_before_any_work(names: str, said: str) -> None:
    with refuses("unusable-measures"):
        job({}, measures=names)


def table(count: int, clients: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame({"text": made_up(count, seed), "client_id": [f"c{i % clients}" for i in range(count)]})


@pytest.fixture(scope="module")
def released() -> dict[str, Any]:
    """Everything that the DP evaluation of a made-up algorithm's texts makes, of 60 test clients."""
    from fedtext.pipelines.evaluation.pipeline import controls_pipeline, judgement
    from fedtext.pipelines.popri.pipeline import ALGORITHM

    settings = configure(corpus=TABLE)
    pipeline = controls_pipeline(settings) + judgement(replace(ALGORITHM, controls=no_controls), settings)
    pipeline = pipeline - pipeline.only_nodes_with_outputs("untuned_texts")
    texts = table(40, 5, 3)
    vectors = HashEncoder().encode(texts["text"].tolist())
    given = {
        "private_test": table(150, 60, 1),
        "public_samples": table(30, 4, 2),
        "untuned_texts": table(30, 4, 4),
        "popri_synthetic": texts,
        "popri_synthetic_embeddings": vectors,
        "popri_round_embeddings": {"round_01": vectors[:20], "round_02": vectors[20:]},
        "popri_rounds": {"released_scores": [0.1, 0.2]},
        "public_embeddings": HashEncoder().encode(made_up(30, 2)),
        "population": Population(enrolled=400, training=300, test=64, source="declared"),
        "private_noise_key": new_noise_key(5),
        "release_history": (),
        "run_facts": {},
        "encoder": HashEncoder(),
        "on_device": ON_DEVICE,
        "params:chunking": conf_base(Chunking, length=16, min_tokens=4),
        "params:corpus": conf_base(Corpus, TABLE),
        "params:privacy": conf_base(Privacy, epsilon=4.0, delta=1e-4, noise_seed=5),
        "params:evaluation": conf_base(Evaluation, 
            training=conf_base(TunedTraining, learning_rates=[1e-3], epochs=0.5, batch_size=8), texts=30, max_eval_samples=128, epsilon=2.0,
            random_features=16, main_axes=2, untuned={"responses": 4},
        ),
    }  # fmt: skip
    made = {name: Kept(copy_mode="assign") for name in pipeline.all_outputs()}
    catalog = DataCatalog({**{k: Kept(v, copy_mode="assign") for k, v in given.items()}, **made})
    SequentialRunner().run(pipeline, catalog)
    return {name: catalog[name].load() for name in made} | given


def test_each_test_client_is_asked_about_its_own_share(released: dict[str, Any]) -> None:
    asked = released["private_test_sample"].groupby("client_id").size()
    assert asked.max() == 2  # 128 samples for 64 enrolled
    assert len(asked) == 60


def test_both_releases_are_charged_to_the_test_clients_and_reported(released: dict[str, Any]) -> None:
    report = released["popri_evaluation_privacy_report"]
    assert [release["name"] for release in report["releases"]] == ["evaluation.features", "evaluation.popri.accuracy"]
    assert 1.99 < report["epsilon"] <= 2.0 * (1 + 1e-9)
    assert report["population"] == 64
    charged = released["evaluation.popri.ledger_final"]
    assert charged.releases == charged.planned
    assert charged.releases[0].sensitivity < 1.001 < 12 < charged.releases[1].sensitivity  # each under its own clip


def test_only_sums_of_numbers_leave_the_releases(released: dict[str, Any]) -> None:
    for name in ("popri_test_features", "popri_accuracy_sums"):
        assert isinstance(released[name], np.ndarray)
        assert released[name].ndim == 1
        assert released[name].dtype == np.float64


def test_what_is_made_of_the_sums_is_what_the_report_reads(released: dict[str, Any]) -> None:
    accuracy, distances = released["popri_accuracy"], released["popri_distances"]
    assert set(accuracy["conditions"]) == {"eps0", "public_control", "untuned_control", "synthetic"}
    assert accuracy["gap_closed"] == {}
    assert [row["adapter"] for row in distances["rounds"]] == [0, 1]
    assert distances["sets"]["synthetic"]["fid"] is None
    alone = released["popri_texts_alone"]["sets"]
    assert list(alone) == ["public_control", "untuned_control", "synthetic"]
    written = json.dumps([accuracy, distances, alone], allow_nan=False)
    assert not any(text in written for text in released["private_test"]["text"])


def test_the_figures_are_near_what_the_counts_say(released: dict[str, Any]) -> None:
    counts = {name: released[f"private_counts_{name}"] for name in ("eps0", "public_control")}
    for name, found in counts.items():
        exact = found["correct"][:, 0].sum() / found["tokens"].sum()
        said = released["popri_accuracy"]["conditions"][name]
        assert said["low"] - 0.02 <= exact <= said["high"] + 0.02


def test_a_model_is_judged_by_its_accuracy_alone_at_the_whole_budget(tmp_path: Path) -> None:
    from fedtext.pipelines.evaluation.nodes import private_evaluation as nodes

    privacy, population = (
        conf_base(Privacy, epsilon=2.0, delta=1e-5),
        Population.declared(500, validation_share=0.1, test_share=0.2),
    )
    opened = nodes.ledger_opener("dp_fedavg", 3)(population, conf_base(Evaluation), privacy)
    ledger = opened.charge(opened.planned[0])
    assert ledger.spent() == pytest.approx(2.0, rel=1e-6)
    sums = np.array([2e3, 300.0, 200.0, 100.0, 900.0, 900.0, 900.0])
    corpus, texts = conf_base(Corpus, TABLE), {"public_control": table(30, 4, 2)}
    found = nodes.compare_released_accuracies(
        sums, ledger, {"top_1": 0.1}, conf_base(Evaluation, texts=20), corpus, trained_model=tmp_path, **texts
    )
    assert found["judged"] == "trained_model"
    assert found["conditions"]["trained_model"]["top_1"] == pytest.approx(0.1 + 300 / 4e4)
    assert {name: row["texts"] for name, row in found["conditions"].items()} == {
        "eps0": 0, "public_control": 20, "trained_model": 0
    }  # fmt: skip


LEVELS = {"eps0": 0.3, "public_control": 0.4, "untuned_control": 0.4, "synthetic": 0.7}


def test_how_often_classes_are_found_is_a_release_of_its_own() -> None:
    """800 clients with a text each; a condition finds the class where a common luck lets it."""
    from fedtext.pipelines.evaluation.nodes import private_evaluation as nodes

    sample, luck = table(800, 800, 6), np.random.default_rng(7).random(800)
    found = {
        name: {"true_class": np.zeros(800, int), "given_class": (luck > level).astype(int)}
        for name, level in LEVELS.items()
    }
    exact = {name: float(np.mean(one["given_class"] == 0)) for name, one in found.items()}
    population = Population(enrolled=4000, training=3000, test=800, source="declared")
    settings, privacy = conf_base(Classification), conf_base(Privacy, epsilon=2.0, delta=1e-5, noise_seed=3)
    evaluation = conf_base(Evaluation, texts=20)
    ledger = nodes.ledger_opener("popri", 4)(population, evaluation, privacy, HashEncoder(), settings)
    planned = ledger.planned or ()
    assert [one.name.rpartition(".")[2] for one in planned] == ["features", "classification", "accuracy"]
    before = ledger.charge(planned[0])
    sums, charged = release_classification(sample, new_noise_key(3), before, settings, **found)
    assert charged.releases[-1] == planned[1]
    assert sums.shape == (9,)
    texts = {name: table(30, 4, 2).assign(label="tea") for name in ("public_control", "untuned_control", "synthetic")}
    texts["public_control"]["label"] = ["tea"] * 5 + ["other"] * 25
    corpus, task = conf_base(Corpus, TABLE), conf_base(Task, labels="tea rum")
    document = compare_released_classifications(sums, charged, task, settings, evaluation, corpus, **texts)
    said = document["conditions"]
    assert all(said[name]["low"] <= exact[name] <= said[name]["high"] for name in LEVELS)
    assert not said["synthetic"]["low"] <= exact["eps0"] <= said["synthetic"]["high"]
    assert document["gains"]["synthetic"]["public_control"]["measurable"]
    assert {name: row["texts"] for name, row in said.items()} == {
        "eps0": 0, "public_control": 5, "untuned_control": 20, "synthetic": 20
    }  # fmt: skip
    assert "macro_f1" not in said["synthetic"]
    page = task_tables({"classification": json.loads(json.dumps(document, allow_nan=False))})
    assert "names of the classes alone" in page
    assert "5" in page
