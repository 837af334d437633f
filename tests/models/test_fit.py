"""Faulty tokenizers are refused before a run, each in a sentence with the model's name and what helps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, ByT5Tokenizer

from fedtext.datasets.generators import GeneratorDataset, TokenizerDataset
from fedtext.datasets.models import EncoderDataset, LanguageModelDataset
from fedtext.models import fit
from fedtext.models.language_model import LanguageModel, Tokenizer, bundled
from fedtext.models.offline_encoder import offline_encoder_files
from fedtext.models.source import TOKENIZER_SIGNS
from tests.refusals import refuses

Edit = Callable[[dict[str, Any]], object]


def copied(source: Path | str, target: Path, **edits: Edit) -> str:
    """A model's files with some of its JSON changed."""
    shutil.copytree(source, target)
    for stem, edit in edits.items():
        content = json.loads((target / f"{stem}.json").read_text())
        edit(content)
        (target / f"{stem}.json").write_text(json.dumps(content))
    return str(target)


def without(*names: str) -> Edit:
    return lambda content: [content.pop(f"{name}_token", None) for name in names]


def test_a_model_without_a_token_to_start_with_is_refused(tmp_path: Path) -> None:
    source = copied(bundled("on_device"), tmp_path / "model", tokenizer_config=without("bos", "eos", "pad"))
    for kind in (LanguageModelDataset, GeneratorDataset):
        with refuses("model-does-not-fit", value=source):
            kind(source=source).exists()
    assert TokenizerDataset(generator=source).exists()  # which only cuts


@pytest.mark.parametrize(("kind", "told", "refused"), [
    ("bert", {}, True),
    ("roberta", {"is_decoder": False}, True),
    ("bert", {"is_decoder": True}, False),
    ("gpt2", {}, False),
    ("llama", {}, False),
    ("bart", {}, False),
])  # fmt: skip
def test_a_model_that_reads_both_ways_is_no_next_token_model(
    tmp_path: Path, kind: str, told: dict[str, Any], refused: bool
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind, **told}))
    tokenizer = Tokenizer(bundled("on_device")).load()
    fault = fit.reads_forwards(tokenizer, tmp_path)
    assert (fault is not None) == refused
    assert fault is None or ("distilbert/distilgpt2" in fault and "is_decoder=true" in fault)


def test_such_a_model_is_refused_before_a_run(tmp_path: Path) -> None:
    source = copied(bundled("on_device"), tmp_path / "model", config=lambda told: told.update(model_type="bert"))
    for kind in (LanguageModelDataset, GeneratorDataset):
        with refuses("model-does-not-fit", value=source):
            kind(source=source).exists()


def test_the_library_s_class_reads_both_ways_unless_it_is_a_decoder() -> None:
    """What the refusal rests on: transformers gives a BERT's causal class no causal mask by itself."""
    import torch
    from transformers import AutoModelForCausalLM, BertConfig

    def first_logits(is_decoder: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        config = BertConfig(vocab_size=30, is_decoder=is_decoder, **sizes)
        model = AutoModelForCausalLM.from_config(config).eval()
        return [model(torch.tensor([[2, 5, later]])).logits[0, 0] for later in (6, 7)]

    assert not torch.allclose(*first_logits(is_decoder=False))
    assert torch.allclose(*first_logits(is_decoder=True), atol=1e-6)


@pytest.mark.parametrize("left_out", [("bos", "pad"), ("eos", "pad"), ("pad",)])
def test_one_token_to_start_or_end_with_is_enough(tmp_path: Path, left_out: tuple[str, ...]) -> None:
    source = copied(bundled("generator"), tmp_path / "model", tokenizer_config=without(*left_out))
    assert GeneratorDataset(source=source).exists()
    assert Tokenizer(source).load().pad_token_id is not None


@pytest.mark.parametrize(
    ("kind", "files"),
    [(LanguageModelDataset, lambda: bundled("on_device")), (EncoderDataset, offline_encoder_files)],
    ids=["language model", "encoder"],
)
def test_more_tokens_than_rows_are_refused_and_fewer_are_not(
    tmp_path: Path, kind: type[LanguageModelDataset], files: Callable[[], Path | str]
) -> None:
    source = copied(files(), tmp_path / "model")
    assert kind(source=source).exists()
    tokenizer = AutoTokenizer.from_pretrained(source)
    tokenizer.add_tokens(["zyx-one", "zyx-two"])
    tokenizer.save_pretrained(source)
    with refuses("model-does-not-fit", value=source):
        kind(source=source).exists()


def test_a_configuration_of_other_weights_is_refused(tmp_path: Path) -> None:
    source = copied(bundled("on_device"), tmp_path / "model", config=lambda told: told.update(vocab_size=5000))
    with refuses("model-does-not-fit"):
        LanguageModelDataset(source=source).exists()


def test_a_tokenizer_without_offsets_is_refused_where_texts_are_cut(tmp_path: Path) -> None:
    source = copied(bundled("on_device"), tmp_path / "model")
    (tmp_path / "model" / "tokenizer.json").unlink()
    ByT5Tokenizer().save_pretrained(source)  # the library's slow ones say no offsets
    for dataset in (TokenizerDataset(generator=source), GeneratorDataset(source="bundled:generator", measure=source)):
        with refuses("model-does-not-fit", value=source):
            dataset.exists()


def test_a_tokenizer_that_fails_on_unknown_text_is_refused(tmp_path: Path) -> None:
    source = copied(bundled("on_device"), tmp_path / "model")
    words = {"type": "WordLevel", "vocab": {"<bos>": 0, "<eos>": 1, "<pad>": 2, "Two": 3, "words": 4}, "unk_token": "?"}
    told = json.loads((tmp_path / "model" / "tokenizer.json").read_text())
    told |= {"model": words, "pre_tokenizer": {"type": "Whitespace"}, "decoder": None, "post_processor": None}
    (tmp_path / "model" / "tokenizer.json").write_text(json.dumps(told))
    with refuses("model-does-not-fit"):
        TokenizerDataset(source=source, generator=source).exists()


def test_a_damaged_tokenizer_is_refused(tmp_path: Path) -> None:
    source = copied(bundled("on_device"), tmp_path / "model")
    (tmp_path / "model" / "tokenizer.json").write_text('{"version": "1.0"}')
    with refuses("model-unreadable", value=source):
        LanguageModelDataset(source=source).exists()


@pytest.mark.parametrize(
    ("kind", "files"),
    [(LanguageModelDataset, lambda: bundled("on_device")), (EncoderDataset, offline_encoder_files)],
    ids=["language model", "encoder"],
)
def test_a_model_without_a_tokenizer_is_refused(
    tmp_path: Path, kind: type[LanguageModelDataset], files: Callable[[], Path | str]
) -> None:
    """A model that is used behind the first release would miss it there."""
    source = copied(files(), tmp_path / "model")
    for sign in TOKENIZER_SIGNS:
        (tmp_path / "model" / sign).unlink(missing_ok=True)
    with refuses("model-unreadable", value=source):
        kind(source=source).exists()


@pytest.mark.parametrize(("stem", "own"), [("config", "AutoConfig"), ("tokenizer_config", "AutoTokenizer")])
def test_code_beside_a_model_is_neither_run_nor_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stem: str, own: str
) -> None:
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("a run in the night would wait for an answer"))
    code = {"auto_map": {own: "mine.Mine"}, "model_type": "mine", "tokenizer_class": "Mine"}
    source = copied(bundled("on_device"), tmp_path / "model", **{stem: lambda told: told.update(code)})
    with refuses("model-unreadable", value=source) as refused:
        LanguageModelDataset(source=source).exists()
    assert "contains custom code" in str(refused.value)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('a system message is needed') }}", "fails on one user's message .a system message"),
        ("{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% endif %}{% endfor %}", "leaves out what"),
        (None, "has no chat template"),
    ],
)
def test_a_model_that_cannot_be_asked_in_messages_is_refused(tmp_path: Path, template: str | None, said: str) -> None:
    source = copied(
        bundled("generator"), tmp_path / "model", tokenizer_config=lambda told: told.update(chat_template=template)
    )
    with refuses("no-chat-template"):
        GeneratorDataset(source=source, prompt="chat").exists()
    assert GeneratorDataset(source=source).exists()
    assert GeneratorDataset(source=source).chat_fault is not None


def test_a_model_that_ships_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "read_tokenizer", lambda *_: pytest.fail("two seconds of every command"))
    assert LanguageModelDataset(source="bundled:on_device").exists()
    assert GeneratorDataset(source="bundled:generator").exists()
    assert EncoderDataset(source="offline").exists()
    assert LanguageModel("bundled:on_device").tokenizer().pad_token
