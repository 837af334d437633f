"""MAUVE by its authors' package where that is installed; refused in one sentence, before any work, where it is not."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from fedtext.evaluation.distribution import HeldOut
from fedtext.evaluation.measures.known import measure, of_sets
from fedtext.evaluation.measures.mauve import MAUVE, PACKAGE, mauve_of
from fedtext.evaluation.measures.measure import Extra
from tests.evaluation.examples import HELD_OUT, cloud

REFERENCE = HeldOut.of(HELD_OUT, smallest_set=100)


def test_without_its_package_it_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"mauve needs the package mauve-text, .*pip install mauve-text, or leave"):
        of_sets(["fid", "mauve"])
    with pytest.raises(ValueError, match="mauve needs the package"):
        mauve_of(REFERENCE, cloud(150, 3))
    assert measure("mauve") is MAUVE  # a comparison may name what another machine has taken


def test_a_package_that_is_there_is_not_refused() -> None:
    Extra(module="json", package="json").refuse_absent("fid")


def test_it_is_asked_at_one_size_with_held_out_text_first(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compute_mauve(p_features: np.ndarray, q_features: np.ndarray, **told: object) -> SimpleNamespace:
        seen.append((p_features, q_features, told))
        return SimpleNamespace(mauve=len(seen) / 10)

    stand_in = ModuleType("mauve")
    stand_in.compute_mauve = compute_mauve  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mauve", stand_in)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: SimpleNamespace())
    texts = cloud(150, 3)
    assert mauve_of(REFERENCE, texts) == pytest.approx(0.25)  # of four draws
    for p, q, told in seen:
        assert p.shape == q.shape == (REFERENCE.size, 12)
        assert np.isin(p, HELD_OUT).all()
        assert np.isin(q, texts).all()
        assert told["seed"] == 0
    with pytest.raises(ValueError, match="smallest_set to 99"):
        mauve_of(REFERENCE, cloud(99, 3))


def test_texts_from_elsewhere_are_farther() -> None:
    pytest.importorskip("mauve")
    PACKAGE.refuse_absent("mauve")
    near, far = cloud(200, 3), cloud(200, 3) + 0.8 * np.eye(12)[0]
    assert mauve_of(REFERENCE, near) > 0.9 > mauve_of(REFERENCE, far)
    assert mauve_of(REFERENCE, near) == mauve_of(REFERENCE, near)
