"""The evaluation's nodes with a real on-device model: every condition scored on the same held-out text."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking, Partition
from fedtext.params.evaluation import Evaluation, UntunedControl
from fedtext.params.generation import Sampler
from fedtext.params.training import TunedTraining
from fedtext.pipelines.evaluation.nodes import conditions as nodes
from fedtext.pipelines.evaluation.nodes.conditions import compare_accuracies
from tests.parameters import conf_base

ON_DEVICE = LanguageModel("bundled:on_device")
PARTITION = conf_base(Partition)
SETTINGS = (
    conf_base(Chunking, length=24, min_tokens=4),
    conf_base(
        Evaluation,
        training=conf_base(TunedTraining, learning_rates=[3e-3], epochs=3, batch_size=8),
        texts=80,
        max_eval_samples=60,
    ),
)


def table(texts: list[str], clients: int = 20) -> pd.DataFrame:
    return pd.DataFrame({"text": texts, "client_id": [f"client {i % clients}" for i in range(len(texts))]})


def made_up(words: str, count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words.split(), size=12)) for _ in range(count)]


HARBOUR = "the ferry sailed from harbour to harbour while gulls followed its wake at dusk"
TEST = table(made_up(HARBOUR, 60, 1))
PRIVATE = table(made_up(HARBOUR, 120, 2))
NOISE = table(made_up("qzx vvk jjq wpx kkz xqv zzk", 100, 3))


@pytest.fixture(scope="module")
def accuracy() -> dict:
    half = pd.concat([PRIVATE.head(40), NOISE.head(40)], ignore_index=True)
    counts = {
        "synthetic": nodes.score_texts(ON_DEVICE, TEST, *SETTINGS, half)[0],
        "eps0": nodes.score_public_model(ON_DEVICE, TEST, *SETTINGS)[0],
        "public_control": nodes.score_texts(ON_DEVICE, TEST, *SETTINGS, NOISE)[0],
        "private": nodes.score_controls(ON_DEVICE, TEST, *SETTINGS, PRIVATE)[0],
    }
    return compare_accuracies(TEST, PARTITION, **counts)


def test_better_texts_give_a_better_model_and_a_share_of_the_gap(accuracy: dict) -> None:
    found = accuracy["conditions"]
    assert list(found) == ["eps0", "public_control", "synthetic", "private"]
    assert found["private"]["top_1"] > found["synthetic"]["top_1"] > found["eps0"]["top_1"]
    assert found["synthetic"]["texts"] == found["public_control"]["texts"] == 80
    assert accuracy["judged"] == "synthetic"
    assert 0 < accuracy["gap_closed"]["synthetic"]["share"] < 1
    assert accuracy["gains"]["synthetic"]["public_control"]["measurable"]


@pytest.mark.parametrize(("most", "expected"), [(None, 120), (30, 30), (500, 120)])
def test_the_upper_bound_trains_on_as_many_private_samples_as_asked(most: int | None, expected: int) -> None:
    brief = SETTINGS[1].model_copy(
        update={
            "private_texts": most,
            "training": conf_base(TunedTraining, learning_rates=[1e-3], epochs=0.1, batch_size=8),
        }
    )
    counts = nodes.score_controls(ON_DEVICE, TEST, SETTINGS[0], brief, PRIVATE)[0]
    found = compare_accuracies(
        TEST, PARTITION, eps0=nodes.score_public_model(ON_DEVICE, TEST, *SETTINGS)[0], private=counts
    )
    assert found["conditions"]["private"]["texts"] == expected


def test_the_bar_is_the_median_of_several_draws_and_the_curve_holds_them_all() -> None:
    brief = SETTINGS[1].model_copy(
        update={
            "private_texts": 30,
            "private_draws": 3,
            "private_curve": (10,),
            "training": conf_base(TunedTraining, learning_rates=[3e-3], epochs=1, batch_size=8),
        }
    )
    *public, private, draws = nodes.score_controls_and_draws(ON_DEVICE, TEST, SETTINGS[0], brief, PRIVATE, NOISE)
    assert len(public) == 1
    assert draws["texts"].tolist() == [30, 30, 30, 10]
    right = draws["correct"][:3, :, 0].sum(axis=1)
    assert len(set(right.tolist())) > 1, "draws differ"
    assert private["correct"][:, 0].sum() == sorted(right)[1]
    untrained = nodes.score_public_model(ON_DEVICE, TEST, *SETTINGS)[0]
    given = {"eps0": untrained, "public_control": public[0], "synthetic": public[0], "private": private}
    found = compare_accuracies(TEST, PARTITION, draws, **given)
    small, large = found["private_curve"]
    assert (small["texts"], large["texts"], large["draws"]) == (10, 30, 3)
    assert large["top_1"] == found["conditions"]["private"]["top_1"]
    assert found["worth"]["samples"].keys() == {"public_control", "synthetic"}
    assert found["remaining_gap"]["top_1"]["share"] == 0
    assert json.loads(json.dumps(found)) == found


def test_only_aggregates_leave(accuracy: dict) -> None:
    written = json.dumps(accuracy)
    assert json.loads(written) == accuracy
    assert not any(text in written for text in TEST["text"])


@pytest.mark.slow
def test_the_published_metric_is_added_under_its_own_name_and_changes_nothing_else(tmp_path, accuracy: dict) -> None:
    chunking, evaluation = SETTINGS
    asked = evaluation.model_copy(update={"published_metric": True})
    counts = nodes.score_texts(ON_DEVICE, TEST, chunking, asked, NOISE)[0]
    plain = nodes.score_texts(ON_DEVICE, TEST, *SETTINGS, NOISE)[0]
    figures = compare_accuracies(TEST, PARTITION, synthetic=counts, public_control=plain)["conditions"]
    assert {key for key in figures["synthetic"] if key not in figures["public_control"]} >= {"published_top_1"}
    assert figures["synthetic"]["published_top_1"] > figures["synthetic"]["top_1"]
    assert figures["synthetic"]["top_1"] == figures["public_control"]["top_1"]


def test_a_trained_model_is_scored_as_it_is(tmp_path, accuracy: dict) -> None:
    model, tokenizer = ON_DEVICE.load()
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path)
    counts = nodes.score_trained_model(tmp_path, ON_DEVICE, TEST, *SETTINGS)[0]
    assert counts["correct"].sum(axis=0)[0] / counts["tokens"].sum() == pytest.approx(
        accuracy["conditions"]["eps0"]["top_1"], abs=0.005
    )


def test_the_untuned_control_is_prompted_with_public_samples_only() -> None:
    chunking, evaluation = SETTINGS
    untuned = UntunedControl(written=None, responses=4, oversample=1.1, sampler=conf_base(Sampler, max_new_tokens=16))
    asked = evaluation.model_copy(update={"texts": 10, "untuned": untuned})
    texts = nodes.generate_untuned_texts(LocalGenerator("bundled:generator"), NOISE.head(20), chunking, asked)
    assert len(texts) == 10  # the first that are not empty of the 12 that three prompts give
    assert set(texts["prompt_id"]) == {0, 1, 2}
    assert (texts["text"] != "").all()
