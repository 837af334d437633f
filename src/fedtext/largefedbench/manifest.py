"""`MANIFEST.sha256`: the hash of every file of a snapshot, for `sha256sum -c`; written last, checked on load."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fedtext.system.errors import FedtextError

MANIFEST = "MANIFEST.sha256"
# What a hub leaves beside the files that were fetched from it: no part of a snapshot, and no harm to one.
HUB_LEFTOVERS = (".cache/huggingface/", ".git/", ".gitattributes")


class SnapshotError(FedtextError):
    """A snapshot that is not what its manifest says, or is not there."""


def file_sha256(path: Path) -> str:
    """Hex sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(root: Path) -> list[str]:
    names = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return sorted(name for name in names if name != MANIFEST and not name.startswith(HUB_LEFTOVERS))


def write_manifest(root: Path) -> None:
    """Write the hashes of all files below `root`."""
    lines = [f"{file_sha256(root / name)}  {name}\n" for name in _files(root)]
    (root / MANIFEST).write_text("".join(lines), "utf-8")


def read_manifest(root: Path) -> dict[str, str]:
    """Hash by file name.

    Raises:
        SnapshotError: no manifest, or a line of it is not a hash and a name.
    """
    path = root / MANIFEST
    if not path.is_file():
        raise SnapshotError(
            f"{root} has no {MANIFEST}: it is not a finished snapshot; check the path or build it again"
        )
    hashes = {}
    for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), start=1):
        digest, gap, name = line.partition("  ")
        if len(digest) != 64 or not gap or not name:
            raise SnapshotError(f"{path}, line {number}: not a sha256 and a file name; fetch the snapshot again")
        hashes[name] = digest
    return hashes


def verify(root: Path) -> dict[str, str]:
    """Check every file of the snapshot against its manifest and return the hashes; a hub's own files are passed over.

    Raises:
        SnapshotError: names the first file that is missing, altered or not listed.
    """
    hashes = read_manifest(root)
    for name, digest in hashes.items():
        if not (root / name).is_file():
            raise SnapshotError(f"{root / name} is in {MANIFEST} but not there: fetch the snapshot again")
        if file_sha256(root / name) != digest:
            raise SnapshotError(
                f"{root / name} is not the file of {MANIFEST}: its bytes changed; fetch the snapshot again"
            )
    for name in _files(root):
        if name not in hashes:
            raise SnapshotError(f"{root / name} is not in {MANIFEST}: it is no part of the snapshot; move it elsewhere")
    return hashes
