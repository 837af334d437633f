"""Before a run that releases something, the weights of all its models are looked at."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline, node
from safetensors.torch import load_file, save_file

from fedtext.datasets.models import LanguageModelDataset
from fedtext.models.language_model import bundled
from fedtext.privacy.tags import Tag
from fedtext.wiring.hooks.weights import check_weights
from tests.refusals import refuses


def with_nan(directory: Path) -> LanguageModelDataset:
    shutil.copytree(bundled("on_device"), directory)
    weights = load_file(directory / "model.safetensors")
    save_file(
        {**weights, "model.norm.weight": weights["model.norm.weight"] * torch.nan}, directory / "model.safetensors"
    )
    return LanguageModelDataset(source=str(directory))


def run_of(*tags: str) -> Pipeline:
    """A release, and nodes behind it that load the models for the first time."""
    return Pipeline([
        node(lambda given: given, "params:given", "released", tags=tags),
        node(lambda *_: 0, ["released", "on_device", "downstream"], "report"),
    ])  # fmt: skip


def test_models_that_are_first_loaded_behind_a_release_are_looked_at_before_it(tmp_path: Path) -> None:
    good = LanguageModelDataset(source=bundled("generator"))
    check_weights(run_of(Tag.RELEASE), DataCatalog({"on_device": good, "downstream": good}))
    broken = with_nan(tmp_path / "broken")
    with refuses("weights-not-finite", value="model.norm.weight"):
        check_weights(run_of(Tag.RELEASE), DataCatalog({"on_device": good, "downstream": broken}))
    with refuses("models-unusable") as refused:
        check_weights(
            run_of(Tag.RELEASE), DataCatalog({"on_device": with_nan(tmp_path / "other"), "downstream": broken})
        )
    assert str(refused.value).count("NaN") == 2


def test_a_model_under_two_names_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[LanguageModelDataset] = []

    def looked_at(model: LanguageModelDataset) -> None:
        read.append(model)

    monkeypatch.setattr(LanguageModelDataset, "check_weights", looked_at)
    same = {name: LanguageModelDataset(source=bundled("generator")) for name in ("on_device", "downstream")}
    check_weights(run_of(Tag.RELEASE), DataCatalog(dict(same)))
    assert len(read) == 1


def test_where_nothing_is_released_nothing_is_read(tmp_path: Path) -> None:
    broken = with_nan(tmp_path / "broken")
    check_weights(run_of(), DataCatalog({"on_device": broken, "downstream": broken}))
