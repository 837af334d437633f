"""Public files at addresses that fsspec knows, as `s3://`, `gs://` or `https://`: a copy of each is read here.

A copy is made before a run, when public inputs are checked, once for each content that the other side tells, or anew if
it tells nothing. Nodes that read private data have no network and find the copy. Who may read there, fsspec's packages
find in their own settings; an address holds no password.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import platformdirs

from fedtext.system.atomic import replacing_directory
from fedtext.system.errors import InputError, MissingFileError, UnreadableFileError
from fedtext.system.folders import make_own_folder
from fedtext.system.locks import locked

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]*://")
LOCAL = {"file", "local"}
WEB = {"http", "https"}
TELLING = ("ETag", "Last-Modified", "Content-MD5", "Digest")  # headers of a web server
DIGITS = 32  # of a digest in a copy's folder

_copies: dict[str, Path] = {}


def is_address(name: str) -> bool:
    """Return whether a name is an address of a file system, and no path of this machine's."""
    return ADDRESS.match(name) is not None


def shown(address: str) -> str:
    """Return an address for a message, without user, password and query."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def known_copy(address: str) -> Path | None:
    """Return what this process reads of an address: a file of this machine, or the copy that it has made, if any.

    A file is known before it is read: what is checked of files that parameters name is checked of it.
    """
    if address.partition("://")[0] in LOCAL and is_address(address):
        from fsspec.core import url_to_fs

        return Path(url_to_fs(address)[1])
    return _copies.get(address)


def local_path(name: str, asked_by: str) -> str:
    """Return the path itself, or that of a copy of what lies at an address: a file, or a directory of parts.

    Raises:
        OSError: Nothing lies there, or it cannot be read.
        ValueError: The address holds a password, or no package reads such addresses.
    """
    if not is_address(name):
        return name
    if name not in _copies:
        _copies[name] = _copied(name, asked_by)
    return str(_copies[name])


def file_system(address: str, asked_by: str) -> tuple[AbstractFileSystem, str]:
    """Return the file system of an address, and the path there.

    Raises:
        ValueError: The address holds a password, or no package reads such addresses.
    """
    from fsspec.core import url_to_fs

    if urlsplit(address).password or urlsplit(address).query:
        raise InputError(
            f"{asked_by} {shown(address)} holds more than a place, perhaps a key: leave it out, and let the file "
            "system's own settings hold it (as AWS_PROFILE for s3://)",
            code="address-holds-a-secret",
            parameter=asked_by,
        )
    try:
        files, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        kind = urlsplit(address).scheme
        raise InputError(
            f"{asked_by} {shown(address)}: no package here reads {kind}:// ({' '.join(str(error).split())[:200]}): "
            "install it, or name a file of this machine",
            code="unknown-file-system",
            parameter=asked_by,
            value=kind,
        ) from None
    return files, path


def _copied(address: str, asked_by: str) -> Path:
    files, path = file_system(address, asked_by)
    if LOCAL & set(_protocols(files)):
        return Path(path)
    try:
        found = [path] if files.isfile(path) else files.find(path)
        parts = {one: _told(files, one) for one in found}
        if not parts:
            raise FileNotFoundError(path)
        key = hashlib.sha256(
            "\x1f".join([address, *(f"{one}\x1e{told}" for one, told in sorted(parts.items()))]).encode()
        )
        folder = platformdirs.user_cache_path("fedtext") / "copies" / key.hexdigest()[:DIGITS]
        if None in parts.values() or not folder.is_dir():
            make_own_folder(folder.parent)
            with locked(folder.with_suffix(".lock"), wait=True):  # two runs would copy over each other's half
                if None in parts.values() or not folder.is_dir():
                    _fill(folder, files, {one: str(_inside(one, path)) for one in parts})
    except FileNotFoundError:
        raise MissingFileError(
            f"{asked_by} {shown(address)}: nothing lies there: check the address",
            code="nothing-at-address",
            parameter=asked_by,
        ) from None
    except Exception as error:  # each package raises errors of its own
        raise unreachable(address, asked_by, error) from None
    return folder / PurePosixPath(path).name


def _fill(folder: Path, files: AbstractFileSystem, parts: Mapping[str, str]) -> None:
    """Copy files to their places in a folder, all or none."""
    with replacing_directory(folder) as filled:
        for one, place in parts.items():
            (filled / place).parent.mkdir(parents=True, exist_ok=True)
            files.get_file(one, str(filled / place))


def _inside(part: str, path: str) -> PurePosixPath:
    """Return the place of a part of what lies at a path, below the path's last name."""
    return PurePosixPath(PurePosixPath(path).name) / PurePosixPath(part).relative_to(PurePosixPath(path))


def unreachable(address: str, asked_by: str, error: Exception) -> UnreadableFileError:
    """Return the error that a file system raised, in one sentence."""
    said = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
    return UnreadableFileError(
        f"{asked_by} {shown(address)} cannot be used ({type(error).__name__}: {said}): check the network, and the "
        "settings by which that file system knows you",
        code="address-unusable",
        parameter=asked_by,
    )


def _told(files: AbstractFileSystem, path: str) -> str | None:
    """Return what the other side tells of a file's content; None if it tells nothing that would change with it."""
    if not WEB & set(_protocols(files)):
        return str(files.ukey(path))
    info = files.info(path)  # fsspec itself takes what lies at a web address to be the same for ever
    told = [f"{name}: {info[name]}" for name in TELLING if name in info]
    return " ".join([*told, f"size: {info.get('size')}"]) if told else None


def _protocols(files: Any) -> tuple[str, ...]:
    return (files.protocol,) if isinstance(files.protocol, str) else tuple(files.protocol)
