"""Code versions as fine as imports: a node depends on its own module and on all that it imports, directly or not.

Editing the figures does not undo days of training; editing the accountant redoes everything that imports it. Imports
are read from the source, wherever in a file they stand, so modules must be imported by name (no `importlib` with a
computed name), or be named as a string in a catalog entry.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fedtext.resuming.fingerprint import text_digest


class SourceTree:
    """The modules of one package and what they import of it.

    Args:
        package: Importable top-level package.
    """

    def __init__(self, package: str) -> None:
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise ValueError(f"'{package}' is not an importable package")
        self.package = package
        root = Path(next(iter(spec.submodule_search_locations)))
        self._files = {_module_name(package, path.relative_to(root)): path for path in sorted(root.rglob("*.py"))}
        self._digests: dict[str, str] = {}
        self._answers: dict[frozenset[str], str] = {}

    def digest(self, modules: Iterable[str]) -> str:
        """Digest of the named modules of this package and everything of it that they import; others are left out."""
        asked = frozenset(modules)
        if asked not in self._answers:
            found = sorted(self.closure(asked))
            self._answers[asked] = text_digest(*(f"{name}\x1e{self._file_digest(name)}" for name in found))
        return self._answers[asked]

    def closure(self, modules: Iterable[str]) -> set[str]:
        """The named modules, the packages they live in, and all that these import, inside this package."""
        found: set[str] = set()
        waiting = [name for module in modules for name in self._with_parents(module)]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(parent for target in self._imports(name) for parent in self._with_parents(target))
        return found

    def _with_parents(self, dotted: str) -> Iterator[str]:
        """`a.b.C` -> `a`, `a.b`: those prefixes that are modules here."""
        parts = dotted.split(".")
        return (name for end in range(1, len(parts) + 1) if (name := ".".join(parts[:end])) in self._files)

    def _file_digest(self, name: str) -> str:
        if name not in self._digests:
            self._digests[name] = hashlib.sha256(self._files[name].read_bytes()).hexdigest()
        return self._digests[name]

    def _imports(self, name: str) -> list[str]:
        return _imported_names(self._files[name], name)


@cache
def source_tree(package: str) -> SourceTree:
    """The package's tree, read once a process."""
    return SourceTree(package)


def _module_name(package: str, relative: Path) -> str:
    parts = relative.with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


@cache
def _imported_names(path: Path, name: str) -> list[str]:
    """Dotted names that the file imports: `from a import b` gives `a.b`, which may be a module or something in `a`."""
    home = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    names: list[str] = []
    for statement in ast.walk(ast.parse(path.read_bytes(), filename=str(path))):
        if isinstance(statement, ast.Import):
            names += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            base = home[: len(home) - statement.level + 1] if statement.level else []
            origin = ".".join([*base, *([statement.module] if statement.module else [])])
            names += [f"{origin}.{alias.name}" for alias in statement.names]
    return names
