"""What one user's private data sets have released, whatever data root they lie in: so that people have one budget.

A data root can be copied, moved, emptied or left for another. The registry is of the user (fedtext.system.state) and
knows a data set by what is in it: by a keyed sketch of its clients and texts (fedtext.privacy.sketch). It keeps the
releases themselves, so that those of a data root that is gone still count.

    key                     the user's secret, made once
    data_sets/CHECK/DIGEST  the sketch of a data set, under the key that CHECK is of
    data_roots/DIGEST.json  a data root: where it is, the data sets that were read in it, and what was released there

Files are for their owner alone. One lock is held while anything is written, and may be held around a judgement.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fedtext.params import Parameters
from fedtext.privacy.sketch import Sketch, sketch
from fedtext.privacy.spending import Spent
from fedtext.system.folders import make_own_folder
from fedtext.system.locks import locked
from fedtext.system.refusal import RunRefusedError
from fedtext.system.state import STATE, own_file, state_folder

KEY, DATA_SETS, DATA_ROOTS = "key", "data_sets", "data_roots"
KEY_BYTES = 32


class Registered(Parameters):
    """A release and when it was written down, in nanoseconds: the order of releases of several data roots."""

    made: int
    entry: Spent


class DataRoot(Parameters):
    """What is known of a data root: its path, the data sets that were read there, and what was released."""

    path: str
    data_sets: tuple[str, ...] = ()
    releases: tuple[Registered, ...] = ()


class Registry:
    """The user's.

    Args:
        folder: Where it is kept; by default what `fedtext.system.state` says.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or state_folder()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes until the end of the block.

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
                f"it writable, or name a folder that is kept from run to run by the environment variable {STATE}"
            ) from None
        with lock:
            yield

    def data_root(self, path: Path) -> DataRoot:
        """What is known of a data root; nothing, of one that is not known."""
        file = self._file(path)
        return _read(file) if file.exists() else DataRoot(path=str(path.resolve()))

    def related(self, roots: Collection[Path]) -> list[DataRoot]:
        """The data roots themselves and all others in which data sets with one of their units were read."""
        known = [_read(file) for file in sorted((self.folder / DATA_ROOTS).glob("*.json"))]
        own = {str(root.resolve()) for root in roots}
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

    def know(self, path: Path, clients: Iterable[str], texts: Iterable[str]) -> None:
        """Writes down which data set was read in a data root; call it `locked`."""
        name, kept = sketch(clients, texts, self._key())
        file = self._data_sets() / name
        if not file.exists():  # what fills a sketch up is drawn once
            make_own_folder(file.parent)
            with own_file(file) as temporary:
                temporary.write_bytes(kept.to_bytes())
        root = self.data_root(path)
        if name not in root.data_sets:
            self._write(root.model_copy(update={"data_sets": (*root.data_sets, name)}))

    def is_of(self, path: Path, clients: Iterable[str], texts: Iterable[str]) -> bool:
        """Whether a data set has one of the units of those that were read in a data root; call it `locked`."""
        _, kept = sketch(clients, texts, self._key())
        return any(kept.shares_units(self._sketch(name)) for name in self.data_root(path).data_sets)

    def retire(self, path: Path) -> None:
        """Lets a data root's path be another's: what was released there still counts for the people that it was of."""
        root, file = self.data_root(path), self._file(path)
        former = root.model_copy(update={"path": f"{root.path}, which was removed"})
        with own_file(file.with_name(f"{file.stem}-{time.time_ns()}.json")) as temporary:
            temporary.write_text(former.model_dump_json(), encoding="utf-8")
        file.unlink(missing_ok=True)

    def add(self, path: Path, entries: Iterable[Spent]) -> None:
        """Writes down what was released in a data root, as far as it is not known; call it `locked`."""
        root = self.data_root(path)
        known = {one.entry for one in root.releases}
        new = [Registered(made=time.time_ns(), entry=entry) for entry in dict.fromkeys(entries) if entry not in known]
        if new:
            self._write(root.model_copy(update={"releases": (*root.releases, *new)}))

    def _sketch(self, name: str) -> Sketch:
        file = self._data_sets() / name
        try:
            return Sketch.of_bytes(file.read_bytes())
        except (OSError, ValueError):
            raise _damaged(file) from None

    def _data_sets(self) -> Path:
        """Where sketches under the key lie; raises RunRefusedError if there are some under another."""
        own = hashlib.blake2b(b"fedtext registry", key=self._key(), digest_size=8).hexdigest()
        folder = self.folder / DATA_SETS
        if folder.is_dir() and any(one.name != own for one in folder.iterdir()):
            raise _damaged(self.folder / KEY)  # another key would know nobody again
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
    except (OSError, ValueError):  # pydantic's too
        raise _damaged(file) from None


def _damaged(file: Path) -> RunRefusedError:
    return RunRefusedError(
        f"{file}, of the registry of releases of private data, is missing, damaged or of another version of fedtext: "
        "put back a copy of it, for without it what was released before cannot be priced"
    )
