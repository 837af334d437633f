"""Public models by name: light handles, and missing ones known before a run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from kedro.io import DatasetError
from safetensors.torch import save_file

from fedtext.datasets.models import EncoderDataset, LanguageModelDataset, MaskedModelDataset
from fedtext.models import fit
from fedtext.models import source as model_source
from fedtext.resuming.fingerprint import MISSING, FileDigests


def test_a_local_language_model_is_a_handle_that_counts_by_content(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    save_file({"weight": torch.zeros(1)}, model / "model.safetensors")
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
        with pytest.raises(DatasetError, match="'owner/unknown' cannot be read: 404"):
            kind(source="owner/unknown").exists()
    assert asked == ["owner/name", "owner/name", "owner/unknown"] * 2


@pytest.mark.parametrize("source", ["/no/such/model", "./no-such-model", "~/no-such-model"])
def test_a_missing_directory_is_named(source: str) -> None:
    for kind in (LanguageModelDataset, EncoderDataset):
        with pytest.raises(DatasetError, match=f"'{source}' is not a directory here"):
            kind(source=source).exists()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "it has no config.json"),
        (["config.json"], "no weights in safetensors"),
        (["config.json", "pytorch_model.bin"], "no weights in safetensors"),
    ],
)
def test_a_directory_without_a_model_is_known_before_a_run(tmp_path: Path, files: list[str], said: str) -> None:
    for name in files:
        (tmp_path / name).touch()
    for kind in (LanguageModelDataset, EncoderDataset):
        with pytest.raises(DatasetError, match=said):
            kind(source=str(tmp_path)).exists()


def test_a_bundled_model_that_is_not_shipped_is_one_clear_error() -> None:
    with pytest.raises(DatasetError, match="'no-such-one' is not shipped"):
        LanguageModelDataset(source="bundled:no-such-one").exists()


def test_public_models_are_read_only() -> None:
    for dataset in (LanguageModelDataset(source="owner/name"), EncoderDataset(source="owner/name")):
        with pytest.raises(DatasetError, match="read only"):
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
        with pytest.raises(DatasetError, match=r"models\.masked is none.*pe\.variation to few_shot"):
            asked()
    assert MaskedModelDataset(source="owner/name").load().source == "owner/name"
    with pytest.raises(DatasetError, match="masked language model '/no/such/model' is not a directory here"):
        MaskedModelDataset(source="/no/such/model").exists()


def test_a_model_whose_file_was_cut_short_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    weights = tmp_path / "model.safetensors"
    save_file({"weight": torch.zeros(100)}, weights)
    assert LanguageModelDataset(source=str(tmp_path)).exists()
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(DatasetError, match=r"model\.safetensors is cut short or damaged"):
        LanguageModelDataset(source=str(tmp_path)).exists()
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(DatasetError, match=r"config\.json is cut short or damaged"):
        LanguageModelDataset(source=str(tmp_path)).exists()
