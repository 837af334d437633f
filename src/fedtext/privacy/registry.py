"""The registry of a user's releases in all data roots, by which the same people have one budget.

A data root can be copied, moved, emptied or replaced. The registry belongs to the user (fedtext.system.folders) and
recognises a data set by its content: by a keyed sketch of its clients and texts. It keeps the releases themselves, so
that those of a removed data root still count.

    key                     the user's secret, made once
    data_sets/CHECK/DIGEST  the sketch of a data set, under the key whose digest is CHECK
    data_roots/DIGEST.json  a data root: its path, the data sets that were read in it, and its releases

Only the owner can read the files. One lock is held during every write, and may be held around a decision.

The sketch is a bottom-k sketch: keyed digests of some of the clients and of some of the texts. A unit's digest under
the user's key decides whether it is among the `SIZE` that are kept, in every data set alike. So two data sets of at
most `SIZE` units share a digest if they share a unit; of larger ones a part of the shared units is found. The kept
value is another half of the unit's digest, and a sketch of fewer units is filled up with random values. Without the key
a sketch is `SIZE` random numbers, whatever the units are and however many.

An id that may belong to anyone (a short number) and a text that many people write (a short one) identify no unit and
are left out.
"""

from __future__ import annotations

import hashlib
import heapq
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import UInt64

from fedtext.params import Parameters
from fedtext.privacy.spending import Spent
from fedtext.system.atomic import PARTIAL
from fedtext.system.folders import STATE, make_own_folder, own_file, state_folder
from fedtext.system.locks import locked
from fedtext.system.refusal import RunRefusedError

SIZE = 2048
MIN_IDENTIFYING_TEXT = 24  # characters: the least that identify a unit
MIN_IDENTIFYING_NUMBER = 7  # digits: the least that identify a client
_WORD = 8  # bytes of a kept digest


@dataclass(frozen=True)
class Sketch:
    """Kept digests of the clients and of the texts, in ascending order."""

    clients: UInt64[np.ndarray, " client"]
    texts: UInt64[np.ndarray, " text"]

    def shares_units(self, other: Sketch) -> bool:
        """Return True if the two data sets have a client or a text in common."""
        pairs = ((self.clients, other.clients), (self.texts, other.texts))
        return any(np.intersect1d(mine, theirs).size > 0 for mine, theirs in pairs)

    def to_bytes(self) -> bytes:
        """Serialise for `of_bytes`: `SIZE` words each."""
        return self.clients.astype("<u8").tobytes() + self.texts.astype("<u8").tobytes()

    @classmethod
    def of_bytes(cls, kept: bytes) -> Sketch:
        """Read a sketch that `to_bytes` wrote.

        Raises:
            ValueError: it is of another length.
        """
        if len(kept) != 2 * SIZE * _WORD:
            raise ValueError(f"a sketch has {2 * SIZE * _WORD} bytes, not {len(kept)}")
        words = np.frombuffer(kept, dtype="<u8").astype(np.uint64)
        return cls(words[:SIZE], words[SIZE:])


def sketch(clients: Iterable[str], texts: Iterable[str], key: bytes) -> tuple[str, Sketch]:
    """Compute a keyed digest of all of a data set's units, and their sketch.

    Args:
        clients: Ids; those that identify no client are left out here.
        texts: In any order and spelling of white space and case; those that identify no unit are left out here.
        key: The user's secret.
    """
    ids = _digests((one.strip() for one in clients), "client", key, identifies=_is_identifying_id)
    words = _digests((" ".join(one.casefold().split()) for one in texts), "text", key, identifies=_is_identifying_text)
    whole = hashlib.blake2b(b"".join([*sorted(ids), b"|", *sorted(words)]), key=key, digest_size=16)
    return whole.hexdigest(), Sketch(_kept(ids), _kept(words))


def _digests(units: Iterable[str], kind: str, key: bytes, *, identifies: Callable[[str], bool]) -> set[bytes]:
    person = kind.encode()
    return {
        hashlib.blake2b(unit.encode(), key=key, digest_size=2 * _WORD, person=person).digest()
        for unit in set(units)
        if identifies(unit)
    }


def _kept(digests: set[bytes]) -> UInt64[np.ndarray, " kept"]:
    """Return the second halves of the digests with the smallest first halves, filled up with random values.

    They are sorted, so that their order reveals nothing.
    """
    lowest = [one[_WORD:] for one in heapq.nsmallest(SIZE, digests)]
    filled = b"".join(lowest) + secrets.token_bytes(_WORD * (SIZE - len(lowest)))
    return np.sort(np.frombuffer(filled, dtype="<u8").astype(np.uint64))


def _is_identifying_id(one: str) -> bool:
    return bool(one) and not (one.isdigit() and len(one) < MIN_IDENTIFYING_NUMBER)


def _is_identifying_text(one: str) -> bool:
    return len(one) >= MIN_IDENTIFYING_TEXT


KEY, DATA_SETS, DATA_ROOTS = "key", "data_sets", "data_roots"
KEY_BYTES = 32


class Registered(Parameters):
    """A release and when it was recorded, in nanoseconds: it orders releases of all data roots, whatever the clock."""

    made: int
    entry: Spent


class DataRoot(Parameters):
    """A data root's entry: its path, the data sets that were read there, and its releases."""

    path: str
    data_sets: tuple[str, ...] = ()
    releases: tuple[Registered, ...] = ()


@runtime_checkable
class ReleaseRegistry(Protocol):
    """The interface of registries: a user's own, below, and a team's (fedtext.privacy.team_registry)."""

    @property
    def place(self) -> str:
        """Where it lies, for messages."""
        ...

    def name_of(self, path: Path) -> str:
        """Return the name under which a data root is known."""
        ...

    def locked(self, paths: Collection[Path], *, whole: bool = False) -> AbstractContextManager[None]:
        """Hold the locks of data roots and of all that share people with them; `whole`: to record a data set."""
        ...

    def data_root(self, path: Path) -> DataRoot:
        """Return a data root's entry; an empty one where the registry has none."""
        ...

    def related(self, roots: Collection[Path]) -> list[DataRoot]:
        """Return the data roots themselves and all others in which data sets with one of their units were read."""
        ...

    def register_data_set(self, path: Path, clients: Iterable[str], texts: Iterable[str]) -> None:
        """Record which data set was read in a data root; the caller must hold the whole lock."""
        ...

    def is_of(self, path: Path, clients: Iterable[str], texts: Iterable[str]) -> bool:
        """Return True if a data set has a unit of those read in a data root; the caller must hold the lock."""
        ...

    def retire(self, path: Path) -> None:
        """Release a data root's name for other data; its releases still count for the people behind them."""
        ...

    def add(self, path: Path, entries: Iterable[Spent]) -> None:
        """Record the releases of a data root that are not yet recorded; the caller must hold the lock."""
        ...


class Registry:
    """The user's registry of data roots.

    Args:
        folder: Where it is kept; by default the folder of `fedtext.system.folders`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or state_folder()

    @property
    def place(self) -> str:
        """Its folder."""
        return str(self.folder)

    def name_of(self, path: Path) -> str:
        """Return the name of a data root: its resolved path."""
        return str(path.resolve())

    @contextmanager
    def locked(self, paths: Collection[Path] = (), *, whole: bool = False) -> Iterator[None]:
        """Hold the lock until the end of the block: no other process writes. There is one for all data roots.

        Raises:
            RunRefusedError: the folder cannot be written.
        """
        try:
            for folder in (self.folder, self.folder / DATA_SETS, self.folder / DATA_ROOTS):
                make_own_folder(folder)
            lock = locked(self.folder / "lock", wait=True)
        except OSError as error:
            raise RunRefusedError(
                f"the registry of releases of private data, {self.folder}, cannot be written ({error.strerror}): make "
                f"it writable, or name a folder that is kept from run to run by the environment variable {STATE}",
                code="registry-not-writable",
                value=str(self.folder),
            ) from None
        with lock:
            yield

    def data_root(self, path: Path) -> DataRoot:
        """Return a data root's entry; an empty one where the registry has none."""
        file = self._file(path)
        return _read(file) if file.exists() else DataRoot(path=self.name_of(path))

    def related(self, roots: Collection[Path]) -> list[DataRoot]:
        """Return the data roots themselves and all others in which data sets with one of their units were read."""
        known = self._roots()
        own = {self.name_of(root) for root in roots}
        theirs = {name for root in known if root.path in own for name in root.data_sets}
        if not theirs:
            return [root for root in known if root.path in own]
        sketches = {name: self._sketch(name) for name in {name for root in known for name in root.data_sets}}
        same = {
            name
            for name, one in sketches.items()
            if name in theirs or any(one.shares_units(sketches[other]) for other in theirs)
        }
        return [root for root in known if root.path in own or same & set(root.data_sets)]

    def register_data_set(self, path: Path, clients: Iterable[str], texts: Iterable[str]) -> None:
        """Record which data set was read in a data root; the caller must hold the lock."""
        name, kept = sketch(clients, texts, self._key())
        file = self._data_sets() / name
        if not file.exists():  # the random values that fill a sketch up are drawn once
            make_own_folder(file.parent)
            with own_file(file) as temporary:
                temporary.write_bytes(kept.to_bytes())
        root = self.data_root(path)
        if name not in root.data_sets:
            self._write(root.model_copy(update={"data_sets": (*root.data_sets, name)}))

    def is_of(self, path: Path, clients: Iterable[str], texts: Iterable[str]) -> bool:
        """Return True if a data set has a unit of those read in a data root; the caller must hold the lock."""
        _, kept = sketch(clients, texts, self._key())
        return any(kept.shares_units(self._sketch(name)) for name in self.data_root(path).data_sets)

    def retire(self, path: Path) -> None:
        """Release a data root's path for other data; its releases still count for the people behind them."""
        root, file = self.data_root(path), self._file(path)
        former = root.model_copy(update={"path": f"{root.path}, which was removed"})
        with own_file(file.with_name(f"{file.stem}-{time.time_ns()}.json")) as temporary:
            temporary.write_text(former.model_dump_json(), encoding="utf-8")
        file.unlink(missing_ok=True)

    def add(self, path: Path, entries: Iterable[Spent]) -> None:
        """Record the releases of a data root that are not yet recorded; the caller must hold the lock."""
        root = self.data_root(path)
        known = {one.entry for one in root.releases}
        if not (new := [entry for entry in dict.fromkeys(entries) if entry not in known]):
            return
        last = max((one.made for other in self._roots() for one in other.releases), default=0)
        now = max(time.time_ns(), last + 1)  # after all others, though the clock was put back
        made = tuple(Registered(made=now + at, entry=entry) for at, entry in enumerate(new))
        self._write(root.model_copy(update={"releases": (*root.releases, *made)}))

    def _roots(self) -> list[DataRoot]:
        files = sorted((self.folder / DATA_ROOTS).glob("*.json"))
        return [_read(file) for file in files if not file.name.startswith(PARTIAL)]  # those another run is writing

    def _sketch(self, name: str) -> Sketch:
        file = self._data_sets() / name
        try:
            return Sketch.of_bytes(file.read_bytes())
        except (OSError, ValueError):
            raise _damaged(file) from None

    def _data_sets(self) -> Path:
        """Return the folder of sketches under the key; raise RunRefusedError if there are some under another."""
        own = hashlib.blake2b(b"fedtext registry", key=self._key(), digest_size=8).hexdigest()
        folder = self.folder / DATA_SETS
        if folder.is_dir() and any(one.name != own for one in folder.iterdir()):
            raise _damaged(self.folder / KEY)  # another key would recognise no one
        return folder / own

    def _key(self) -> bytes:
        file = self.folder / KEY
        if not file.exists():
            if any((self.folder / DATA_SETS).glob("*")):
                raise _damaged(file)
            with own_file(file) as temporary:
                temporary.write_text(secrets.token_hex(KEY_BYTES), encoding="ascii")
        try:
            key = bytes.fromhex(file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            raise _damaged(file) from None
        if len(key) != KEY_BYTES:
            raise _damaged(file)
        return key

    def _file(self, path: Path) -> Path:
        named = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
        return self.folder / DATA_ROOTS / f"{named}.json"

    def _write(self, root: DataRoot) -> None:
        file = self._file(Path(root.path))
        make_own_folder(file.parent)
        with own_file(file) as temporary:
            temporary.write_text(root.model_dump_json(), encoding="utf-8")


def _read(file: Path) -> DataRoot:
    try:
        return DataRoot.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # pydantic's ValidationError is a ValueError
        raise _damaged(file) from None


def _damaged(file: Path) -> RunRefusedError:
    return RunRefusedError(
        f"{file}, of the registry of releases of private data, is missing, damaged or of another version of fedtext: "
        "put back a copy of it, for without it what was released before cannot be accounted for",
        code="registry-damaged",
        value=str(file),
    )
