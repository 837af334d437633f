"""Private Evolution's and PE+SFT's whole graphs on arrays: both forms, both selections, lookahead, classes, mask filling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.models.language_model import MaskedModel
from fedtext.params.pe import Pe
from fedtext.params.pe_sft import PeSft
from tests.parameters import conf_base
from tests.pipelines.conftest import configure, run_in_memory
from tests.refusals import refuses

Run = Callable[..., dict[str, Any]]
CENTRAL = {"unit": "record", "aggregation": "trusted"}
AUG_PE = {"form": "aug_pe", "variations": 3, "selection": "rank", "privacy": CENTRAL}


@pytest.fixture
def run_evolution(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs Private Evolution, and PE+SFT after it, in memory; everything made, by data set name."""
    from fedtext.algorithms.pe import candidates
    from fedtext.generation import few_shot
    from fedtext.pipelines.pe_sft import nodes as tuning

    monkeypatch.setattr(few_shot, "clean_samples", lambda texts, *_, **__: list(texts))
    monkeypatch.setattr(tuning, "train_on_texts", lambda *_, **__: ("adapter", [{"step": 1.0, "loss": 0.5}]))
    monkeypatch.setattr(MaskedModel, "load", lambda _: (None, None))
    monkeypatch.setattr(
        candidates, "fill_masks", lambda _, __, texts, *___, **____: [f"{text} again" for text in texts]
    )

    def run(privacy: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
        chosen = {
            "rounds": 3,
            "population": 12,
            "synthetic_texts": 15,
            "lookahead": 0,
            "variation": "few_shot",
        } | changes
        chosen |= {"form": chosen.get("form", "pre_text"), "final": chosen.get("final", "expansion")}
        configure(pe=chosen)
        given = {
            "params:pe": conf_base(Pe, {"final_responses": 1, **chosen}),
            "params:pe_sft": conf_base(PeSft, samples=6, lists=4, synthetic_texts=10, final_responses=1),
            "masked_model": MaskedModel("somewhere"),
        }
        declared = {"epsilon": 1.0, "delta": 1e-3, "noise_seed": 1, **(privacy or {})}
        return run_in_memory("pe_sft", declared, given)

    return run


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("labels", [(), ("tea", "rum")])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"lookahead": 2},
        {"variation": "mask_filling", "lookahead": 1},
        {"selection": "rank", "variations": 2},
        {"final": "survivors"},
        {"final": "accumulated"},
        {"final": "accumulated", "variation": "mask_filling"},
        {"threshold": 1e6},
        AUG_PE,
        {**AUG_PE, "selection": "probability", "final": "survivors"},
        {**AUG_PE, "final": "accumulated", "synthetic_texts": 100},
    ],
    ids=lambda c: ",".join(f"{k}" for k in c) or "published",
)  # fmt: skip
def test_every_form_ends_in_a_data_set_within_budget(run_evolution: Run, changes: dict, labels: tuple) -> None:
    made = run_evolution(labels=labels, **changes)
    for name in ("pe", "pe_sft"):
        synthetic = made[f"{name}_synthetic"]
        assert len(synthetic) == len(made[f"{name}_synthetic_embeddings"]) >= 1
        assert list(synthetic.columns) == ["text", "prompt_id", "round", "label"]
        assert (synthetic["text"] != "").all()
        assert set(synthetic["label"].dropna()) <= set(labels)
        assert made[f"{name}_privacy_report"]["epsilon"] == pytest.approx(1.0, rel=0.01)
        assert made[f"{name}_privacy_report"]["unit"] == changes.get("privacy", {"unit": "client"})["unit"]
    ledger = made["pe.round_03.ledger"]
    assert [(r.name, r.round) for r in ledger.releases] == [("pe.histogram", t) for t in (1, 2, 3)]
    assert list(made["pe_round_embeddings"]) == ["round_01", "round_02", "round_03"]
    assert made["pe_rounds"] == {"released_scores": [None] * 3, "stopped": False, "chosen": 2}


def test_pre_text_starts_from_public_texts_and_replaces_them(run_evolution: Run) -> None:
    made = run_evolution()
    first, second = (set(made[f"pe.round_0{t}.candidates"]["text"]) for t in (1, 2))
    assert all(text.startswith("public") for text in first)
    assert not first & second
    assert set(made["pe.round_01.survivors"]["text"]) <= first


def test_aug_pe_starts_from_the_generator_and_keeps_the_parents(run_evolution: Run) -> None:
    made = run_evolution(**AUG_PE)
    assert not made["pe.start"]["text"].str.startswith("public").any()
    survivors = made["pe.round_01.survivors"]["text"].tolist()
    assert len(survivors) == 12 // 4
    assert made["pe.round_02.candidates"]["text"].tolist()[: len(survivors)] == survivors


def test_all_that_was_written_is_kept_and_the_last_vote_too_has_an_effect(run_evolution: Run) -> None:
    """As WASP's paper runs it: texts of every round, and variations of the last survivors, who else chose nothing."""
    made = run_evolution(**AUG_PE, final="accumulated", synthetic_texts=100)
    written = pd.concat([*(made[f"pe.round_0{t}.candidates"] for t in (1, 2, 3)), made["pe.closing.candidates"]])
    assert set(made["pe_synthetic"]["text"]) == set(written["text"])
    assert made["pe_synthetic"]["text"].is_unique
    assert set(made["pe_synthetic"]["round"]) == {1, 2, 3, 4}
    assert set(made["pe.round_03.survivors"]["text"]) <= set(made["pe.closing.candidates"]["text"])
    few = run_evolution(**AUG_PE, final="accumulated", synthetic_texts=5)["pe_synthetic"]
    assert len(few) == 5
    assert few["round"].min() == 4


def test_public_texts_are_no_part_of_what_was_written(run_evolution: Run) -> None:
    made = run_evolution(final="accumulated", synthetic_texts=100)
    assert not made["pe_synthetic"]["text"].str.startswith("public").any()
    assert set(made["pe_synthetic"]["round"]) == {2, 3, 4}


def test_the_histogram_goes_to_whom_the_records_are_near(run_evolution: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With next to no noise the survivors are the candidates that the private samples chose."""
    made = run_evolution(privacy={"epsilon": 1e15, "noise_multiplier": 1e-6, **CENTRAL}, form="aug_pe", variations=3)
    held, rows = made["private_embeddings"]["features"], made["pe.round_01.candidate_embeddings"]
    votes = np.bincount((held @ rows.T).argmax(axis=1), minlength=len(rows))
    assert np.allclose(made["pe.round_01.scores"], votes, atol=0.5)
    chosen = set(made["pe.round_01.candidates"]["text"][votes > 0])
    assert set(made["pe.round_01.survivors"]["text"]) <= chosen


def test_the_same_seed_and_key_give_the_same_run_and_another_key_another(run_evolution: Run) -> None:
    first, again = run_evolution(), run_evolution()
    pd.testing.assert_frame_equal(first["pe_synthetic"], again["pe_synthetic"])
    other = run_evolution(privacy={"noise_seed": 2})
    name = "pe.round_01.scores"
    assert np.array_equal(first[name], again[name])
    assert not np.array_equal(first[name], other[name])


def test_an_overdrawn_plan_and_another_form_s_declaration_are_refused(run_evolution: Run) -> None:
    with refuses("budget-exceeded"):
        run_evolution(privacy={"noise_multiplier": 3.0})
    with refuses("needs-a-curator", value="aug_pe"):
        run_evolution(form="aug_pe")
    with refuses("no-curator", value="pre_text"):
        run_evolution(privacy=CENTRAL)


def test_pe_sft_costs_nothing_further_and_says_so(run_evolution: Run) -> None:
    made = run_evolution()
    report = made["pe_sft_privacy_report"]
    assert report["releases"] == made["pe_privacy_report"]["releases"]
    assert any("noised histograms and public text alone" in line for line in report["assumptions"])
