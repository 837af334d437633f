"""Weights that are missing, of another shape, NaN or infinite are found before anything is computed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from fedtext.models.language_model import bundled
from fedtext.models.weights import check_saved_weights, check_tensors
from tests.masked_model import save_masked_model
from tests.refusals import refuses

NORM = "model.norm.weight"
CAUSAL = "AutoModelForCausalLM"


def check(directory: Path, model_class: str = CAUSAL) -> None:
    check_tensors(directory, model_class, "m", "language model", "'another'")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundled("on_device"), tmp_path / "model"))


def test_a_model_whose_output_is_its_input_s_embedding_lacks_nothing(model: Path) -> None:
    assert "lm_head.weight" not in load_file(model / "model.safetensors")
    check(model)


def test_a_missing_tensor_and_one_of_another_shape_are_refused(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    weights = load_file(model / "model.safetensors")
    norm = weights.pop(NORM)
    for changed in (weights, {**weights, NORM: torch.cat([norm, norm])}):
        save_file(changed, model / "model.safetensors", {"format": "pt"})
        with refuses("model-unreadable", value="m"):
            check(model)
    assert capfd.readouterr().err == ""


def test_layers_that_the_configuration_does_not_count_are_refused_and_other_tensors_are_not(model: Path) -> None:
    told = json.loads((model / "config.json").read_text())
    save_file({**load_file(model / "model.safetensors"), "pooler.weight": torch.ones(3)}, model / "model.safetensors")
    check(model)
    (model / "config.json").write_text(json.dumps({**told, "num_hidden_layers": told["num_hidden_layers"] - 1}))
    with refuses("model-unreadable") as refused:
        check(model)
    assert f"model.layers.{told['num_hidden_layers'] - 1}.input_layernorm.weight first" in str(refused.value)


def test_a_masked_model_is_complete_as_such_and_not_as_another(tmp_path: Path) -> None:
    directory = Path(save_masked_model(tmp_path))
    check(directory, "AutoModelForMaskedLM")
    with refuses("model-unreadable"):
        check(directory, "AutoModelForTokenClassification")


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_one_number_of_any_precision_is_found(tmp_path: Path, kind: torch.dtype, value: float) -> None:
    weights = {"a": torch.ones(2, 3, dtype=kind), "b": torch.arange(5000).to(kind), "none": torch.zeros(0, dtype=kind)}
    save_file(weights, tmp_path / "model.safetensors")
    check_saved_weights(tmp_path, "it", "get it again")
    weights["b"][4321] = value
    save_file(weights, tmp_path / "model.safetensors")
    with refuses("weights-not-finite", value="b"):
        check_saved_weights(tmp_path, "it", "get it again")


def test_numbers_that_cannot_be_infinite_are_passed_over(tmp_path: Path) -> None:
    quantised = {"a": torch.ones(3, dtype=torch.int8), "b": torch.ones(3).to(torch.float8_e4m3fn)}
    save_file(quantised, tmp_path / "model.safetensors")
    check_saved_weights(tmp_path, "it", "get it again")
