"""A model's file inside an installed package: found by its name, and the published one by its SHA-256.

The package's code is never imported.
"""

from __future__ import annotations

import hashlib
from importlib import metadata
from pathlib import Path

from fedtext.system.errors import InputError, MissingFileError


def installed_file(what: str, distribution: str, name: str, sha256: str, remedy: str) -> Path:
    """Return the path of the file `name` that `distribution` installed; errors mention `what` and `remedy`.

    Raises:
        FileNotFoundError: The distribution is not installed, or holds no such file.
        ValueError: The file is not the published one.
    """
    try:
        listed = metadata.distribution(distribution).files or []
    except metadata.PackageNotFoundError:
        raise MissingFileError(
            f"{what}: package {distribution} is not installed: {remedy}",
            code="package-not-installed",
            value=distribution,
        ) from None
    path = next((Path(str(file.locate())) for file in listed if file.name == name), None)
    if path is None or not path.is_file():
        raise MissingFileError(
            f"{what}: package {distribution} holds no {name}: reinstall it, {remedy}",
            code="file-not-in-package",
            value=name,
        )
    check_sha256(path, sha256, what, remedy)
    return path


def check_sha256(path: Path, expected: str, what: str, remedy: str) -> None:
    """Raise an error if the file's SHA-256 is not the expected one."""
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise InputError(
            f"{what}: {path.name} has sha256 {actual}, expected {expected}: it is not the published one; "
            f"reinstall it, {remedy}",
            code="file-changed",
            value=actual,
        )
