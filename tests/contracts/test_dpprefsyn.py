"""DPPrefSyn's registered graphs: private pairs leave by one node or not at all; every environment and form builds."""

from __future__ import annotations

from typing import Any

import pytest
from kedro.pipeline import Pipeline

from fedtext.params.dpprefsyn import UNLEARNED, Dpprefsyn
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import ProjectConfigLoader
from tests.contracts import graphs
from tests.refusals import refuses

CLUSTERED = {"heads": 5, "heads_by": "difference"}
FORMS: dict[str, dict[str, Any]] = {
    "single": {},
    "clustered": {"form": "clustered", **CLUSTERED},
    "published": {"form": "published", **CLUSTERED},
    "cited": {
        "form": "published",
        **CLUSTERED,
        "parts": "cited",
        "scorer": "bradley_terry",
        "projection": "private",
    },
    "random": {"form": "random"},
    "longest": {"form": "longest"},
    "public": {"form": "public", "public_pairs": "pairs.csv"},
}


def registered(
    env: str | None = None,
    corpus: dict[str, Any] | None = None,
    policies: dict[str, Any] | None = None,
    evaluation: dict[str, Any] | None = None,
    **dpprefsyn: Any,
) -> Pipeline:
    groups = {"dpprefsyn": dpprefsyn, "corpus": corpus or {}, "policies": policies or {}}
    groups |= {"evaluation": evaluation} if evaluation else {}
    return graphs.registered(env, **groups, privacy={"population": 1000})["dpprefsyn"]


@pytest.mark.parametrize("form", FORMS)
def test_private_pairs_leave_by_one_node_or_not_at_all(form: str) -> None:
    from tests.contracts.graphs import check_registered_pipelines

    job = registered(**FORMS[form])
    assert check_registered_pipelines({"dpprefsyn": job}) == []
    released = [node.name for node in job.nodes if Tag.RELEASE in node.tags]
    assert released == ([] if form in UNLEARNED else ["dpprefsyn.learn_scorer"])


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("source", ["table", "hh", "openassistant", "tldr"])
def test_a_private_file_has_no_exact_figure_of_held_out_pairs(source: str) -> None:
    from tests.contracts.graphs import check_registered_pipelines

    job = registered(corpus={"source": source, "path": "pairs.jsonl"})
    assert check_registered_pipelines({"dpprefsyn": job}) == []
    names = {node.name for node in job.nodes}
    assert "pairs.read_private_pairs" in names
    assert not {"evaluation.dpprefsyn.order_held_out_pairs", "pairs.count_population"} & names
    assert "dpprefsyn_report" in job.all_outputs()


def test_policies_are_judged_beside_their_controls_and_protected_pairs_are_read_by_a_control() -> None:
    from tests.contracts.graphs import check_registered_pipelines

    job = registered(policies={"membership": {"measured": True}})
    assert check_registered_pipelines({"dpprefsyn": job}) == []
    tags = {node.name.removeprefix("evaluation.dpprefsyn."): node.tags for node in job.nodes}
    assert {"judge_by_rule", "prefer_random_policy", "prefer_longest_policy", "tune_on_chosen_sft_only"} <= set(tags)
    assert Tag.CONTROL in tags["score_membership"]
    assert Tag.HELD_OUT in tags["infer_membership"]
    readers = {name for name, node in zip(tags, job.nodes, strict=True) if "pairs.private_train" in node.inputs}
    assert "score_membership" in readers


def test_a_private_file_is_judged_by_a_model_or_not_at_all() -> None:
    private = {"source": "hh", "path": "pairs.jsonl"}
    for policies, judged in (({}, set()), ({"judge": "model"}, {"judge_by_model"})):
        names = {node.name.rpartition(".")[2] for node in registered(corpus=private, policies=policies).nodes}
        assert {name for name in names if name.startswith("judge_by")} == judged
    with refuses("reads-protected-pairs"):
        registered(corpus=private, policies={"membership": {"measured": True}})


def test_membership_on_a_private_file_compares_with_test_clients_that_somebody_gave_up() -> None:
    from tests.contracts.graphs import check_registered_pipelines

    asked = {"corpus": {"source": "hh", "path": "pairs.jsonl"}, "policies": {"membership": {"measured": True}}}
    with refuses("protected-pairs-without-release"):
        registered(**asked, evaluation={"private_control": True})
    job = registered(**asked, evaluation={"private_control": True, "dp": False})
    assert check_registered_pipelines({"dpprefsyn": job}) == []
    assert "evaluation.dpprefsyn.infer_membership" in {node.name for node in job.nodes}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("env", [None, "tiny", "hub", "paper"])
def test_every_environment_builds_and_validates(env: str | None) -> None:
    job = registered(env)
    loader = ProjectConfigLoader.active
    assert loader is not None
    params = Dpprefsyn.model_validate(loader["parameters"]["dpprefsyn"])
    trained = {node.name.rpartition(".")[2] for node in job.nodes} & {"tune_on_chosen", "prefer", "prefer_after_tuning"}
    assert trained == ({"tune_on_chosen", "prefer_after_tuning"} if params.alignment == "sft_dpo" else {"prefer"})
    assert (params.form == "clustered") == (env == "paper")


@pytest.mark.parametrize("source", ["hh", "docstrings"])
def test_people_s_answers_of_a_public_corpus_reach_a_judge_past_no_private_data_set(source: str) -> None:
    from tests.contracts.graphs import check_registered_pipelines

    told = {"source": source, "declared_public": True, **({} if source == "docstrings" else {"path": "pairs.jsonl"})}
    job = registered(corpus=told, policies={"against_people": True, "judge": "model"}, heads=1)
    assert check_registered_pipelines({"dpprefsyn": job}) == []
    judged = job.to_outputs("dpprefsyn_people")
    (first,) = (node for node in judged.nodes if "dpprefsyn_test_prompts" in node.outputs)
    assert not [name for name in first.inputs if "private" in name]
    (judge,) = (node for node in judged.nodes if "dpprefsyn_people" in node.outputs)
    assert not [name for name in judge.inputs if "private" in name]
    assert {"judge", "dpprefsyn.test_answers.policy", "dpprefsyn.test_answers.untuned"} <= set(judge.inputs)
    with refuses("people-are-private"):
        registered(corpus={**told, "declared_public": False}, policies={"against_people": True, "judge": "model"})


def test_a_neural_reward_model_is_a_control_and_clusters_of_known_annotators_are_counted() -> None:
    from tests.contracts.graphs import check_registered_pipelines

    asked = {"policies": {"neural_reward": {"measured": True}}, **FORMS["clustered"]}
    job = registered(**asked)
    assert check_registered_pipelines({"dpprefsyn": job}) == []
    tags = {node.name.removeprefix("evaluation.dpprefsyn."): node.tags for node in job.nodes}
    assert Tag.CONTROL in tags["score_by_neural_reward"]
    assert Tag.HELD_OUT in tags["measure_purity"]
    file = {"source": "hh", "path": "pairs.jsonl", "declared_public": True}
    assert "dpprefsyn_purity" not in registered(corpus=file, **asked).all_outputs()
    with refuses("reads-protected-pairs"):
        registered(corpus={"source": "hh", "path": "pairs.jsonl"}, **asked)


@pytest.mark.parametrize(
    ("alignment", "trained"),
    [
        ("none", set()),
        ("rloo", {"reinforce"}),
        ("sft_rloo", {"tune_on_chosen", "reinforce_after_tuning"}),
        ("sft_dpo", {"tune_on_chosen", "prefer_after_tuning"}),
    ],
)
def test_the_downstream_model_alone_is_aligned(alignment: str, trained: set[str]) -> None:
    job = registered(alignment=alignment, policies={"controls": "sft_only random_policy"})
    own = {node.name.removeprefix("dpprefsyn."): node for node in job.nodes if "downstream" in node.inputs}
    assert {name for name in own if "." not in name} == trained
    writers = {node.name for node in job.nodes if "generator" in node.inputs}
    assert writers == {"dpprefsyn.write_candidates", "pairs.answer_questions", "pairs.set_sharpness"}
    controls = {
        node.name.rpartition(".")[2] for node in job.nodes if node.name.endswith(("_sft_only", "_random_policy"))
    }
    assert ("prefer_after_tuning_random_policy" in controls) == (alignment == "sft_dpo")
    assert ("tune_on_chosen_sft_only" in controls) == (alignment != "none")
