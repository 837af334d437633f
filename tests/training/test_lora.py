from __future__ import annotations

import json

import pytest
import torch
from peft import PeftModel, get_peft_model
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, MambaConfig, MambaForCausalLM, OPTConfig, OPTForCausalLM

from fedtext.params.training import Lora
from fedtext.training.lora import TrainedAdapter, load_weights, lora_config, target_modules, without_deprecations
from tests.parameters import conf_base
from tests.refusals import refuses

pytestmark = pytest.mark.filterwarnings("ignore:.*gradient_checkpointing")  # TRL and PEFT themselves

ATTENTION = [f"self_attn.{p}_proj" for p in "koqv"]


def with_adapter(base, params, seed=0):
    """A PEFT model whose adapter does something: lora_B is drawn, not zero."""
    torch.manual_seed(seed)
    with without_deprecations():
        model = get_peft_model(base.load()[0], lora_config(base.load()[0], params))
    for name, p in model.named_parameters():
        if "lora_B" in name:
            p.data.normal_()
    return model


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ("attention", ATTENTION),
        ("attention_and_mlp", ["mlp.down_proj", "mlp.up_proj", *ATTENTION]),
        ("all_linear", ["mlp.down_proj", "mlp.gate_proj", "mlp.up_proj", *ATTENTION]),
    ],
)
def test_llama_matrices_are_found_by_name_and_the_head_never_is(llama, targets, expected):
    assert target_modules(llama.load()[0], targets) == expected


def test_gpt2_matrices_are_told_apart_by_their_block_and_stored_transposed(gpt2, llama, recwarn):
    model, _ = gpt2.load()
    assert target_modules(model, "attention") == ["attn.c_attn", "attn.c_proj"]
    assert target_modules(model, "attention_and_mlp") == ["attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"]
    config = lora_config(model, conf_base(Lora))
    assert config.fan_in_fan_out
    assert not lora_config(llama.load()[0], conf_base(Lora)).fan_in_fan_out
    with without_deprecations():
        get_peft_model(model, config)
    assert not recwarn.list


def test_other_architectures_name_them_differently():
    neox = GPTNeoXForCausalLM(
        GPTNeoXConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=20)
    )
    assert target_modules(neox, "attention_and_mlp") == [
        "attention.dense",
        "attention.query_key_value",
        "mlp.dense_4h_to_h",
        "mlp.dense_h_to_4h",
    ]
    opt = OPTForCausalLM(
        OPTConfig(
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            ffn_dim=16,
            vocab_size=20,
            word_embed_proj_dim=16,
        )
    )
    assert [t.split(".")[1] for t in target_modules(opt, "attention_and_mlp")] == [
        "fc1",
        "fc2",
        "k_proj",
        "out_proj",
        "q_proj",
        "v_proj",
    ]


def test_an_architecture_without_attention_is_refused_with_its_own_names():
    mamba = MambaForCausalLM(MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=20, state_size=4))
    with refuses("unknown-lora-targets"):
        lora_config(mamba, conf_base(Lora))
    assert lora_config(mamba, conf_base(Lora, targets="all_linear")).target_modules


def test_parameters_reach_peft(llama):
    config = lora_config(llama.load()[0], conf_base(Lora, rank=3, alpha=7, dropout=0.1))
    assert (config.r, config.lora_alpha, config.lora_dropout) == (3, 7, 0.1)


def test_a_saved_adapter_is_two_files_and_gives_the_same_model_back(llama, tmp_path):
    model = with_adapter(llama, conf_base(Lora))
    model.add_adapter("ref", model.peft_config["default"])
    TrainedAdapter.of(model, "tiny").save_pretrained(tmp_path / "adapter")
    assert sorted(p.name for p in (tmp_path / "adapter").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    restored = PeftModel.from_pretrained(llama.load()[0], str(tmp_path / "adapter"))
    ids = torch.arange(3, 20)[None]
    model.eval()
    with torch.no_grad():
        expected, got, plain = (m(ids).logits for m in (model, restored, llama.load()[0]))
    assert torch.allclose(expected, got, atol=1e-6)
    assert not torch.allclose(expected, plain, atol=1e-2)


def test_a_saved_adapter_names_no_place_on_this_machine(llama, tmp_path):
    base = tmp_path / "models" / "generator"
    base.mkdir(parents=True)
    adapter = TrainedAdapter.of(with_adapter(llama, conf_base(Lora)), str(base))
    adapter.save_pretrained(tmp_path / "a")
    config = json.loads((tmp_path / "a" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "generator"
    assert str(tmp_path) not in (tmp_path / "a" / "adapter_config.json").read_text()
    assert config["target_modules"] == sorted(config["target_modules"])
    assert (
        TrainedAdapter.of(with_adapter(llama, conf_base(Lora)), "org/name").config.base_model_name_or_path == "org/name"
    )


def test_saved_weights_are_set_on_another_model(llama, tmp_path):
    source, target = with_adapter(llama, conf_base(Lora), seed=1), with_adapter(llama, conf_base(Lora), seed=2)
    TrainedAdapter.of(source, "tiny").save_pretrained(tmp_path)
    load_weights(target, tmp_path)
    wanted, got = dict(source.named_parameters()), dict(target.named_parameters())
    assert all(torch.equal(wanted[name], got[name]) for name in wanted)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (conf_base(Lora, rank=2), "adapter-of-other-settings"),
        (conf_base(Lora, rank=4, targets="attention"), "adapter-of-other-settings"),
    ],
)
def test_an_adapter_of_another_shape_is_refused(llama, tmp_path, asked, code):
    TrainedAdapter.of(with_adapter(llama, conf_base(Lora, rank=4)), "tiny").save_pretrained(tmp_path)
    with refuses(code):
        load_weights(with_adapter(llama, asked), tmp_path)


def test_a_missing_adapter_is_named(llama, tmp_path):
    with refuses("missing-adapter"):
        load_weights(with_adapter(llama, conf_base(Lora)), tmp_path / "nowhere")
