"""The real raw files beside the project, which some tests need and the project does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]


def real_data(name: str) -> Path:
    """Return the file or folder `name` of real raw data (FEDTEXT_SHARED, by default ../shared), or skip."""
    return shared(f"data/{name}")


def shared(name: str) -> Path:
    """Return the file or folder `name` beside the project, or skip."""
    path = (PROJECT / os.environ.get("FEDTEXT_SHARED", "../shared")).resolve() / name
    if not path.exists():
        pytest.skip(f"no {path}: set FEDTEXT_SHARED")
    return path
