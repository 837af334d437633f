"""Models that cannot serve are refused before anything is read or released, as a user meets them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file

from fedtext.models.endpoint import _described
from fedtext.models.language_model import bundled
from tests.end_to_end.conftest import Said, params
from tests.openai_server import Served, serving


def without_bos_and_eos(target: Path) -> Path:
    shutil.copytree(bundled("on_device"), target)
    file = target / "tokenizer_config.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps({key: value for key, value in told.items() if not key.endswith("_token")}))
    return target


def with_a_nan(target: Path) -> Path:
    shutil.copytree(bundled("on_device"), target)
    weights = load_file(target / "model.safetensors")
    weights["model.norm.weight"][0] = torch.nan
    save_file(weights, target / "model.safetensors", {"format": "pt"})
    return target


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (
            without_bos_and_eos,
            "on_device: language model '{model}': its tokenizer has neither a bos_token nor an eos_token",
        ),
        (with_a_nan, "language model '{model}' has weights that are NaN or infinite, model.norm.weight first"),
    ],
)
def test_an_on_device_model_is_refused_before_anything_is_read_though_it_is_used_behind_a_release(
    cli: Callable[..., Said], tmp_path: Path, make: Callable[[Path], Path], fault: str
) -> None:
    model, root = make(tmp_path / "model"), tmp_path / "data"
    said = cli("run", "--env", "tiny", "--params", params(data_root=root, models__on_device=model))
    assert said.code == 1
    assert fault.format(model=model) in said.text
    assert "Traceback" not in said.text
    assert not [path for path in root.rglob("*") if path.is_file()]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("<think>The user wants a text. {}", "reasons and does not answer within max_new_tokens"),
        ("", "answers without a text"),
    ],
    ids=["reasoning", "silent"],
)
def test_a_server_that_gives_no_text_is_refused_before_a_release(
    cli: Callable[..., Said], tmp_path: Path, form: str, told: str
) -> None:
    _described.cache_clear()
    table = tmp_path / "mine.csv"
    texts = [f"some words that are long enough to be a text of their own, number {i}" for i in range(80)]
    pd.DataFrame({"client_id": [f"c{i}" for i in range(80)], "text": texts}).to_csv(table, index=False)
    with serving(Served(form=form)) as served:
        given = params(
            data_root=tmp_path / "data",
            corpus__source="table",
            corpus__path=table,
            privacy__population=80,
            models__generator=f"endpoint:tiny@{served.url}",
        )
        said = cli("run", "--pipelines", "pe", "--env", "tiny", "--params", given)
        assert len(served.asked) == 1
    assert said.code == 1
    assert told in said.text
    assert "so nothing is released" in said.text
    assert not list((tmp_path / "data").rglob("*.parquet"))
    assert not list((tmp_path / "data").rglob("releases.jsonl"))
