"""Models of a hub that answers over HTTP, read by the hub's own client in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from fedtext.models.language_model import bundled
from fedtext.models.offline_encoder import offline_encoder_files
from tests.model_hub import Hub, serving

ASKED = """
import json, sys
from fedtext.datasets.models import EncoderDataset, LanguageModelDataset

def told(dataset, show):
    try:
        assert dataset.exists()
        return [str(dataset.identity()), show(dataset.load())]
    except Exception as error:
        return [type(error).__name__, str(error)]

def first_weight(model):
    return float(next(model.load()[0].parameters())[0, 0])

def first_entry(encoder):
    return float(encoder.encode(["a text"])[0, 0])

kinds = {"model": (LanguageModelDataset, first_weight), "encoder": (EncoderDataset, first_entry)}
asked = [line.split() for line in sys.argv[1:]]
print(json.dumps([told(kinds[kind][0](source=source), kinds[kind][1]) for kind, source in asked]))
"""


def ask(hub: Hub, home: Path, *asked: str, program: str = ASKED) -> list[Any]:
    """Identity, and a number that the weights decide, of every `kind source`; or the error's type and words."""
    settings = {**os.environ, "HF_ENDPOINT": hub.endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
    command = [sys.executable, "-c", program, *asked]
    done = subprocess.run(command, check=False, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Retrying" not in done.stderr, "the hub's own client asks five times in half a minute"
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def retrained(directory: Path, where: Path) -> Path:
    """The model in `directory` with its weights halved."""
    where.mkdir()
    for path in directory.iterdir():
        (where / path.name).write_bytes(path.read_bytes())
    weights = load_file(directory / "model.safetensors")
    save_file({k: v / 2 for k, v in weights.items()}, where / "model.safetensors", {"format": "pt"})
    return where


@pytest.mark.slow  # ten models in three processes; the next test reads one of a hub at every commit
def test_a_model_is_its_commit_whatever_the_hub_does_next(tmp_path: Path) -> None:
    here, home, hub = Path(bundled("on_device")), tmp_path / "home", Hub()
    first, encoder = hub.upload("owner/model", here), hub.upload("owner/encoder", offline_encoder_files())
    with serving(hub):
        (model_name, weight), (encoder_name, entry), own_model, own_encoder = ask(
            hub, home, "model owner/model", "encoder owner/encoder", f"model {here}", "encoder offline"
        )
        assert (model_name, encoder_name) == (f"owner/model@{first}", f"owner/encoder@{encoder}")
        assert (weight, entry) == (own_model[1], own_encoder[1])

        second = hub.upload("owner/model", retrained(here, tmp_path / "second"))
        now, pinned, unknown, nobody = ask(
            hub, home, "model owner/model", f"model owner/model@{first}", "model owner/model@v9", "encoder owner/none"
        )
        assert now == [f"owner/model@{second}", weight / 2]
        assert pinned == [model_name, weight]
        assert unknown[0] == nobody[0] == "DatasetError"
        assert "language model 'owner/model@v9' cannot be read" in unknown[1]
        assert "encoder 'owner/none' cannot be read" in nobody[1]
    assert ask(hub, home, "model owner/model", f"model owner/model@{first}", "encoder owner/encoder") == [
        now,
        pinned,
        [encoder_name, entry],
    ]


def test_a_node_that_reads_private_data_reads_a_model_of_the_hub_without_the_network(tmp_path: Path) -> None:
    asked = ASKED.replace(
        "    return float(next(model.load()[0].parameters())[0, 0])",
        "    with watched(Watch('train', reads_private=True, may_read=False, data_root=Path('data'))):\n"
        "        return float(next(model.load()[0].parameters())[0, 0])",
    )
    assert asked != ASKED
    imports = "from pathlib import Path\nfrom fedtext.wiring.guard.side_effects import watched\nfrom fedtext.wiring.guard.watch import Watch\n"
    hub = Hub()
    hub.upload("owner/model", Path(bundled("on_device")))
    with serving(hub):
        (_, weight), own = ask(
            hub, tmp_path / "home", "model owner/model", f"model {bundled('on_device')}", program=imports + asked
        )
    assert weight == own[1]


LOOKED_AT = """
import json, sys
from fedtext.datasets.models import LanguageModelDataset

def told(source):
    try:
        LanguageModelDataset(source=source).check_weights()
    except Exception as error:
        return str(error)

print(json.dumps([told(source) for source in sys.argv[1:]]))
"""


def test_weights_of_a_hub_s_model_are_downloaded_and_looked_at(tmp_path: Path) -> None:
    here, hub = Path(bundled("on_device")), Hub()
    broken = Path(shutil.copytree(here, tmp_path / "broken"))
    weights = load_file(broken / "model.safetensors")
    weights["model.norm.weight"][0] = torch.nan
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    lacking = Path(shutil.copytree(here, tmp_path / "lacking"))
    del weights["model.norm.weight"]
    save_file(weights, lacking / "model.safetensors", {"format": "pt"})
    for name, directory in {"good": here, "broken": broken, "lacking": lacking}.items():
        hub.upload(f"owner/{name}", directory)
    with serving(hub):
        good, not_finite, incomplete = ask(
            hub, tmp_path / "home", "owner/good", "owner/broken", "owner/lacking", program=LOOKED_AT
        )
    assert good is None
    assert not_finite.startswith("language model 'owner/broken' has weights that are NaN or infinite")
    assert "language model 'owner/lacking' cannot be read: 1 tensors are missing" in incomplete
