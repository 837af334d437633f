"""MAUVE by its authors' package where that is installed; refused in one sentence, before any work, where it is not."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.evaluation.distribution import Bias, HeldOut
from fedtext.evaluation.measures import mauve
from fedtext.evaluation.measures.distances import FID, compared, floors
from fedtext.evaluation.measures.known import measure, set_measures
from fedtext.evaluation.measures.mauve import FEWEST, MAUVE, PACKAGE, features_of, mauve_floor, mauve_of
from fedtext.evaluation.measures.measure import Extra
from fedtext.models.language_model import LanguageModel
from fedtext.params.evaluation import Evaluation
from fedtext.pipelines.evaluation.nodes.conditions import measure_distances_and_mauve
from fedtext.reporting.tables import distance_table
from tests.evaluation.examples import HELD_OUT, card, cloud, distribution
from tests.parameters import conf_base
from tests.refusals import refuses

REFERENCE = HeldOut.of(HELD_OUT, smallest_set=100)


def test_without_its_package_it_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with refuses("missing-package", value="mauve"):
        set_measures(["fid", "mauve"])
    with refuses("missing-package", value="mauve"):
        mauve_of(REFERENCE, cloud(150, 3))
    assert measure("mauve") is MAUVE  # a comparison may name what another machine has taken


def test_a_package_that_is_there_is_not_refused() -> None:
    Extra(module="json", package="json").validate_installed("fid")


def installed(name: str, package: str | None = None, find: Any = importlib.util.find_spec) -> Any:
    """As Python's own, where `mauve` is installed."""
    return SimpleNamespace() if name == "mauve" else find(name, package)


def test_it_is_asked_at_one_size_with_held_out_text_first(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compute_mauve(p_features: np.ndarray, q_features: np.ndarray, **told: object) -> SimpleNamespace:
        seen.append((p_features, q_features, told))
        return SimpleNamespace(mauve=len(seen) / 10)

    stand_in = ModuleType("mauve")
    stand_in.compute_mauve = compute_mauve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mauve", stand_in)
    monkeypatch.setattr("importlib.util.find_spec", installed)
    texts = cloud(150, 3)
    assert mauve_of(REFERENCE, texts) == pytest.approx(0.25)  # of four draws
    for p, q, told in seen:
        assert p.shape == q.shape == (REFERENCE.size, 12)
        assert np.isin(p, HELD_OUT).all()
        assert np.isin(q, texts).all()
        assert told["seed"] == 0
    with refuses("smaller-than-smallest-set", parameter="smallest_set"):
        mauve_of(REFERENCE, cloud(99, 3))


def test_texts_from_elsewhere_are_farther() -> None:
    pytest.importorskip("mauve")
    PACKAGE.validate_installed("mauve")
    near, far = cloud(200, 3), cloud(200, 3) + 0.8 * np.eye(12)[0]
    assert mauve_of(REFERENCE, near) > 0.9 > mauve_of(REFERENCE, far)
    assert mauve_of(REFERENCE, near) == mauve_of(REFERENCE, near)


def test_few_texts_have_no_mauve_and_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set against itself is 0.75 in some draws of 64 texts: such a value is not shown."""
    monkeypatch.setattr("importlib.util.find_spec", installed)
    monkeypatch.setattr("fedtext.evaluation.measures.mauve._mauve", lambda ours, theirs: pytest.fail("it is taken"))
    few = HeldOut.of(HELD_OUT, smallest_set=FEWEST - 1)
    assert mauve_of(few, cloud(150, 3)) is None
    assert mauve_floor(few) is None
    assert floors(few, [MAUVE]) == {}
    found = distribution().model_copy(update={"sets": {"synthetic": compared(few, cloud(150, 3), [MAUVE])}})
    made = card(distribution=found)
    assert "MAUVE is not taken of fewer than 100 texts a side: of so few it says nothing." in made["limits"]
    assert "floors" not in made["distribution"]


def test_a_floor_stands_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two disjoint samples of held-out text, at the size that the sets are taken at."""
    seen = []

    def taken(ours: np.ndarray, theirs: np.ndarray) -> float:
        seen.append((ours, theirs))
        return 0.9

    monkeypatch.setattr("importlib.util.find_spec", installed)
    monkeypatch.setattr("fedtext.evaluation.measures.mauve._mauve", taken)
    own = floors(REFERENCE, [MAUVE, FID])
    assert own == {"mauve": Bias(pytest.approx(0.9), pytest.approx(0), 100)}
    assert all(len(ours) == len(theirs) == 100 for ours, theirs in seen)
    assert not any(np.isin(ours[:, 0], theirs[:, 0]).any() for ours, theirs in seen)
    sets = {"synthetic": compared(REFERENCE, cloud(150, 3), [FID, MAUVE])}
    made = card(distribution=distribution().model_copy(update={"sets": sets, "floors": own}))
    said = "MAUVE of two samples of 100 held-out texts each is 0.900 ± 0.000: compare it with that, not with 1."
    assert said in made["limits"]
    assert made["distribution"]["floors"]["mauve"]["size"] == 100
    last_row = distance_table(made["distribution"]).rpartition("held-out text against itself")[2]
    assert "0.9" in last_row


def test_features_are_the_last_token_s_state_whatever_stands_beside_a_text() -> None:
    model = LanguageModel("bundled:on_device")
    texts = ["Return the name of the file.", "Close it.", "", "Read all lines of a text and return them as a list."]
    together = features_of(model, texts)
    loaded, tokenizer = model.load()
    for number, text in enumerate(texts[:2]):
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        alone = loaded(input_ids=ids, output_hidden_states=True).hidden_states[-1][0, -1].float().detach().numpy()
        np.testing.assert_allclose(together[number], alone, atol=1e-4)
    assert np.isfinite(together).all()
    assert np.abs(together[0] - together[1]).max() > 0.1
    np.testing.assert_allclose(features_of(model, texts * 9)[-4:], together, atol=1e-4)
    assert features_of(model, []).shape == (0, loaded.config.hidden_size)


def test_mauve_by_a_language_model_s_features_replaces_that_by_the_encoder_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mauve, "mauve_of", lambda held_out, rows: rows.shape[1] / 1000)
    texts = pd.DataFrame({"text": [f"Return line {i}." for i in range(12)]})
    embeddings = cloud(12, 1)
    found = measure_distances_and_mauve(
        cloud(24, 2),
        embeddings,
        embeddings,
        conf_base(Evaluation, measures="fid mauve"),
        texts,
        texts,
        texts,
        LanguageModel("bundled:on_device"),
    )
    width = features_of(LanguageModel("bundled:on_device"), ["a"]).shape[1]
    assert found["sets"]["synthetic"]["mauve"] == found["sets"]["public_control"]["mauve"] == width / 1000
    assert "fid" in found["sets"]["synthetic"]
    assert found["features"] == "bundled:on_device"
