"""The real raw files beside the project, which tests may need and the project does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]


def real_data(name: str) -> Path:
    """The file or folder `name` of real raw data (FEDTEXT_SHARED, by default ../shared), or a skip."""
    return shared(f"data/{name}")


def shared(name: str) -> Path:
    """The file or folder `name` beside the project, or a skip."""
    path = (PROJECT / os.environ.get("FEDTEXT_SHARED", "../shared")).resolve() / name
    if not path.exists():
        pytest.skip(f"no {path}: set FEDTEXT_SHARED")
    return path
