from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from fedtext.models.language_model import LanguageModel, bundled
from fedtext.system.hardware import compute_device, is_bfloat16_faster
from tests.refusals import refuses

IDS = torch.tensor([[3, 20, 31, 44, 9]])
HOME = compute_device()


@pytest.fixture
def directory(tmp_path, model, tokenizer):
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def save_adapter(model, path: Path, scale: float) -> Path:
    """A LoRA adapter with random weights in both factors."""
    import copy

    from peft import LoraConfig, get_peft_model

    torch.manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT's own, about names and GPT-2's layers
        peft = get_peft_model(copy.deepcopy(model), LoraConfig(r=2, lora_alpha=4, target_modules="all-linear"))
    for name, parameter in peft.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=scale)
    peft.save_pretrained(path)
    return path


def logits(model):
    with torch.no_grad():
        return model(IDS.to(model.device)).logits.float().cpu()


def test_a_loaded_model_is_ready_and_silent(directory, model, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded, tokenizer = LanguageModel(str(directory)).load()
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err == ""
    assert not loaded.training
    assert loaded.device.type == HOME.type
    assert loaded.dtype == (torch.bfloat16 if HOME.type == "cuda" and is_bfloat16_faster(HOME) else torch.float32)
    assert tokenizer.padding_side == "left"
    assert torch.allclose(logits(loaded), logits(model), atol=1e-4 if loaded.dtype == torch.float32 else 0.3)


def test_a_tokenizer_without_padding_pads_with_the_end_of_text(directory):
    from transformers import AutoTokenizer

    plain = AutoTokenizer.from_pretrained(directory)
    plain.pad_token = None
    plain.save_pretrained(directory)
    tokenizer = LanguageModel(str(directory)).tokenizer()
    assert tokenizer.pad_token == tokenizer.eos_token


@pytest.mark.usefixtures("in_float32")
def test_merging_an_adapter_changes_nothing_but_the_speed(directory, model, tmp_path):
    source = LanguageModel(str(directory))
    adapted = source.with_adapter(save_adapter(model, tmp_path / "adapter", scale=0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        merged, _ = adapted.load()
    apart, _ = adapted.load(merge_adapter=False)
    base, _ = source.load()
    assert type(merged) is type(base)
    assert not any("lora" in name for name, _ in merged.named_parameters())
    assert not merged.training
    assert not apart.training
    assert torch.allclose(logits(merged), logits(apart), atol=1e-3)
    assert not torch.allclose(logits(merged), logits(base), atol=0.1)


def test_a_gentle_adapter_survives_bfloat16(llama, tmp_path):
    from peft import PeftModel

    from fedtext.models.language_model import _merged

    path = save_adapter(llama, tmp_path / "adapter", scale=0.004)
    reduced = type(llama)(llama.config).to(torch.bfloat16)
    reduced.load_state_dict({k: v.to(torch.bfloat16) for k, v in llama.state_dict().items()})
    before = {k: v.clone() for k, v in reduced.state_dict().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = PeftModel.from_pretrained(reduced, str(path))
    layer = wrapped.base_model.model.model.layers[0].mlp.up_proj
    wanted = layer.get_delta_weight("default").float()
    merged = _merged(wrapped)
    key = "model.layers.0.mlp.up_proj.weight"
    moved = (merged.state_dict()[key].float() - before[key].float()).double()
    nearest = ((before[key].float() + wanted).bfloat16().float() - before[key].float()).double()

    def kept(change):
        return float((change * wanted.double()).sum() / wanted.double().square().sum())

    assert kept(nearest) < 0.5
    assert 0.6 < kept(moved) < 1.4


def test_a_gentle_training_of_all_weights_survives_bfloat16(llama, tmp_path):
    from fedtext.models.language_model import ALL_WEIGHTS, _with_weights

    reduced = type(llama)(llama.config).to(torch.bfloat16)
    before = {name: weight.detach().float().clone() for name, weight in reduced.named_parameters()}
    torch.manual_seed(5)
    wanted = {name: 1e-4 * torch.randn_like(weight) for name, weight in before.items()}
    save_file({name: weight + wanted[name] for name, weight in before.items()}, tmp_path / ALL_WEIGHTS)
    read = dict(_with_weights(reduced, tmp_path).named_parameters())
    key = "model.layers.0.mlp.up_proj.weight"
    moved = (read[key].detach().float() - before[key]).double()
    kept = float((moved * wanted[key].double()).sum() / wanted[key].double().square().sum())
    assert 0.6 < kept < 1.4
    nearest = ((before[key] + wanted[key]).bfloat16().float() - before[key]).double()
    assert float((nearest * wanted[key].double()).sum() / wanted[key].double().square().sum()) < 0.5


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("/nowhere/model", "no-model-directory"),
        ("./nowhere", "no-model-directory"),
        ("bundled:nothing", "bundled-model-missing"),
    ],
)
def test_a_missing_model_is_one_clear_error(source, code):
    with refuses(code, value=source.removeprefix("bundled:")):
        LanguageModel(source).load()


def test_an_unreachable_hub_model_is_one_clear_error(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with refuses("model-unreadable", value="nobody/no-such-model"):
        LanguageModel("nobody/no-such-model").load()


def test_pickled_weights_are_refused(directory, model):
    (directory / "model.safetensors").unlink()
    torch.save(model.state_dict(), directory / "pytorch_model.bin")
    with refuses("model-unreadable"):
        LanguageModel(str(directory)).load()


def test_an_incomplete_checkpoint_is_refused(directory):
    weights = load_file(directory / "model.safetensors")
    weights.pop(sorted(weights)[0])
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    with refuses("model-unreadable"):
        LanguageModel(str(directory)).load()


def broken(file: Path, part: str, value: float) -> None:
    """One number of the first tensor whose name holds `part` becomes `value`, in the file."""
    weights = load_file(file)
    name = next(name for name in sorted(weights) if part in name)
    weights[name].view(-1)[-1] = value
    save_file(weights, file, metadata={"format": "pt"})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(directory, value):
    broken(directory / "model.safetensors", "1.", value)
    with refuses("weights-not-finite"):
        LanguageModel(str(directory)).load()


def test_an_adapter_that_diverged_is_refused_by_its_name(directory, model, tmp_path):
    adapter = save_adapter(model, tmp_path / "adapter", 0.01)
    assert LanguageModel(str(directory), adapter).load()
    broken(adapter / "adapter_model.safetensors", "lora_B", float("nan"))
    with refuses("weights-not-finite"):
        LanguageModel(str(directory), adapter).load()


def test_an_adapter_without_safetensors_is_refused(directory, tmp_path):
    with refuses("adapter-without-weights"):
        LanguageModel(str(directory), tmp_path).load()


def is_bundled(name: str) -> bool:
    try:
        bundled(name)
    except FileNotFoundError:
        return False
    return True


@pytest.mark.parametrize("name", ["generator", "on_device"])
def test_a_shipped_model_loads_by_either_name(name):
    if not is_bundled(name):
        pytest.skip(f"{name} is not shipped yet")
    model, tokenizer = LanguageModel(f"bundled:{name}").load()
    assert LanguageModel(bundled(name)).tokenizer().get_vocab() == tokenizer.get_vocab()
    assert model.get_input_embeddings().weight.shape[0] == len(tokenizer)


@pytest.mark.parametrize(("base", "told"), [("other/name", True), ("hub/model@v2", False), ("", False)])
def test_an_adapter_of_another_model_of_the_same_shape_is_warned_of(directory, model, tmp_path, caplog, base, told):
    adapter = save_adapter(model, tmp_path / "adapter", 0.1)
    file = adapter / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"base_model_name_or_path": base}))
    LanguageModel(str(directory)).with_adapter(adapter).load()
    assert (f"was trained on {base}, and is laid over" in caplog.text) is told
