"""A directory that a `save_pretrained` method fills: a PEFT adapter, a Transformers or Sentence-Transformers model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Protocol

from kedro.io import AbstractDataset

from fedtext.datasets.errors import StorageError
from fedtext.system.atomic import replacing_directory, write_text
from fedtext.system.progress import without_library_bars

MARKER = "SHA256SUMS.json"


class Saveable(Protocol):
    """Whatever can write itself into a directory: a model, a tokenizer, an adapter."""

    def save_pretrained(self, path: str, /) -> Any:
        """Writes all files below `path`."""


class ModelDirectoryDataset(AbstractDataset[Saveable | tuple[Saveable, ...], Path]):
    """Saves through `save_pretrained` (one object, or several into one directory), loads the verified path.

    The directory is filled beside its place, sealed by a marker file with every file's SHA-256, and renamed: without
    its marker a directory does not exist. Loading hands out the path: models are not copied between nodes.

    Args:
        filepath: The directory.
        metadata: Ignored by Kedro; see docs/privacy.md for the keys below `fedtext`.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: Saveable | tuple[Saveable, ...]) -> None:
        """Writes `data` and the marker; the old directory stays until the new one is complete."""
        parts = data if isinstance(data, tuple | list) else (data,)
        for part in parts:
            if not callable(getattr(part, "save_pretrained", None)):
                raise StorageError(
                    f"{self._filepath}: cannot save a {type(part).__name__}, which has no save_pretrained(path)"
                )
        with replacing_directory(self._filepath) as directory, without_library_bars():
            for part in parts:
                part.save_pretrained(str(directory))
            digests = file_digests(directory)
            if not digests:
                raise StorageError(f"{self._filepath}: save_pretrained of {type(data).__name__} wrote no file")
            write_text(directory / MARKER, json.dumps(digests, indent=1, sort_keys=True))

    def load(self) -> Path:
        """The directory's path, after every file was checked against the marker.

        Raises:
            DatasetError: a file is missing, changed or strange; it is named.
        """
        if not self._exists():
            raise StorageError(f"{self._filepath} holds no complete model: its {MARKER} is missing. Run its node again")
        expected = json.loads((self._filepath / MARKER).read_text(encoding="utf-8"))
        found = file_digests(self._filepath)
        for name in sorted(expected.keys() | found.keys()):
            if expected.get(name) != found.get(name):
                state = "missing" if name not in found else "not listed" if name not in expected else "changed"
                raise StorageError(f"{self._filepath / name} is {state}: delete {self._filepath} and run again")
        return self._filepath

    def _exists(self) -> bool:
        return (self._filepath / MARKER).is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


def file_digests(directory: Path) -> dict[str, str]:
    """SHA-256 of every file below `directory` by its relative path, the marker left out."""
    digests = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name != MARKER:
            with path.open("rb") as file:
                digests[path.relative_to(directory).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests
