"""WASP's whole graph on arrays: all forms of votes, both units, classes, and what the rounds leave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.params.wasp import Wasp
from tests.parameters import conf_base
from tests.pipelines.conftest import Talker, configure, run_in_memory
from tests.refusals import refuses

Run = Callable[..., dict[str, Any]]
CENTRAL = {"unit": "record", "aggregation": "trusted"}
SILOS = {"unit": "record", "population": 60, "holders": 30}


class Named(Talker):
    """A model of a name, that draws from words of its own."""

    def __init__(self, name: str, silent: bool = False) -> None:
        super().__init__()
        self.identity, self._silent = name, silent

    def write(self, requests: list[str], *, responses: int, seed: int, **_: Any) -> list[list[str]]:
        drawn = np.random.default_rng(seed).integers(0, 10**6, (len(requests), responses))
        return [["" if self._silent else f"{self.identity} {d}" for d in row] for row in drawn]


def held(records: int) -> dict[str, list[str]]:
    """Clients and texts of the training records that every run in memory has."""
    return {"client_id": [f"c{i // 2}" for i in range(records)], "text": [f"secret {i}" for i in range(records)]}


@pytest.fixture
def run_wasp(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs WASP in memory with two models; everything made, by data set name."""
    from fedtext.generation import few_shot

    monkeypatch.setattr(few_shot, "clean_samples", lambda texts, *_, **__: list(texts))

    def run(
        privacy: dict[str, Any] | None = None, silent: bool = False, labels_held: tuple[str, ...] = (), **changes: Any
    ) -> dict[str, Any]:
        chosen = {"rounds": 3, "texts": 32, "labels": ("tea", "rum"), "votes_per_record": 4, **changes}
        configure(wasp=chosen, models={"plms": {"loud": "bundled:generator", "quiet": "bundled:generator"}})
        given = {
            "params:wasp": conf_base(Wasp, chosen),
            "plm_loud": Named("loud"),
            "plm_quiet": Named("quiet", silent),
        }
        if labels_held:
            given["private_train"] = pd.DataFrame({**held(60), "label": labels_held})
        return run_in_memory("wasp", {"epsilon": 4.0, "delta": 1e-3, "noise_seed": 1, **(privacy or {})}, given)

    return run


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("privacy", "changes"),
    [
        (CENTRAL, {}),
        (SILOS, {}),
        ({}, {}),
        ({"aggregation": "local"}, {"clip_norm": 4.0}),
        (CENTRAL, {"model_sums": True, "weighting": "softmax"}),
        (CENTRAL, {"votes": "single_release", "contrast": False}),
        ({}, {"votes": "single_release", "labels": ()}),
    ],
    ids=["curator", "silos", "users", "local", "model sums", "single release", "no classes"],
)
def test_every_form_ends_in_a_data_set_within_budget(
    run_wasp: Run, privacy: dict[str, Any], changes: dict[str, Any]
) -> None:
    made = run_wasp(privacy, **changes)
    synthetic, report = made["wasp_synthetic"], made["wasp_privacy_report"]
    assert len(synthetic) == len(made["wasp_synthetic_embeddings"]) == 32
    assert list(synthetic.columns) == ["text", "prompt_id", "round", "label"]
    assert synthetic["text"].is_unique
    if changes.get("labels", True):
        assert synthetic["label"].value_counts().to_dict() == {"tea": 16, "rum": 16}
    assert report["epsilon"] == pytest.approx(4.0, rel=0.01)
    assert report["unit"] == privacy.get("unit", "client")
    assert list(made["wasp_round_embeddings"]) == ["round_01", "round_02", "round_03"]
    assert made["wasp_rounds"] == {"released_scores": [None] * 3, "stopped": False, "chosen": 2}
    assert {name for name in made if name.endswith("_figure")} >= {f"wasp_{n}_figure" for n in ("models", "classes")}


def test_releases_are_t_minus_one_votes_at_the_joint_norm(run_wasp: Run) -> None:
    releases = run_wasp(CENTRAL)["wasp_ledger"].releases
    assert [(r.name, r.round) for r in releases] == [("wasp.votes", 1), ("wasp.votes", 2)]
    assert all(r.non_negative and r.sensitivity == pytest.approx(1.6298, rel=1e-3) for r in releases)  # Q = 4
    single = run_wasp(CENTRAL, votes="single_release")["wasp_ledger"].releases
    assert [(r.name, r.round, r.non_negative) for r in single] == [("wasp.class_means", 0, False)]


def test_a_control_spends_nothing_and_no_noise_protects_nobody(run_wasp: Run) -> None:
    assert run_wasp(CENTRAL, votes="random")["wasp_privacy_report"]["epsilon"] == 0.0
    report = run_wasp(CENTRAL, votes="none")["wasp_privacy_report"]
    assert report["epsilon"] == "infinity"
    assert "No record is protected" in report["statement"]
    assert [entry["name"] for entry in report["unaccounted"]] == ["wasp.votes"] * 2


def test_without_noise_the_votes_are_those_of_the_records(run_wasp: Run) -> None:
    quiet = {**CENTRAL, "epsilon": 1e15, "noise_multiplier": 1e-6}
    noised, plain = run_wasp(quiet), run_wasp(CENTRAL, votes="none")
    name = "wasp.round_01.scores"
    assert noised[name] == pytest.approx(plain[name], abs=0.05)
    assert plain[name].sum(axis=1) == pytest.approx([60 * (2 - 2**-3)] * 2)


def test_a_silent_model_s_weight_falls_to_the_floor(run_wasp: Run) -> None:
    made = run_wasp(CENTRAL, silent=True, votes="none", weight_floor=0.1)
    assert made["wasp.round_01.state"]["weights"] == {"loud": 1.0, "quiet": 0.0}
    assert made["wasp.round_02.candidates"].query("round == 2")["model"].value_counts()["quiet"] == 1
    assert made["wasp.round_01.state"]["history"][0]["texts"] == {"loud": 6, "quiet": 0}


def test_how_many_records_a_class_has_is_read_by_the_votes_alone(run_wasp: Run) -> None:
    """All but one record of one class: plan, price and the number of texts a class are as they were."""
    even, lopsided = run_wasp(CENTRAL), run_wasp(CENTRAL, labels_held=("rum",) + ("tea",) * 59)
    assert not np.array_equal(even["wasp.round_01.scores"], lopsided["wasp.round_01.scores"])
    assert even["wasp.ledger_open"] == lopsided["wasp.ledger_open"]
    assert even["wasp_ledger"].releases == lopsided["wasp_ledger"].releases
    pd.testing.assert_frame_equal(even["wasp.round_01.candidates"], lopsided["wasp.round_01.candidates"])
    for made in (even, lopsided):
        table = made["wasp.round_03.candidates"]
        assert table.groupby(["round", "label"]).size().unstack().to_numpy().tolist() == [[5, 6], [6, 5], [5, 5]]


def test_a_class_without_records_costs_nothing_and_is_written_all_the_same(run_wasp: Run) -> None:
    made = run_wasp(CENTRAL, labels_held=("tea",) * 60)
    assert made["wasp_synthetic"]["label"].value_counts().to_dict() == {"tea": 16, "rum": 16}
    assert set(made["wasp.round_01.examples"]["label"]) == {"tea", "rum"}


def test_models_that_write_nothing_are_refused_before_anything_is_charged(
    run_wasp: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Named, "write", lambda _, requests, *, responses, **__: [[""] * responses for _ in requests])
    with refuses("no-model-has-written"):
        run_wasp(CENTRAL)


def test_the_next_round_is_shown_good_and_bad_texts(run_wasp: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    write = Named.write

    def heard(self: Named, requests: list[str], **given: Any) -> list[list[str]]:
        asked.extend(requests)
        return write(self, requests, **given)

    monkeypatch.setattr(Named, "write", heard)
    made = run_wasp(CENTRAL, votes="none", shown=2)
    examples = made["wasp.round_01.examples"]
    later = [request for request in asked if "A bad text" in request]
    assert later
    good = examples.loc[examples["kind"] == "good", "text"]
    assert any(any(f'A good text is: "{text}"' in request for text in good) for request in later)


def test_the_same_seed_and_key_give_the_same_run_and_another_key_another(run_wasp: Run) -> None:
    first, again, other = run_wasp(CENTRAL), run_wasp(CENTRAL), run_wasp({**CENTRAL, "noise_seed": 2})
    pd.testing.assert_frame_equal(first["wasp_synthetic"], again["wasp_synthetic"])
    assert np.array_equal(first["wasp.round_01.scores"], again["wasp.round_01.scores"])
    assert not np.array_equal(first["wasp.round_01.scores"], other["wasp.round_01.scores"])


def test_an_overdrawn_plan_is_refused(run_wasp: Run) -> None:
    with refuses("budget-exceeded"):
        run_wasp({**CENTRAL, "noise_multiplier": 0.5})
