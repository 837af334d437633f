"""Public models by name: light handles, and missing ones known before a run.

Model directories: complete and unchanged, or an error that names the file.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from kedro.io import DatasetError
from safetensors.torch import load_file, save_file

from fedtext.datasets import models
from fedtext.datasets.generators import GeneratorDataset, TokenizerDataset
from fedtext.datasets.models import (
    MARKER,
    EncoderDataset,
    LanguageModelDataset,
    MaskedModelDataset,
    ModelDirectoryDataset,
    TaggerDataset,
)
from fedtext.models import fit
from fedtext.models import source as model_source
from fedtext.models.language_model import bundled
from fedtext.resuming.fingerprint import MISSING, FileDigests
from tests.refusals import refuses

NORM = "model.norm.weight"


def copy_of_bundled(directory: Path) -> Path:
    return Path(shutil.copytree(bundled("on_device"), directory))


def test_a_local_language_model_is_a_handle_that_counts_by_content(tmp_path: Path) -> None:
    model = copy_of_bundled(tmp_path / "model")
    dataset = LanguageModelDataset(source=str(model))
    assert dataset.exists()
    assert dataset.load().source == str(model)
    identity = dataset.identity()
    assert isinstance(identity, Path)
    before = FileDigests().of(identity)
    (model / "config.json").write_text("{ }")
    assert FileDigests().of(identity) not in {before, MISSING}


def test_a_hugging_face_id_is_asked_for_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(name: str, revision: str) -> model_source.Place:
        asked.append(name)
        if name == "owner/unknown":
            raise OSError("404")
        return model_source.Place(name, local=False, revision=revision, commit="c0ffee")

    monkeypatch.setattr(model_source, "_on_hub", answer)
    monkeypatch.setattr(fit, "check_fit", lambda *_: None)  # which would fetch the tokenizer
    for kind in (LanguageModelDataset, EncoderDataset):
        assert kind(source="owner/name").exists()
        assert kind(source="owner/name").identity() == "owner/name@c0ffee"
        with refuses("model-unreadable"):
            kind(source="owner/unknown").exists()
    assert asked == ["owner/name", "owner/name", "owner/unknown"] * 2


@pytest.mark.parametrize("source", ["/no/such/model", "./no-such-model", "~/no-such-model"])
def test_a_missing_directory_is_named(source: str) -> None:
    for kind in (LanguageModelDataset, EncoderDataset):
        with refuses("no-model-directory"):
            kind(source=source).exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "config.json"),
        (["config.json"], "safetensors"),
        (["config.json", "pytorch_model.bin"], "safetensors"),
    ],
)
def test_a_directory_without_a_model_is_known_before_a_run(tmp_path: Path, files: list[str], said: str) -> None:
    for name in files:
        (tmp_path / name).touch()
    for kind in (LanguageModelDataset, EncoderDataset):
        with refuses("model-unreadable", value=str(tmp_path)) as caught:
            kind(source=str(tmp_path)).exists()
        assert said in str(caught.value)


def test_a_bundled_model_that_is_not_shipped_is_one_clear_error() -> None:
    with refuses("bundled-model-missing", value="no-such-one"):
        LanguageModelDataset(source="bundled:no-such-one").exists()


def test_public_models_are_read_only() -> None:
    for dataset in (LanguageModelDataset(source="owner/name"), EncoderDataset(source="owner/name")):
        with refuses("model-is-read-only"):
            dataset.save("anything")


def test_an_offline_encoder_that_is_not_the_published_one_is_known_before_a_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fedtext.models import offline_encoder

    def refuse() -> Path:
        raise ValueError("offline encoder: model.safetensors has sha256 0000")

    monkeypatch.setattr(offline_encoder, "offline_encoder_files", refuse)
    with pytest.raises(DatasetError, match="has sha256 0000"):
        EncoderDataset(source="offline").exists()


def test_an_encoder_is_loaded_once_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from fedtext.models import encoder

    loaded: list[str] = []
    monkeypatch.setattr(encoder, "load_encoder", lambda source, **_: loaded.append(source) or object())
    dataset = EncoderDataset(source="owner/name")
    assert dataset.load() is dataset.load()
    assert loaded == ["owner/name"]
    dataset.release()
    dataset.load()
    assert len(loaded) == 2


def test_no_masked_model_is_said_before_a_run_and_a_named_one_is_a_handle() -> None:
    for asked in (lambda: MaskedModelDataset(source="none").exists(), lambda: MaskedModelDataset(source="none").load()):
        with refuses("no-masked-model", parameter="models.masked"):
            asked()
    assert MaskedModelDataset(source="owner/name").load().source == "owner/name"
    with refuses("no-model-directory", value="/no/such/model"):
        MaskedModelDataset(source="/no/such/model").exists()


def test_a_model_whose_file_was_cut_short_is_refused_before_it_is_read(tmp_path: Path) -> None:
    model = copy_of_bundled(tmp_path / "model")
    assert LanguageModelDataset(source=str(model)).exists()
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with refuses("model-unreadable") as caught:
        LanguageModelDataset(source=str(model)).exists()
    assert "model.safetensors" in str(caught.value)
    (model / "config.json").write_text("{")
    with refuses("model-unreadable") as caught:
        LanguageModelDataset(source=str(model)).exists()
    assert "config.json" in str(caught.value)


def changed(model: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> LanguageModelDataset:
    """Return the copy of a model with its weights changed."""
    weights = load_file(model / "model.safetensors")
    change(weights)
    save_file(weights, model / "model.safetensors", {"format": "pt"})
    return LanguageModelDataset(source=str(model))


def test_a_model_that_lacks_a_tensor_is_refused_before_it_is_read(tmp_path: Path) -> None:
    dataset = changed(copy_of_bundled(tmp_path / "model"), lambda weights: weights.pop(NORM))
    with refuses("model-unreadable") as caught:
        dataset.exists()
    assert NORM in str(caught.value)


def test_a_weight_that_is_not_finite_is_found_where_all_are_looked_at(tmp_path: Path) -> None:
    dataset = changed(copy_of_bundled(tmp_path / "model"), lambda weights: weights[NORM].fill_(torch.inf))
    assert dataset.exists()
    with refuses("weights-not-finite", value=NORM):
        dataset.check_weights()


def test_models_that_come_with_a_package_or_have_no_weights_here_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "check_saved_weights", lambda *_: pytest.fail("read"))
    for dataset in (
        LanguageModelDataset(source="bundled:generator"), EncoderDataset(source="offline"),
        TaggerDataset(source="rules"), GeneratorDataset(source="endpoint:m@http://127.0.0.1:9/v1"),
        TokenizerDataset(generator=bundled("on_device")),
    ):  # fmt: skip
        dataset.check_weights()


class Model:
    def __init__(self, **files: str) -> None:
        self.files = files

    def save_pretrained(self, path: str) -> None:
        for name, text in self.files.items():
            target = Path(path) / name.replace("__", "/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)


@pytest.fixture
def saved(tmp_path: Path) -> ModelDirectoryDataset:
    dataset = ModelDirectoryDataset(filepath=str(tmp_path / "adapter"))
    dataset.save(Model(weights="1234", deep__config="{}"))
    return dataset


def test_the_path_is_loaded(saved: ModelDirectoryDataset, tmp_path: Path) -> None:
    assert saved.exists()
    assert saved.load() == tmp_path / "adapter"
    assert (saved.load() / "deep/config").read_text() == "{}"


def test_several_parts_share_a_directory(tmp_path: Path) -> None:
    dataset = ModelDirectoryDataset(filepath=str(tmp_path / "model"))
    dataset.save((Model(weights="1"), Model(tokenizer="2")))
    assert sorted(path.name for path in dataset.load().iterdir()) == [MARKER, "tokenizer", "weights"]


def test_a_model_of_transformers_is_saved_without_a_bar_of_its_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Such as "Writing model shards", whatever the output is."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)
    model = LlamaForCausalLM(config)
    capfd.readouterr()
    ModelDirectoryDataset(filepath=str(tmp_path / "model")).save(model)
    assert capfd.readouterr().err == ""


def test_a_new_model_leaves_nothing_of_the_old(saved: ModelDirectoryDataset, tmp_path: Path) -> None:
    saved.save(Model(other="5"))
    assert sorted(path.name for path in saved.load().iterdir()) == [MARKER, "other"]
    assert [path.name for path in tmp_path.iterdir()] == ["adapter"]


def test_a_flipped_byte_is_named(saved: ModelDirectoryDataset) -> None:
    (saved.load() / "weights").write_text("1235")
    with refuses("model-file-changed", value="weights"):
        saved.load()


def test_a_missing_file_is_named(saved: ModelDirectoryDataset) -> None:
    (saved.load() / "deep/config").unlink()
    with refuses("model-file-changed", value="deep/config"):
        saved.load()


def test_a_strange_file_is_named(saved: ModelDirectoryDataset) -> None:
    (saved.load() / "pytorch_model.bin").write_text("")
    with refuses("model-file-changed", value="pytorch_model.bin"):
        saved.load()


def test_without_its_marker_it_does_not_exist(saved: ModelDirectoryDataset) -> None:
    (saved.load() / MARKER).unlink()
    assert not saved.exists()
    with refuses("incomplete-model"):
        saved.load()


def test_a_save_that_fails_keeps_the_old_model(saved: ModelDirectoryDataset, tmp_path: Path) -> None:
    class Broken(Model):
        def save_pretrained(self, path: str) -> None:
            super().save_pretrained(path)
            raise RuntimeError("halfway")

    with pytest.raises(DatasetError, match="halfway"):
        saved.save(Broken(weights="half"))
    assert (saved.load() / "weights").read_text() == "1234"
    assert [path.name for path in tmp_path.iterdir()] == ["adapter"]


@pytest.mark.parametrize(
    ("data", "code"),
    [("text", "not-a-model"), ((Model(a="1"), 3), "not-a-model"), (Model(), "model-wrote-no-file")],
)
def test_what_cannot_be_saved_is_refused(tmp_path: Path, data: object, code: str) -> None:
    dataset = ModelDirectoryDataset(filepath=str(tmp_path / "adapter"))
    with refuses(code):
        dataset.save(data)  # type: ignore[arg-type]
    assert not dataset.exists()
