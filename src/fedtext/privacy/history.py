"""The history of a data root: every release made of its private data, kept with the data and copied with them.

`<data_root>/.fedtext/releases.jsonl` has a line for each (`fedtext.privacy.spending.Spent`), written before the noisy
result is returned. Runs that another run starts (a comparison's) write into that run's history as well, and keep its
budget. A registry has every release too, the user's own (fedtext.privacy.registry) or a team's
(fedtext.privacy.team_registry): it finds the same people's releases in other data roots, and restores lost entries of a
history.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from operator import itemgetter
from pathlib import Path

from pydantic import ValidationError

from fedtext.privacy.registry import ReleaseRegistry
from fedtext.privacy.spending import Spent
from fedtext.privacy.team_registry import TeamHistoryLostError
from fedtext.system.atomic import write_text
from fedtext.system.folders import make_own_folder
from fedtext.system.held_locks import check_still_held
from fedtext.system.locks import locked
from fedtext.system.refusal import RunRefusedError

FOLDER, FILE = ".fedtext", "releases.jsonl"
NAMED = "registered_as"  # digest of the name by which the registry knows the data root and its people
LOCK = "lock"  # of the run that writes to the data root
HISTORY_ROOT = "FEDTEXT_HISTORY_ROOT"  # environment: the data root of the run that started this one


class History:
    """Entries of a data root, of that of the run that started this one, and of all others with the same people's data.

    Args:
        data_root: The folder that this run reads and writes.
        around: The data root of the run that started this one; by default the environment variable's value.
        registry: The registry that finds the same people's data roots; None for a public corpus.
    """

    def __init__(self, data_root: Path, around: Path | None = None, registry: ReleaseRegistry | None = None) -> None:
        told = os.environ.get(HISTORY_ROOT)
        around = around or (Path(told) if told else None)
        self._roots = list(dict.fromkeys([data_root, *([around] if around else [])]))
        self._registry, self._is_known = registry, False

    def own(self) -> tuple[Spent, ...]:
        """Return the entries of this data root, in the order in which they were made."""
        return self._read(self._roots[0])

    def entries(self) -> tuple[Spent, ...]:
        """Return all entries, each once, in the order in which they were made.

        `Spent.elsewhere` marks those of other data roots.

        Raises:
            RunRefusedError: a history cannot be read, or has lost entries.
        """
        here = {entry.key: entry for root in self._roots for entry in self._read(root)}
        if self._registry is None:
            return tuple(here.values())
        own = {self._registry.name_of(root): root for root in self._roots}
        roots = [root for root in self._registry.related(self._roots) if not self._may_be_others(own.get(root.path))]
        told = sorted(
            ((one.made, "" if root.path in own else root.path, one.entry) for root in roots for one in root.releases),
            key=itemgetter(0),
        )
        found: dict[tuple[object, ...], Spent] = {}
        for _, path, entry in told:
            found.setdefault(entry.key, entry.model_copy(update={"elsewhere": path}))
        return tuple((found | here).values())  # in the registry's order, with this root's contents

    def add(self, entry: Spent, judge: Callable[[], None] = lambda: None) -> bool:
        """Write `entry` wherever it is missing; return True if it was new here.

        `judge` is called under the lock, and may raise: of two concurrent runs that need the last of the budget, only
        one gets it.

        Raises:
            RunRefusedError: a history cannot be read, or a team's database has not confirmed the charge.
        """
        new: list[bool] = []
        try:
            with self._locked():
                for root in self._roots:  # a run that has lost its data root to another one releases nothing
                    check_still_held(root / FOLDER / LOCK)
                judge()
                new += [self._append(root, entry) for root in self._roots]
        except TeamHistoryLostError as error:
            if all(one.key != entry.key for one in release_history(self._roots[0])):
                raise
            raise RunRefusedError(
                f"{error}. '{entry.name}' was being charged, and stands in {self._roots[0] / FOLDER / FILE}: it counts "
                "as made, though nothing was released. Made again it is the same release, and counts once",
                code="charge-not-confirmed",
                parameter=error.parameter,
                value=error.value,
            ) from None
        return new[0]

    def unconfirmed(self) -> set[tuple[object, ...]]:
        """Return the keys of the entries of this data root that the registry lacks: charges that were cut off half-way.

        Nothing was released of them unless the registry is an old copy. Who released meanwhile did not know of them.
        """
        if self._registry is None or not (own := self.own()):
            return set()
        known = {one.entry.key for root in self._registry.related(self._roots) for one in root.releases}
        return {entry.key for entry in own} - known

    def register_units(self, clients: Iterable[str], texts: Iterable[str]) -> None:
        """Record in the registry, if there is one, which clients and texts lie in this data root."""
        if self._registry is None:
            return
        clients, texts = set(clients), set(texts)
        with self._locked(whole=True):
            for root in self._roots:
                if not (root / FOLDER / FILE).exists() and (lost := self._registered(root)):
                    if self._registry.is_of(root, clients, texts):
                        write_text(root / FOLDER / FILE, "".join(_lines(lost)))
                    else:
                        self._registry.retire(root)  # other people's text has replaced theirs
                entries = self._read(root)
                if not self._is_on_record(root):  # what is charged later is added once it is judged
                    self._registry.add(root, entries)
                self._registry.register_data_set(root, clients, texts)
        for root in self._roots:  # once a database has confirmed it
            with _alone_in(root):
                write_text(root / FOLDER / NAMED, self._name_digest(root))
        self._is_known = True

    def restore(self) -> None:
        """Write a history that was removed again, from the registry, where a run's other records still exist."""
        for root in self._roots if self._registry is not None else ():
            if (root / FOLDER).is_dir() and not (root / FOLDER / FILE).exists() and (lost := self._registered(root)):
                write_text(root / FOLDER / FILE, "".join(_lines(lost)))

    def validate_people_known(self) -> None:
        """Raise RunRefusedError if earlier releases of the people in this data root may not be found.

        They are found by the text that a run has read there. It is another one's in a copy of a data root, and may be
        where the records of runs were removed. Those of a public corpus are not looked for.
        """
        root = self._roots[0]
        if self._registry is None:
            return
        if not self.is_registered or (self._may_be_others(root) and self._registered(root)):
            raise RunRefusedError(
                f"whose text lies in {root} is not on record, so what was released of theirs before is not known, and "
                "nothing was released: run the whole pipeline once, without --from-nodes, --nodes or --tags",
                code="people-not-known",
                parameter="data_root",
                value=str(root),
            )

    @property
    def is_registered(self) -> bool:
        """True if the registry has recorded this data root's units, or need not."""
        return self._registry is None or self._is_on_record(self._roots[0])

    def _is_on_record(self, root: Path) -> bool:
        """Return True if the registry knows this data root by its present name, which another may have had before."""
        assert self._registry is not None
        told = root / FOLDER / NAMED
        has_name = told.exists() and told.read_text(encoding="ascii") == self._name_digest(root)
        return has_name and bool(self._registry.data_root(root).data_sets)

    def _name_digest(self, root: Path) -> str:
        assert self._registry is not None
        return hashlib.sha256(os.fsencode(self._registry.name_of(root))).hexdigest()

    def _may_be_others(self, root: Path | None) -> bool:
        """Return True if a run's data root was removed, and the units of the text there now are not yet recorded."""
        return root is not None and not self._is_known and not (root / FOLDER / FILE).exists()

    @contextmanager
    def _locked(self, *, whole: bool = False) -> Iterator[None]:
        with ExitStack() as locks:
            if self._registry is not None:
                locks.enter_context(self._registry.locked(self._roots, whole=whole))
            for root in sorted(self._roots):  # always in one order, so that no two runs wait for each other
                make_own_folder(root / FOLDER)
                locks.enter_context(_alone_in(root))
            yield

    def _append(self, root: Path, entry: Spent) -> bool:
        known = self._read(root)
        lost = self._registered(root) if self._registry is not None and not known else ()
        is_new = all(entry.key != one.key for one in (*known, *lost))
        entries = (*known, *lost, *([entry] if is_new else []))
        if entries != known:
            write_text(root / FOLDER / FILE, "".join(_lines(entries)))
        if self._registry is not None:  # last: what it has and a history lacks was taken out of the history
            self._registry.add(root, entries)
        return is_new

    def _registered(self, root: Path) -> tuple[Spent, ...]:
        assert self._registry is not None
        return tuple(one.entry for one in self._registry.data_root(root).releases)

    def _read(self, root: Path) -> tuple[Spent, ...]:
        entries = release_history(root)
        if self._registry is not None and entries and (lost := set(self._registered(root)) - set(entries)):
            raise RunRefusedError(
                f"{root / FOLDER / FILE} was shortened or changed: {len(lost)} of the releases that were written there "
                f"are missing or others ({self._registry.place} has them). Put back a copy of the file, or remove it: "
                "what was released counts all the same",
                code="history-shortened",
                value=str(root / FOLDER / FILE),
            )
        return entries


def _alone_in(root: Path) -> AbstractContextManager[None]:
    """Hold the lock on a data root's history: two who write one file would take each other's half-written one."""
    return locked(root / FOLDER / "releases.lock", wait=True)


def release_history(data_root: Path | str) -> tuple[Spent, ...]:
    """Return every release that was ever made of the private data below `data_root`.

    Raises:
        RunRefusedError: the history cannot be read, or the file is empty (one that was written never is).
    """
    file = Path(data_root) / FOLDER / FILE
    if not file.exists():
        return ()
    try:
        entries = tuple(map(Spent.model_validate_json, file.read_text(encoding="utf-8").splitlines()))
    except (ValidationError, UnicodeDecodeError):
        entries = ()
    if not entries:
        raise RunRefusedError(
            f"{file} is empty, damaged or of another version of fedtext, so what was released before cannot be "
            "accounted for: put back a copy of it, or run the version that wrote it. The people behind the data have "
            "the budget that they were promised, in whichever data root their text lies",
            code="history-unreadable",
            value=str(file),
        )
    return entries


def _lines(entries: Iterable[Spent]) -> Iterable[str]:
    return (entry.model_dump_json() + "\n" for entry in entries)
