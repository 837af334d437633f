"""Digests of what a result depends on: parameter values, file contents, library versions.

Files are digested by content, never by name or time: a moved data root stays valid, a changed byte does not. A file
whose inode, size and times are those of an earlier digest is not read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from fedtext.params import Parameters
from fedtext.params.reading import EVERYTHING
from fedtext.system.remote_files import known_copy

MISSING = "missing"
# Tools, and what carries requests to a server, pieces of work to other machines, or charges to a team's history.
NOT_SHAPING = {'extra == "dev"', 'extra == "endpoint"', 'extra == "ray"', 'extra == "postgresql"'}


def canonical(value: Any) -> str:
    """Return the JSON of a parameter value, equal for equal values: keys are sorted, and models are their fields."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)


def text_digest(*parts: str) -> str:
    """Return the SHA-256 of the parts, each separated from the next."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def narrowed(value: Any, read: Collection[str]) -> Any:
    """Return a parameter's value without the fields that are not in `read` (fedtext.params.reading).

    The class of a model is kept, for another class may read its fields differently. A value that is no `Parameters` is
    kept whole.
    """
    if isinstance(value, Parameters):
        name = type(value).__qualname__
        if f"{name}.{EVERYTHING}" in read:
            return value
        fields = [field for field in type(value).model_fields if f"{name}.{field}" in read]
        return {"": name} | {field: narrowed(getattr(value, field), read) for field in fields}
    if isinstance(value, Mapping):
        return {key: narrowed(inner, read) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [narrowed(inner, read) for inner in value]
    return value


class FileDigests:
    """SHA-256 of files and directories, cached by their file system metadata.

    Args:
        known: Cached digests by stat key, from earlier runs.
    """

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._known = dict(known or {})

    def of(self, path: Path) -> str:
        """Return the digest of a file's content or of a directory's paths and contents; `missing` for neither."""
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file())
            return text_digest("directory", *(f"{p.relative_to(path).as_posix()}\x1e{self.of(p)}" for p in inside))
        if not path.is_file():
            return MISSING
        key = stat_key(path)
        if key not in self._known:
            with path.open("rb") as file:
                self._known[key] = hashlib.file_digest(file, "sha256").hexdigest()
        return self._known[key]

    def persisted(self, path: Path) -> dict[str, str]:
        """Return stat keys and digests of the file, or of the files below the directory `path`."""
        files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
        return {stat_key(p): self.of(p) for p in files if p.is_file()}


def stat_key(path: Path) -> str:
    """Return metadata that change whenever a file is written: device, inode, size, both times in nanoseconds."""
    stat = os.stat(path)
    return f"{stat.st_dev}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"


def local_paths(value: Any, name: str = "") -> list[Path]:
    """Return the existing local files and directories that a parameter names; their content is an input too."""
    return [path for _, path in named_paths(value, name)]


def named_paths(value: Any, name: str = "") -> Iterator[tuple[str, Path]]:
    """Yield the paths of `local_paths`, each with the dotted name, below `name`, of the value that names it.

    A plain word counts as a path only if the parameter's name ends in `path` or `dir`; of an address, the copy is meant
    that this process reads.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from named_paths(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from named_paths(inner, name)
    elif isinstance(value, str) and ("/" in value or "." in value or name.endswith(("path", "dir"))):
        path = known_copy(value) or Path(value).expanduser()
        with suppress(OSError):  # too long or unprintable to be a path
            # A directory around the working directory ("/", "..") is a coincidence, not an input.
            if path.exists() and not Path.cwd().is_relative_to(path.resolve()):
                yield name, path


@cache
def library_digest(package: str) -> str:
    """Return the digest of the interpreter's version and those of the distributions that shape what `package` makes."""
    try:
        required = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        required = []
    versions = {sys.version}
    for requirement in map(Requirement, required):
        if str(requirement.marker) in NOT_SHAPING:
            continue
        try:
            versions.add(f"{requirement.name}=={metadata.version(requirement.name)}")
        except metadata.PackageNotFoundError:
            continue
    return text_digest(*sorted(versions))


@cache
def installed_packages_digest() -> str:
    """Return the digest of every installed distribution and version, for nodes that read their docstrings."""
    found = {
        entry.name for directory in map(Path, sys.path) if directory.is_dir() for entry in directory.glob("*.dist-info")
    }
    return text_digest(sys.version, *sorted(found))


def _plain(value: Any) -> Any:
    """Return JSON for a value that JSON does not know, in pydantic's form: a date, a path or an enum."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, set | frozenset):
        return sorted(value)
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:
        raise TypeError(
            f"a parameter of type {type(value).__name__} has no fingerprint: use plain values or a model"
        ) from None
