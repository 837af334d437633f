"""The whole POPri graph on arrays: every scoring mode, early stopping, the paper's checkpoint, classes, the centre."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.popri import steps
from fedtext.evaluation.private_evaluation import (
    CLIP_NORM,
    FEATURES,
    EvaluationQuery,
    evaluation_ledger,
    feature_width,
)
from fedtext.federation.units import Population
from fedtext.models.generator import Framing, WordWeights
from fedtext.params.evaluation import Evaluation
from fedtext.params.popri import SINGLE_RELEASE, Popri
from fedtext.params.privacy import Privacy
from fedtext.pipelines.evaluation.nodes import private_evaluation
from fedtext.pipelines.evaluation.nodes.conditions import measure_distances
from fedtext.pipelines.popri import nodes
from fedtext.privacy.ledger import BudgetExceeded
from tests.parameters import conf_base
from tests.pipelines.conftest import DIM, Talker
from tests.refusals import refuses

Run = Callable[..., dict[str, Any]]
SCORINGS = [
    "witness_words",
    "witness_rff",
    "witness_linear",
    "mean_embedding",
    "mean_cosine",
    "mean_cosine_centred",
    "nearest_histogram",
]


def last_ledger(made: dict[str, Any], scoring: str) -> Any:
    return made["popri.ledger" if scoring in SINGLE_RELEASE else "popri.round_03.ledger"]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("labels", [(), ("tea", "rum")])
def test_every_scoring_mode_ends_in_a_data_set_within_budget(
    run_popri: Run, scoring: str, labels: tuple[str, ...]
) -> None:
    made = run_popri(scoring=scoring, labels=labels)
    synthetic = made["popri_synthetic"]
    assert len(synthetic) == len(made["popri_synthetic_embeddings"]) >= 9
    assert (synthetic["text"] != "").all()
    assert np.allclose(np.linalg.norm(made["popri_synthetic_embeddings"], axis=1), 1, atol=1e-5)
    ledger = last_ledger(made, scoring)
    charged = [0] if scoring in SINGLE_RELEASE else [1, 2, 3]
    assert [release.round for release in ledger.releases] == charged
    assert 0.9 < float(made["popri_privacy_report"]["epsilon"]) <= 1 + 1e-9
    for t in (1, 2, 3):
        pairs = made[f"popri.round_{t:02d}.pairs"]
        assert len(pairs) > 0
        assert not (pairs[["chosen", "rejected"]] == "").any(axis=None)


@pytest.mark.parametrize("scoring", ["witness_linear", "mean_cosine"])
def test_the_paper_s_checkpoint_makes_the_reported_epsilon_infinite(run_popri: Run, scoring: str) -> None:
    made = run_popri(scoring=scoring, checkpoint="fid_on_private_validation")
    report = made["popri_privacy_report"]
    assert report["epsilon"] == "infinity"
    assert [entry["name"] for entry in report["unaccounted"]] == ["popri.checkpoint"]
    assert math.isinf(made["popri_ledger"].epsilon())
    assert math.isfinite(last_ledger(made, scoring).epsilon())
    assert "without a mechanism" in made["popri_privacy_report_text"]
    assert list(made["popri_round_embeddings"]) == [f"round_{t:02d}" for t in range(1, 5)], "of all four adapters"
    assert 0 <= made["popri_checkpoint"]["adapter"] <= 3


@pytest.mark.sampled(every=4)  # of three by three the diagonal
@pytest.mark.parametrize("scoring", ["witness_linear", "mean_cosine", "nearest_histogram"])
@pytest.mark.parametrize("checkpoint", ["released_score", "last", "fid_on_private_validation"])
def test_both_evaluations_read_every_adapter_s_candidates(
    run_popri: Run, monkeypatch: pytest.MonkeyPatch, scoring: str, checkpoint: str
) -> None:
    made = run_popri(scoring=scoring, checkpoint=checkpoint)
    rounds, candidates = made["popri_rounds"], made["popri_round_embeddings"]
    assert len(rounds["released_scores"]) == len(candidates)
    texts, settings = made["popri_synthetic_embeddings"], conf_base(Evaluation, main_axes=2, random_features=8)
    exact = measure_distances(texts, texts, texts, settings, candidates, rounds)
    asked = [EvaluationQuery(FEATURES, feature_width(DIM, features=8, axes=2), CLIP_NORM)]
    ledger = evaluation_ledger(conf_base(Privacy, epsilon=1.0, delta=1e-3), settings, 10, asked)
    monkeypatch.setattr(private_evaluation, "summed_stddev", lambda _: 0.1)  # of a release that was made
    noised = private_evaluation.measure_released_distances(
        np.ones(asked[0].dim), ledger, texts, texts, settings, candidates, rounds
    )
    for measured in (exact, noised):
        assert [row["adapter"] for row in measured["rounds"]] == list(range(len(candidates)))
        assert [row["released_score"] for row in measured["rounds"]] == rounds["released_scores"]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("scoring", ["witness_linear", "mean_embedding"])
@pytest.mark.parametrize("checkpoint", ["released_score", "last", "fid_on_private_validation"])
def test_early_stopping_passes_through_every_node_without_work_or_price(
    run_popri: Run, monkeypatch: pytest.MonkeyPatch, scoring: str, checkpoint: str
) -> None:
    scores = iter([0.2, 0.1])
    from fedtext.algorithms.popri import steps as steering

    monkeypatch.setattr(steering, "released_score", lambda rows, *_: next(scores) if len(rows) else None)
    made = run_popri(scoring=scoring, patience=1, rounds=3, checkpoint=checkpoint)
    scored = [0.2, 0.1, None, None]
    chosen = {"released_score": 0, "last": 3}.get(checkpoint, made["popri_checkpoint"]["adapter"])
    told = dict(made["popri_rounds"])
    assert [bool(rows) for rows, _ in told.pop("pairs")] == [True, True, False]  # the third round trains on nothing
    assert told == {"released_scores": scored, "stopped": True, "chosen": chosen}
    for name in ("prompts", "candidates", "candidate_embeddings", "scores", "pairs", "training_log"):
        assert len(made[f"popri.round_03.{name}"]) == 0, name
    assert made["popri.round_03.adapter"] == made["popri.round_02.adapter"] == "adapter++"
    assert list(made["popri_round_embeddings"]) == ["round_01", "round_02"]
    assert len(last_ledger(made, scoring).releases) == 1
    assert set(made["popri_training_log"]["round"]) == {1, 2}
    if checkpoint == "released_score":
        assert made["popri_checkpoint"] == {"adapter": 0}
    assert len(made["popri_synthetic"]) >= 9


def test_the_central_variant_protects_records_with_a_curator(run_popri: Run) -> None:
    central = {"unit": "record", "aggregation": "trusted"}
    made = run_popri(variant="central", privacy=central)
    assert made["population"] == Population(enrolled=80, training=60, test=10, source="counted")
    assert made["popri_privacy_report"]["unit"] == "record"
    assert "trusted" in made["popri.ledger"].releases[0].mechanism
    with refuses("no-curator", value="federated"):
        run_popri(privacy=central)


def test_conditional_candidates_take_turns_by_class(run_popri: Run) -> None:
    made = run_popri(labels=("tea", "rum"))
    assert made["popri.round_01.candidates"]["label"].tolist() == (["tea"] * 3 + ["rum"] * 3) * 2
    assert made["popri_released_mean"].shape == (2, 8)


def test_sampled_clients_are_priced_as_sampled(run_popri: Run) -> None:
    made = run_popri(scoring="mean_cosine", privacy={"sampling": "poisson", "clients_per_round": 10})
    assert {(r.sampling, round(r.rate, 6)) for r in made["popri.round_03.ledger"].releases} == {("poisson", 0.333333)}


def test_the_same_seed_and_key_give_the_same_run_and_another_key_another(run_popri: Run) -> None:
    first, again = run_popri(oversample=2.0), run_popri(oversample=2.0)
    assert first["popri_synthetic"].equals(again["popri_synthetic"])
    assert np.array_equal(first["popri_released_mean"], again["popri_released_mean"])
    other = run_popri(oversample=2.0, privacy={"noise_seed": 2})
    assert not np.array_equal(first["popri_released_mean"], other["popri_released_mean"])


def test_an_overdrawn_plan_is_refused(run_popri: Run) -> None:
    with pytest.raises(BudgetExceeded):
        run_popri(scoring="mean_cosine", privacy={"noise_multiplier": 3.0})


def test_no_pairs_leave_the_adapter_as_it_is(run_popri: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = steps.preference_pairs
    monkeypatch.setattr(steps, "preference_pairs", lambda *a: choose(*a).iloc[:0])
    made = run_popri()
    assert made["popri.round_03.adapter"] == "adapter"


@pytest.mark.parametrize(("guided", "writers"), [("texts", ["final"]), ("candidates_and_texts", ["rounds", "final"])])
def test_words_are_weighed_only_where_they_guide(run_popri: Run, guided: str, writers: list[str]) -> None:
    """The generator that writes is told what the table says, each prompt its class's words; candidates from the first on."""
    told: list[list[WordWeights]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Talker, "with_word_weights", lambda self, words: (told.append(list(words)), self)[1])
        made = run_popri(scoring="witness_words", labels=("tea", "rum"), word_guidance=0.5, guided=guided)
        assert "popri_word_weights" not in run_popri(scoring="witness_words", word_guidance=0.0)
        assert "popri_word_weights" not in run_popri(scoring="witness_rff", word_guidance=0.5)
    rounds = [made[f"popri.{stage}.prompts"] for stage in ("round_01", "round_02", "round_03", "closing")]
    prompts = [*(rounds if "rounds" in writers else []), made["popri.final_prompts"]]
    table = made["popri_word_weights"]
    assert len(told) == len(prompts)
    for words, asked in zip(told, prompts, strict=True):
        for weights, label in zip(words, asked["label"], strict=True):
            own = table[(table["label"] == label) & table["previous"].isna()]
            assert weights.anywhere == dict(zip(own["word"], 0.5 * own["anywhere"], strict=True))
    assert set(table["label"]) == {"tea", "rum"}
    assert not table["word"].str.contains("secret").any(), "the private word"


class Told:
    """A generator that says what it was asked to begin and end."""

    def completion_prompts(self, requests: list[str], framing: Framing) -> list[str]:
        return requests

    def ending(self, framing: Framing) -> str:
        return framing.closing


def test_the_space_before_a_page_s_text_is_trained_on_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    popri = conf_base(Popri)
    page = popri.model_copy(update={"sampler": popri.sampler.model_copy(update={"prompt": "Customer: {text}"})})
    given: dict[str, str] = {}
    monkeypatch.setattr(nodes, "train_preferences", lambda *_, **told: (given.update(told), []))
    pairs = pd.DataFrame({"prompt": ["Customer:"], "chosen": ["Where is my card?"], "rejected": ["12"]})
    nodes.train_policy(Told(), Path(), pairs, {"round": 0}, page)  # type: ignore[arg-type,typeddict-item]
    assert (given["lead"], given["end"]) == (" ", "\n")


@pytest.mark.parametrize("labels", [(), ("tea", "rum")])
def test_the_matched_control_s_pool_is_as_large_as_what_popri_writes(run_popri: Run, labels: tuple[str, ...]) -> None:
    made = run_popri(labels=labels)
    extra, writes = made["popri.control_texts"], 4 * 4 * 3 + len(made["popri.final_texts"])
    asked = writes - 30  # public texts
    assert 0.7 * asked < len(extra) <= asked, "every fifth text is empty, as of POPri's own"
    assert extra["text"].is_unique
    assert (extra["text"] != "").all()
    assert len(made["popri.control_embeddings"]) == len(extra)
    pool = {*(f"public {i}" for i in range(30)), *extra["text"]}
    assert set(made["popri_matched_public"]["text"]) <= pool
    assert len(made["popri_matched_public"]) == 12


def test_the_control_s_texts_read_no_release(run_popri: Run) -> None:
    one, other = run_popri(), run_popri(privacy={"noise_seed": 2})
    assert not np.array_equal(one["popri_released_mean"], other["popri_released_mean"])
    assert one["popri.control_texts"].equals(other["popri.control_texts"])


def test_enough_public_text_needs_no_more(run_popri: Run) -> None:
    made = run_popri(rounds=1, prompts=2, responses=2, synthetic_texts=8)
    assert made["popri.control_texts"].empty
