"""Model directories: complete and unchanged, or an error that names the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from kedro.io import DatasetError

from fedtext.datasets.model_directory import MARKER, ModelDirectoryDataset


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
    with pytest.raises(DatasetError, match="adapter/weights is changed"):
        saved.load()


def test_a_missing_file_is_named(saved: ModelDirectoryDataset) -> None:
    (saved.load() / "deep/config").unlink()
    with pytest.raises(DatasetError, match="adapter/deep/config is missing"):
        saved.load()


def test_a_strange_file_is_named(saved: ModelDirectoryDataset) -> None:
    (saved.load() / "pytorch_model.bin").write_text("")
    with pytest.raises(DatasetError, match=r"adapter/pytorch_model\.bin is not listed"):
        saved.load()


def test_without_its_marker_it_does_not_exist(saved: ModelDirectoryDataset) -> None:
    (saved.load() / MARKER).unlink()
    assert not saved.exists()
    with pytest.raises(DatasetError, match="holds no complete model"):
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


@pytest.mark.parametrize("data", ["text", (Model(a="1"), 3), Model()])
def test_what_cannot_be_saved_is_refused(tmp_path: Path, data: object) -> None:
    dataset = ModelDirectoryDataset(filepath=str(tmp_path / "adapter"))
    with pytest.raises(DatasetError, match=r"no save_pretrained|wrote no file"):
        dataset.save(data)  # type: ignore[arg-type]
    assert not dataset.exists()
