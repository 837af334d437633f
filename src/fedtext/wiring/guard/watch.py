"""The watch on a running node, and the audit hook that enforces it.

Python reports what it opens, connects to or starts to audit hooks beforehand, and a hook that raises prevents it. The
hook stays for the rest of the process and does nothing unless a node is watched. Nodes run one after the other, and a
node's threads are watched with it.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedtext.system.file_limit import files_written
from fedtext.system.refusal import RunRefusedError

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What leaves the process, or this machine.
# The event's own words, a host or a command, may be private text: they are not repeated.
OUTSIDE = {
    "socket.bind": "listens for connections",
    "socket.connect": "connects to a server",
    "socket.sendto": "sends through a socket",
    "socket.sendmsg": "sends through a socket",
    "socket.getaddrinfo": "looks up a host",
    "socket.gethostbyname": "looks up a host",
    "subprocess.Popen": "starts a program",
    "os.system": "starts a program",
    "os.exec": "starts a program",
    "os.spawn": "starts a program",
    "os.posix_spawn": "starts a program",
    "os.fork": "starts a copy of this process",
    "os.forkpty": "starts a copy of this process",
    "os.startfile": "starts a program",
    "webbrowser.open": "opens a browser",
    "sqlite3.connect": "opens a database",
    "syslog.syslog": "writes to the log of the system",
}
# What changes the names of files, or who may read them: what it does, and how many paths it is given first.
FILES = {
    "os.rename": ("moves", 2),
    "os.link": ("links", 2),
    "os.symlink": ("links", 2),
    "os.truncate": ("cuts", 1),
    "os.chmod": ("changes the permissions of", 1),
    "os.chown": ("changes the owner of", 1),
    "os.setxattr": ("changes the attributes of", 1),
    "os.utime": ("changes the times of", 1),
}
# Programs: where in the event their words are, and their working folder, if it is told.
PROGRAMS: dict[str, tuple[int, int | None]] = {
    "subprocess.Popen": (1, 2),
    "os.system": (0, None),
    "os.exec": (1, None),
    "os.spawn": (2, None),
    "os.posix_spawn": (1, None),
}
FOLDERS = ("os.listdir", "os.scandir")
_watches: list[Watch] = []
_condemned: dict[int, Watch] = {}
_installed: list[bool] = []


class SideEffectRefusedError(RunRefusedError, PermissionError):
    """A side effect that a node tried; a `PermissionError` too, which a library with an optional cache handles."""


@dataclass
class Watch:
    """The node that is watched, and what it may do.

    Attributes:
        who: The name for messages: of a node, or of a data set while it is loaded or saved.
        reads_private: Whether it must have no side effects.
        may_read: Whether it may open the private files that parameters name.
        data_root: Below it, only the catalog may open a file or directory whose name starts with `private_`.
        private_files: Resolved paths of the private files that parameters name, or entries outside of the data root.
        is_public_entry: Whether it is a data set that is not private, and so may hold nothing that is.
        may_write: Resolved paths that it may write, and all below them.
        temporary: The run's own folder for temporary files: libraries make folders there as they are imported.
        may_be_private: Tests whether a word may be private text, which messages do not repeat.
        hidden: Whether a message was hidden. How many were may be the number of private rows.
    """

    who: str
    reads_private: bool
    may_read: bool
    data_root: Path
    private_files: frozenset[Path] = frozenset()
    is_public_entry: bool = False
    may_write: frozenset[Path] = frozenset()
    temporary: Path | None = None
    may_be_private: Callable[[str], bool] = lambda _: False
    hidden: bool = field(default=False, init=False)

    def judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise SideEffectRefusedError if the event is one that the node may not cause."""
        if event == "open":
            path, _, flags = arguments
            self.opens(path, writes=bool((flags or 0) & WRITING), reads=not (flags or 0) & os.O_WRONLY)
        elif event in FOLDERS:
            if (path := _path(arguments[0])) is not None:
                self._reads(path, "lists")
        elif event in FILES:
            verb, paths = FILES[event]
            self._changes(verb, [_path(one) for one in arguments[:paths]])
        elif self.reads_private and event == "os.mkdir":
            self._makes_folder(_path(arguments[0]))
        elif self.reads_private and event in OUTSIDE:
            self.refuse(OUTSIDE[event])
        elif event in PROGRAMS:
            words, folder = PROGRAMS[event]
            self._starts(arguments[words], None if folder is None else _path(arguments[folder]))

    def refuse(self, what: str) -> None:
        """Raise SideEffectRefusedError that the node does `what`, which one without private data may do."""
        raise SideEffectRefusedError(
            f"{self.who} {what} while it reads private data: do that in a node that reads none",
            code="side-effect",
            value=self.who,
        )

    def hide(self) -> None:
        """Note that a message was hidden."""
        self.hidden = True

    def opens(self, path: Any, *, writes: bool, reads: bool = True) -> None:
        """Raise SideEffectRefusedError if the node may not open `path`; anything that is no path is ignored."""
        if (path := _path(path)) is None:
            return
        if writes and self.reads_private and not self._may_write(path):
            raise SideEffectRefusedError(
                f"{self.who} writes {self.shown(path)} itself while it reads private data: return what it makes as "
                "a data set",
                code="writes-itself",
                value=self.who,
            )
        if reads:
            self._reads(path, "opens")

    def shown(self, path: str | Path) -> str:
        """Return a path for a message; only its folder if its name may be private text."""
        folder, name = os.path.split(path)
        return f"a file in {folder or os.getcwd()}" if self.may_be_private(name) else str(path)

    def _may_write(self, path: str) -> bool:
        real = Path(os.path.realpath(path))
        return _is_harmless(path) or any(place == real or place in real.parents for place in self.may_write)

    def _changes(self, verb: str, paths: Sequence[str | None]) -> None:
        """Refuse changes outside its own paths by a node that reads private data; of private files by any other."""
        named = [path for path in paths if path is not None]
        if self.reads_private:
            if not named or not all(map(self._may_write, named)):
                what = self.shown(named[0]) if named else "a file"
                self.refuse(f"{verb} {what}")
            return
        if verb == "links" and named and all(map(self._is_private, named)):
            return  # a file of a private data set gets a second name that says so: nothing is read or given out
        for path in named:
            self._reads(path, verb)

    def _starts(self, command: Any, folder: str | None) -> None:
        """Refuse a program that is given a private file, or a folder that holds one."""
        if folder is not None:
            self._reads(folder, "starts a program in")
        for word in filter(None, _paths_in(command)):
            path = os.path.join(folder or "", os.path.expanduser(word))
            if "\0" in path or not os.path.lexists(path):
                continue
            self._reads(path, "gives a program")
            real = Path(os.path.realpath(path))
            if real.is_dir() and self._holds_private(real):
                raise SideEffectRefusedError(
                    f"{self.who} gives a program {path}, a folder with private files in it: give it the files that it "
                    "needs",
                    code="private-folder-by-path",
                    value=self.who,
                )

    def _holds_private(self, folder: Path) -> bool:
        """Return whether a private file lies below the folder; the data root counts even if it is still empty."""
        around = (self.data_root, *(() if self.may_read else self.private_files))
        if any(one == folder or folder in one.parents for one in around):
            return True
        return folder.is_relative_to(self.data_root) and next(folder.rglob("private_*"), None) is not None

    def _is_private(self, path: str) -> bool:
        """Return whether the path is, by its names, that of a private data set below the data root."""
        real = Path(os.path.realpath(path))
        below = real.relative_to(self.data_root).parts if real.is_relative_to(self.data_root) else ()
        return any(part.startswith("private_") for part in below)

    def _makes_folder(self, path: str | None) -> None:
        """Check the making of a folder, whose own name is left out of messages: it may be made of private text."""
        if path is not None:
            real = Path(os.path.realpath(path))
            around = any(real in place.parents for place in self.may_write)
            if around or self._may_write(path) or real.is_dir() or self.temporary in real.parents:
                return
        place = os.path.dirname(os.path.abspath(path or ""))
        raise SideEffectRefusedError(
            f"{self.who} makes a folder in {place} while it reads private data: return what it makes as a data set",
            code="makes-folder",
            value=self.who,
        )

    def _reads(self, path: str, verb: str) -> None:
        real = Path(os.path.realpath(path))
        of_parameter = not self.may_read and any(real == one or one in real.parents for one in self.private_files)
        of_data_set = self._is_private(path) and not self._may_write(path)
        if self.is_public_entry and (of_parameter or of_data_set):
            raise SideEffectRefusedError(
                f"{self.who} {verb} {path}, which is private, and its catalog entry says that it is not: class the "
                "entry private, or name another file there",
                code="private-file-in-public-entry",
                value=self.who,
            )
        if of_data_set:
            raise SideEffectRefusedError(
                f"{self.who} {verb} {path}, the file of a private data set, itself: make the data set its input",
                code="private-data-set-by-path",
                value=self.who,
            )
        if of_parameter:
            raise SideEffectRefusedError(
                f"{self.who} {verb} {path}, which is private, and writes what is not: read it in a node of its own",
                code="private-file-by-path",
                value=self.who,
            )


def _paths_in(words: Any) -> Iterator[str]:
    """Yield what may be a path among the words of a command: words, what follows a `=`, and the words of a shell."""
    for word in [words] if isinstance(words, str | bytes | os.PathLike) else words or ():
        said = os.fsdecode(word)
        shell = shlex.shlex(said, posix=True, punctuation_chars=True)
        shell.whitespace_split, shell.commenters = True, ""
        try:
            parts = [said, *shell]
        except ValueError:  # quotes that do not end
            parts = [said, *said.split()]
        for part in dict.fromkeys(parts):
            yield part
            yield part.partition("=")[2]


def _path(given: Any) -> str | None:
    """Return an event's argument as a path; None for a descriptor, or nothing."""
    return os.fsdecode(given) if isinstance(given, str | bytes | os.PathLike) else None


def _is_harmless(path: str) -> bool:
    """Return whether nothing is kept there, or only what Python compiles."""
    return path == os.devnull or "__pycache__" in (Path(path).name, Path(path).parent.name)


def begin(watch: Watch) -> None:
    """Watch from here on."""
    if not _installed:
        tempfile.gettempdir()  # is found by writing to it, once a process, by libraries as they are imported
        sys.addaudithook(_audit)  # cannot be taken away
        _installed.append(True)
    for number in _condemned.keys() - sys._current_frames().keys():
        del _condemned[number]  # it has ended, and another thread may get its number
    _watches.append(watch)


def end(watch: Watch) -> None:
    """End what `begin` began."""
    _watches.remove(watch)


def fail_node(thread: int, watch: Watch) -> None:
    """Watch a thread that has outlived its node for as long as it lives, as if the node still ran."""
    _condemned[thread] = watch


def current() -> Watch | None:
    """Return the current watch; None between nodes."""
    if _condemned and (watch := _condemned.get(threading.get_ident())) is not None:
        return watch
    return _watches[-1] if _watches else None


@contextmanager
def suspended() -> Iterator[None]:
    """Suspend the watch until the end of the block, for the runner's own bookkeeping inside a node."""
    watches, _watches[:] = _watches[:], []
    try:
        with files_written():
            yield
    finally:
        _watches[:] = watches


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _WATCHED and (watch := current()) is not None:
        watch.judge(event, arguments)


_WATCHED = frozenset({"open", "os.mkdir", *FOLDERS, *OUTSIDE, *FILES})
