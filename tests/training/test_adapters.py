"""Adapters that were not just trained: the first one changes nothing, a saved one keeps its bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from peft import PeftModel

from fedtext.params.training import Lora
from fedtext.training.adapters import initial_adapter, saved_adapter
from tests.parameters import conf_base


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_first_adapter_is_the_public_checkpoint_and_comes_from_the_seed(llama: Any, tmp_path: Path) -> None:
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        initial_adapter(llama, conf_base(Lora), seed=seed).save_pretrained(tmp_path / name)
    assert files(tmp_path / "one") == files(tmp_path / "again") != files(tmp_path / "other")
    tokens = torch.arange(2, 12)[None]
    plain = llama.load()[0](tokens).logits
    adapted = PeftModel.from_pretrained(llama.load()[0], str(tmp_path / "one"))(tokens).logits
    assert torch.equal(plain, adapted)


def test_an_adapter_saved_again_keeps_its_bytes(llama: Any, tmp_path: Path) -> None:
    initial_adapter(llama, conf_base(Lora), seed=1).save_pretrained(tmp_path / "one")
    saved_adapter(tmp_path / "one").save_pretrained(tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")
