"""SmolLM2 from its installed package: converted once, refused when it is another file, written with and trained."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from fedtext.datasets.generators import GeneratorDataset
from fedtext.datasets.models import file_digests
from fedtext.generation.dialogue import Dialogue, generate_answers
from fedtext.generation.few_shot import sampled_texts
from fedtext.generation.generators.local import LocalGenerator
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models import smollm2
from fedtext.models.language_model import LanguageModel
from fedtext.params.generation import Sampler
from fedtext.params.training import AdapterTraining
from fedtext.training.dpo import train_preferences
from tests.parameters import conf_base
from tests.refusals import refuses

REQUEST = "I collect proverbs. Please write a new one."


@pytest.fixture(scope="module")
def installed() -> None:
    try:
        metadata.distribution(smollm2.DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pytest.skip(f"package {smollm2.DISTRIBUTION} is not installed")


@pytest.fixture(scope="module")
def directory(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(smollm2.CACHE, str(tmp_path_factory.mktemp("cache")))
        return smollm2.smollm2()


@pytest.fixture
def cached(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(smollm2.CACHE, str(directory.parent))
    return directory


@pytest.fixture(scope="module")
def loaded(directory: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    return LanguageModel(str(directory)).load()


@pytest.mark.slow
def test_a_conversion_leaves_a_model_directory_that_is_not_made_again(cached: Path) -> None:
    names = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert names < {path.name for path in cached.iterdir()}
    made = (cached / "model.safetensors").stat().st_mtime_ns
    assert smollm2.smollm2() == cached
    assert (cached / "model.safetensors").stat().st_mtime_ns == made
    assert GeneratorDataset(source="smollm2", prompt="chat").exists()
    assert GeneratorDataset(source="smollm2").identity() == cached


@pytest.mark.slow
def test_it_is_the_published_model(loaded: tuple[PreTrainedModel, PreTrainedTokenizerBase]) -> None:
    model, tokenizer = loaded
    assert sum(weight.numel() for weight in model.parameters()) == 134_515_008
    assert "<|im_start|>" in tokenizer.chat_template
    assert model.generation_config.eos_token_id == [
        tokenizer.convert_tokens_to_ids(t) for t in ("<|im_end|>", "<|endoftext|>")
    ]
    ids = tokenizer("The capital of France is", return_tensors="pt").to(model.device)
    with torch.no_grad():
        assert tokenizer.decode(model(**ids).logits[0, -1].argmax()) == " Paris"


@pytest.mark.slow
def test_it_writes_texts_out_of_their_quotations(cached: Path) -> None:
    prompts = pd.DataFrame({"prompt_id": [0, 1], "prompt": [REQUEST, REQUEST], "label": [None, None]})
    sampler = conf_base(Sampler, prompt="chat", min_p=0.1, max_new_tokens=24, legible_only=False)
    generator = LocalGenerator("smollm2")
    (begun,) = generator.completion_prompts([REQUEST], prompt_form(sampler).framing)
    assert begun.endswith('<|im_start|>assistant\nHere is one of the texts:\n\n"')
    texts = sampled_texts(generator, prompts, responses=2, sampler=sampler, length=20, seed=0, label="proverbs")["text"]
    assert len(set(texts)) == 4
    assert all(len(text.split()) > 2 and not text.startswith('"') for text in texts)


@pytest.mark.slow
def test_a_step_of_preferences_changes_nothing_but_its_adapter(
    cached: Path, loaded: tuple[PreTrainedModel, PreTrainedTokenizerBase], tmp_path: Path
) -> None:
    generator, framing = LocalGenerator("smollm2"), prompt_form(conf_base(Sampler, prompt="chat")).framing
    before = file_digests(cached)
    pairs = pd.DataFrame({"chosen": ["Haste makes waste."], "rejected": ["A proverb is a short saying."]})
    trained, history = train_preferences(
        generator,
        pairs.assign(prompt=generator.completion_prompts([REQUEST], framing)),
        conf_base(AdapterTraining),
        seed=0,
        end=generator.ending(framing),
    )
    trained.save_pretrained(tmp_path / "adapter")
    assert file_digests(cached) == before
    assert len(history) == 1
    ids = torch.tensor([loaded[1](REQUEST)["input_ids"]], device=loaded[0].device)
    with torch.no_grad():
        public = loaded[0](ids).logits
        assert torch.equal(LanguageModel("smollm2").load()[0](ids).logits, public)
        assert not torch.equal(generator.with_adapter(tmp_path / "adapter").load()[0](ids).logits, public)


def test_another_file_is_refused_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: None
) -> None:
    monkeypatch.setenv(smollm2.CACHE, str(tmp_path))
    monkeypatch.setattr(smollm2, "SHA256", "0" * 64)
    with refuses("file-changed"):
        smollm2.smollm2()
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(smollm2.CACHE, str(tmp_path))
    monkeypatch.setattr(smollm2, "DISTRIBUTION", "no-such-distribution-here")
    with refuses("package-not-installed"):
        smollm2.smollm2()


def test_a_cache_that_is_no_directory_is_refused_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(smollm2.CACHE, str(tmp_path / "file"))
    with refuses("conversion-not-writable"):
        smollm2.smollm2()


def test_a_tokenizer_that_is_misread_is_refused_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: None
) -> None:
    """transformers 5.17 took <|im_start|> for the end of a turn: answers went on into the next one."""
    monkeypatch.setenv(smollm2.CACHE, str(tmp_path))
    monkeypatch.setattr(smollm2, "TURN_END", "<|im_start|>")
    with refuses("other-end-of-turn", value="<|im_end|>"):
        smollm2.smollm2()
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


@pytest.mark.slow  # tests/generation/test_sentences.py knows at every commit where a sentence ends
def test_answers_that_the_limit_cut_off_end_with_a_sentence(cached: Path) -> None:
    """SmolLM2 goes on for longer than 48 tokens, so nearly all of its answers are cut off."""
    prompts = pd.DataFrame({"prompt_id": [0, 1], "prompt": ["Explain what a file is.", "Explain what a list is."]})
    sampler = conf_base(Sampler, prompt="chat", min_p=0.1, max_new_tokens=48)
    generator = LocalGenerator("smollm2")
    asked = generate_answers(
        generator, Dialogue(chat=True), prompts, responses=3, sampler=sampler, seed=1, label="answers"
    )
    ends = asked["text"][asked["text"] != ""].str.contains(r"[.!?:][\"'*`)]*$")
    assert len(ends) >= 4
    assert ends.mean() > 0.75


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other places")
def test_the_cache_is_the_users_own_and_where_it_was_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(smollm2.CACHE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert smollm2._cache() == tmp_path / "fedtext"
