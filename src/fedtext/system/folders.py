"""Folders that nobody but their owner may enter: private data lie there, and what tells of them."""

from __future__ import annotations

from pathlib import Path


def make_own_folder(folder: Path) -> None:
    """Makes it where it is not there yet; one that is keeps the rights that its owner gave it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
