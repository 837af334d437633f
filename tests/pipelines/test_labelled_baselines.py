"""The graphs of zero_shot, fusegen and private_only: who writes what, that nothing is charged, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.generation import few_shot
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Classification, Evaluation
from fedtext.params.labelled import Fusegen, ZeroShot
from fedtext.params.task import Task
from fedtext.pipelines.private_only.nodes import check_private_only
from fedtext.privacy.tags import Tag
from tests.parameters import conf_base
from tests.pipelines.conftest import Talker, configure, run_in_memory
from tests.refusals import refuses

LABELS = {"labels": "tea rum"}
PRIVACY = {"epsilon": 1.0, "delta": 1e-3, "noise_seed": 1}
WRITING = {"min_words": 1, "oversample": 2.0}
PLMS = {"plms": {"cold": "bundled:generator", "warm": "bundled:generator"}}
NO_PLMS = {"plms": {"cold": None}}


@pytest.fixture(autouse=True)
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_shot, "clean_samples", lambda texts, *_, **__: list(texts))


def run(algorithm: str, group: Any, labels: dict[str, str] = LABELS, **more: Any) -> dict[str, Any]:
    more = {"models": NO_PLMS, **more}
    configure(task=labels, **{algorithm: group.model_dump(mode="json")}, **more)
    given = {f"params:{algorithm}": group, "params:task": conf_base(Task, labels)}
    plms = {f"plm_{name}": Talker() for name, source in more["models"]["plms"].items() if source}
    return run_in_memory(algorithm, PRIVACY, {**given, **plms})


def test_zero_shot_writes_by_class_and_charges_nothing() -> None:
    made = run("zero_shot", conf_base(ZeroShot, texts=20, writing=WRITING))
    texts = made["zero_shot_synthetic"]
    assert len(texts) == len(made["zero_shot_synthetic_embeddings"]) == 20
    assert texts["label"].value_counts().to_dict() == {"tea": 10, "rum": 10}
    assert set(texts["generator"]) == {"generator"}  # none is named, so the run's one writes
    assert made["zero_shot_ledger"].releases == ()
    assert made["zero_shot_privacy_report"]["epsilon"] == 0
    assert made["zero_shot_cost"].up_bytes == 0


def test_fusegen_shows_what_was_written_and_keeps_all_rounds() -> None:
    fusegen = conf_base(Fusegen, texts=50, rounds=3, candidates=4, shown=2, writing=WRITING)
    made = run("fusegen", fusegen, models=PLMS)
    texts = made["fusegen_synthetic"]
    assert texts.groupby("round").size().tolist() == [17, 17, 16]
    assert set(texts["generator"]) == {"cold", "warm"}
    shown = made["fusegen.round_01.shown"]
    assert shown["label"].value_counts().to_dict() == {"tea": 2, "rum": 2}
    assert set(shown["text"]) <= set(texts.loc[texts["round"] == 1, "text"])
    assert made["fusegen_privacy_report"]["epsilon"] == 0


def test_fusegen_is_refused_with_one_generator() -> None:
    with refuses("too-few-generators", value=0):
        run("fusegen", conf_base(Fusegen, rounds=1))


def test_without_classes_nothing_is_written() -> None:
    with refuses("too-few-labels", value=0):
        run("zero_shot", conf_base(ZeroShot), {"labels": ""})


def graph(name: str, **parameters: Any) -> Any:
    from tests.contracts.graphs import registered

    return registered(**parameters)[name]


def test_no_node_of_a_baseline_reads_private_text_but_the_evaluation_s() -> None:
    for name in ("zero_shot", "fusegen"):
        own = [node for node in graph(name, task=LABELS).nodes if (node.namespace or "").partition(".")[0] == name]
        assert own
        assert not any("private_" in read for node in own for read in node.inputs)
        assert not any(Tag.RELEASE in node.tags for node in own)


def test_private_only_is_judged_on_a_public_corpus() -> None:
    job = graph("private_only", task=LABELS)
    assert "unprotected_downstream_classification" in job.all_outputs()
    (learner,) = (node for node in job.nodes if "private_downstream_classification_private" in node.outputs)
    assert Tag.CONTROL in learner.tags


def test_a_classifier_is_trained_privately_and_judged_where_figures_are_exact() -> None:
    job = graph("dp_classifier", task=LABELS)
    (release,) = (node for node in job.nodes if Tag.RELEASE in node.tags)
    assert set(release.outputs) == {"dp_classifier.trained.server", "dp_classifier_ledger"}
    assert {"dp_classifier_downstream_classification", "dp_classifier_privacy_report"} < set(job.all_outputs())
    at_a_price = graph("dp_classifier", task=LABELS, corpus={"declared_public": False}, privacy={"population": 300})
    assert "dp_classifier_privacy_report" in at_a_price.all_outputs()
    assert not any(Tag.HELD_OUT in node.tags for node in at_a_price.nodes)


@pytest.mark.parametrize("parameters", [{}, {"task": LABELS, "corpus": {"declared_public": False}}])
def test_where_private_only_may_not_be_its_graph_only_says_so(parameters: dict[str, Any]) -> None:
    job = graph("private_only", **parameters)
    assert [node.func for node in job.nodes] == [check_private_only]


def checked(corpus: dict[str, Any], labels: dict[str, str] = LABELS, **evaluation: Any) -> dict[str, Any]:
    return check_private_only(
        conf_base(Corpus, corpus),
        conf_base(Evaluation, **evaluation),
        conf_base(Task, labels),
        conf_base(Classification),
    )


def test_private_only_is_refused_on_private_text_unless_it_was_said() -> None:
    private = {"declared_public": False}
    assert checked({})["epsilon"] is None
    assert checked(private, private_control=True, dp=False)
    with refuses("control-reads-private-text"):
        checked(private)
    with refuses("control-judged-by-classification"):
        checked(private, private_control=True)  # at a price no exact figure may leave
    with refuses("too-few-labels", value=0):
        checked({}, {"labels": ""})


def test_classification_is_part_of_a_job_where_classes_are_declared() -> None:
    assert "pe_downstream_classification" in graph("pe", task=LABELS).all_outputs()
    assert "pe_downstream_classification" not in graph("pe").all_outputs()
    assert "dp_ftrl_downstream_classification" not in graph("dp_ftrl", task=LABELS).all_outputs()
    private = {"declared_public": False}
    assert "pe_downstream_classification" not in graph("pe", task=LABELS, corpus=private).all_outputs()
    at_a_price = graph("pe", task=LABELS, corpus=private, classification={"measured": True})
    (release,) = [node for node in at_a_price.nodes if node.name == "evaluation.pe.release_classification"]
    assert Tag.RELEASE in release.tags
    (compared,) = [node for node in at_a_price.nodes if "pe_downstream_classification" in node.outputs]
    assert not any(name.startswith("private_") for name in compared.inputs)
    with refuses("measure-has-no-release", parameter="evaluation.entities.measured"):
        graph("pe", corpus=private, evaluation={"entities": {"measured": True}})
    assert "pe_downstream_entities" in graph("pe", evaluation={"entities": {"measured": True}}).all_outputs()
    assert "pe_downstream_entities" not in graph("pe").all_outputs()


def test_questions_are_part_of_a_job_where_they_are_asked_for_and_nobody_pays() -> None:
    asked = {"questions": {"measured": True}}
    with refuses("measure-has-no-release", parameter="evaluation.questions.measured"):
        graph("pe", corpus={"declared_public": False}, evaluation=asked)
    job = graph("pe", evaluation=asked)
    assert {
        "pe_downstream_questions",
        "private_downstream_questions_private",
        "private_pe_downstream_questions_synthetic",
    } <= job.all_outputs()
    (scorecard,) = (node for node in job.nodes if "pe_scorecard" in node.outputs)
    assert "pe_downstream_questions" in scorecard.inputs
    assert "pe_downstream_questions" not in graph("pe").all_outputs()
