"""`kedro export`: the results of a data root, copied to a folder of this machine or to an address that fsspec knows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from fedtext.resuming.outdated import outdated
from fedtext.resuming.records import STORE, Store
from fedtext.system.atomic import PARTIAL, REPLACED
from fedtext.system.errors import FedtextError, MissingFileError
from fedtext.system.refusal import RunRefusedError
from fedtext.system.remote_files import file_system, unreachable

RESULTS = ("07_model_output", "08_reporting")
KEPT_HERE = ("private_", "unprotected", PARTIAL, REPLACED)  # beginnings of names, of files and folders, that stay
SHOWN = 3  # of the files that a refusal is about


def export_results(data_root: Path, target: str) -> int:
    """Copy the model outputs and reports of a data root below `target`, and return how many files these are.

    Files of private data sets stay, and so do those without protection. What lies there already is replaced, and
    nothing is removed.

    Raises:
        RunRefusedError: A run is writing there, or has left results of two runs side by side.
        OSError: There are no results yet, or the place cannot be written to.
        ValueError: The address holds a password, or no package writes to such addresses.
    """
    found = list(_results(data_root))
    if not found:
        raise MissingFileError(
            f"{data_root} has no results to export: run a job first, or name its --params data_root=DIR",
            code="nothing-to-export",
            parameter="data_root",
            value=str(data_root),
        )
    with Store.locked(data_root) if os.access(data_root / STORE, os.W_OK) else nullcontext():
        _copy(data_root, found, target)
    return len(found)


def _copy(data_root: Path, found: list[Path], target: str) -> None:
    if old := outdated(data_root, found):
        shown = ", ".join(path.relative_to(data_root).as_posix() for path in old[:SHOWN])
        raise RunRefusedError(
            f"{shown}{' and others' if old[SHOWN:] else ''} in {data_root} tell of earlier results than those that lie "
            "there now: run the whole job to its end, or remove what no job makes any more, and export again",
            code="results-of-two-runs",
            parameter="data_root",
            value=[str(path) for path in old],
        )
    files, place = file_system(target, "--to")
    try:
        for path in found:
            there = f"{place.rstrip('/')}/{path.relative_to(data_root).as_posix()}"
            files.makedirs(there.rpartition("/")[0], exist_ok=True)
            files.put_file(str(path), there)
    except FedtextError:
        raise
    except Exception as error:  # each package raises errors of its own
        raise unreachable(target, "--to", error) from None


def _results(data_root: Path) -> Iterator[Path]:
    for folder in RESULTS:
        for path in sorted((data_root / folder).rglob("*")):
            inside = path.relative_to(data_root).parts
            if path.is_file() and not any(part.startswith(KEPT_HERE) for part in inside):
                yield path
