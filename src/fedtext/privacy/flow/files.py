"""Rules about where data sets lie: one file is one data set and has one class, and a private one shows it by its name.

The name is what the guard (fedtext.wiring.guard) recognises a private file by while a node runs, and what a person
sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from fedtext.privacy.flow.graph import Violation, bare, is_private, last_part

HANDED_ON = ("07_model_output", "08_reporting")  # the folders that people pass on


def check_files(files: Mapping[str, PurePath], classes: Mapping[str, str]) -> list[Violation]:
    """Violations of `files`, the resolved path of each data set that has one.

    A parameter that names a file is a data set here (`params:corpus.path`), and `classes` says what the file is.
    """
    private = {name for name in files if _is_private(name, classes)}
    first: dict[PurePath, str] = {}
    found: list[Violation] = []
    for name in sorted(files):
        other = first.setdefault(files[name], name)
        if bare(other) != bare(name) and not (_is_parameter(name) and (name in private) == (other in private)):
            message = f"data sets '{other}' and '{name}' are one file, {files[name]}: give each a file of its own"
            found.append(Violation("shared file", "", name, message))
    for name, path in sorted(files.items()):
        found += _nested(name, path, first, private)
        if not _is_parameter(name):
            found += _misnamed(name, path, name in private)
    return found


def check_private_places(places: Mapping[str, PurePath | None], data_root: PurePath) -> list[Violation]:
    """Violations of the private data sets that nodes write: each lies in a local file or folder of the data root.

    There the guard knows it by its name, and it goes when the data root goes.

    Args:
        places: The resolved path of each; None where the catalog entry has no local one, as a table of a database.
        data_root: The run's, resolved.
    """
    found = []
    for name, path in sorted(places.items()):
        if path is not None and path.is_relative_to(data_root):
            continue
        where = f"lies at {path}" if path is not None else "has no local file"
        message = (
            f"data set '{name}' is private and written by a node, but {where}: give it a file below the data root "
            f'{data_root}, as filepath: "${{data_root:}}/03_primary/{last_part(name)}.parquet"'
        )
        found.append(Violation("misplaced", "", name, message))
    return found


def _nested(name: str, path: PurePath, owners: Mapping[PurePath, str], private: set[str]) -> Iterator[Violation]:
    for around in path.parents:
        other = owners.get(around)
        if other is not None and (name in private) != (other in private):
            message = (
                f"data set '{name}' lies at {path}, inside '{other}', and only one of them is private: give them "
                "places of their own"
            )
            yield Violation("nested file", "", name, message)


def _misnamed(name: str, path: PurePath, private: bool) -> Iterator[Violation]:
    named = path.name.startswith("private_")
    for folder in HANDED_ON if private else ():
        if folder in path.parts:
            message = f"data set '{name}' is private but lies in {folder} ({path}): give it a place elsewhere"
            yield Violation("misplaced", "", name, message)
    if private and not named:
        message = f"data set '{name}' is private, which {path} does not show: give it the name private_{path.name}"
        yield Violation("misplaced", "", name, message)
    if named and not private:
        message = f"data set '{name}' is not private, but {path} is named so: class it private, or rename the file"
        yield Violation("misplaced", "", name, message)


def _is_private(name: str, classes: Mapping[str, str]) -> bool:
    return classes.get(name) == "private" if _is_parameter(name) else is_private(name, classes)


def _is_parameter(name: str) -> bool:
    return name.startswith("params:")
