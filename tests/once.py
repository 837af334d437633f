"""What hundreds of tests of one process read or compile alike is read and compiled once (tests/conftest.py has these).

Nothing of the package is imported before the checks of arrays are in place, so the fixtures import it.
"""

from __future__ import annotations

import inspect
import io
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import parse
import pytest
from dynaconf.loaders import py_loader
from dynaconf.utils import files
from kedro.io import catalog_config_resolver
from omegaconf import OmegaConf


@pytest.fixture(scope="session", autouse=True)
def files_are_parsed_once() -> Iterator[None]:
    """Parse the same YAML once in a process: that is half of a command's start, and hundreds start."""
    parsed, known = OmegaConf.load, dict[str, bytes]()

    def load(file: str | Path | IO[str]) -> object:
        words = Path(file).read_text("utf-8") if isinstance(file, str | Path) else file.read()
        if words not in known:
            known[words] = pickle.dumps(parsed(io.StringIO(words)))
        return pickle.loads(known[words])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OmegaConf, "load", load)
        yield


@pytest.fixture(scope="session", autouse=True)
def patterns_are_compiled_once() -> Iterator[None]:
    """Compile a pattern of the catalog once: Kedro does it for each of a thousand names."""
    compiled = cache(parse.compile)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog_config_resolver, "parse", lambda pattern, name: compiled(pattern).parse(name))
        yield


@pytest.fixture(scope="session", autouse=True)
def sources_are_parsed_once() -> Iterator[None]:
    """Parse a module of the same source once: a test that changes code makes the process forget all code."""
    from fedtext.resuming import source_digest

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_digest, "_parsed", cache(source_digest._parsed))
        yield


@pytest.fixture(scope="session", autouse=True)
def docstrings_are_parsed_once() -> Iterator[None]:
    """Parse the docstrings of an unchanged file once: a job reads the whole library, and dozens run in a process."""
    from fedtext.corpora import docstrings

    known = dict[tuple[Path, Path, int, int], list[docstrings.Docstring]]()
    parsed = docstrings.parse_file

    def parse_once(path: Path, root: Path) -> list[docstrings.Docstring]:
        stat = path.stat()
        key = (path, root, stat.st_mtime_ns, stat.st_size)
        if key not in known:
            known[key] = list(parsed(path, root))
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docstrings, "parse_file", parse_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_source_is_read_for_names_of_files() -> Iterator[None]:
    """Leave out the lines of source when dynaconf asks which files are on the stack: it looks for them in all modules."""
    frames = SimpleNamespace(stack=lambda: inspect.stack(context=0))
    with pytest.MonkeyPatch.context() as patch:
        for module in (py_loader, files):
            patch.setattr(module, "inspect", frames)
        yield
