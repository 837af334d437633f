"""Code versions of single functions: a node depends on its function, on what that names, and on all that these import.

In the module of a function, code that the function does not reach is left out: a node that draws a figure makes no
other node of its file depend on figures. An imported module counts whole, with all that it imports. So do the files of
data in the folders of all these modules: templates, prompts, lists. Comments, docstrings and layout do not count.
Imports are read from the source, anywhere in a file, so modules must be imported by name (no `importlib` with a
computed name), or be named as a string in a catalog entry.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fedtext.resuming.fingerprint import text_digest
from fedtext.system.errors import InputError

SIMPLE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
NO_DATA = (".py", ".pyc", ".pyi", ".so", ".pyd", ".typed")
ABOUT = ("README", "LICENSE")
WEIGHTS = (".safetensors", ".bin", ".pt", ".onnx", ".gguf")  # a folder that holds one is a model
LARGEST = 2**20  # bytes: a larger file is what a catalog entry names
DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement at the top of a module, or one name of an import there.

    Attributes:
        code: Its source, without comments, docstrings and layout.
        binds: Names that it binds in the module; None for a statement that always counts, such as a bare call.
        uses: Names that it mentions.
        imports: Dotted names that it imports: `from a import b` gives `a.b`, a module or something in `a`.
    """

    code: str
    binds: frozenset[str] | None
    uses: frozenset[str]
    imports: tuple[str, ...]


class SourceTree:
    """The modules of one package and what they import of it.

    Args:
        package: Importable top-level package.
    """

    def __init__(self, package: str) -> None:
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise InputError(f"'{package}' is not an importable package", code="unknown-package", value=package)
        self.package = package
        root = Path(next(iter(spec.submodule_search_locations)))
        self._files = {_module_name(package, path.relative_to(root)): path for path in sorted(root.rglob("*.py"))}
        self._answers: dict[frozenset[str], str] = {}
        self._data: dict[Path, list[Path]] = {}

    def __contains__(self, name: str) -> bool:
        """Return whether the named function, class or module exists here."""
        return any(self._with_parents(name))

    def digest(self, names: Iterable[str]) -> str:
        """Return the digest of the named modules, functions and classes and of all they depend on in this package."""
        key = frozenset(names)
        if key not in self._answers:
            found = self._reached(key)
            self._answers[key] = text_digest(
                *(f"{module}\x1e{_code(self._statements(module), found[module])}" for module in sorted(found)),
                *(f"{name}\x1e{text}" for name, text in self._texts_of_data(found)),
            )
        return self._answers[key]

    def closure(self, names: Iterable[str]) -> set[str]:
        """Return the modules that hold the names, those they import, directly or not, and the packages around them."""
        return set(self._reached(names))

    def _texts_of_data(self, modules: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield names and texts of the files of data in the modules' folders."""
        for folder in dict.fromkeys(self._files[module].parent for module in sorted(modules)):
            if folder not in self._data:
                self._data[folder] = sorted(_data_files(folder))
            for path in self._data[folder]:
                yield path.relative_to(folder).as_posix(), path.read_bytes().decode("utf-8", "backslashreplace")

    def _reached(self, names: Iterable[str]) -> dict[str, set[Statement]]:
        """Return the statements of each module that count."""
        found: dict[str, set[Statement]] = {}
        waiting: list[tuple[str, str | None]] = []
        for name in names:
            modules = list(self._with_parents(name))
            waiting += [(package, None) for package in modules[:-1]]
            waiting += [(home, _top(name, home)) for home in modules[-1:]]
        while waiting:
            module, top = waiting.pop()
            seen = found.setdefault(module, set())
            new = _reached_from(top, self._statements(module)) - seen
            seen |= new
            targets = {target for statement in new for target in statement.imports}
            waiting += [(name, None) for target in targets for name in self._with_parents(target)]
        return found

    def _with_parents(self, dotted: str) -> Iterator[str]:
        """Yield the prefixes of a dotted name that are modules here: for `a.b.C`, `a` and `a.b`."""
        parts = dotted.split(".")
        return (name for end in range(1, len(parts) + 1) if (name := ".".join(parts[:end])) in self._files)

    def _statements(self, module: str) -> tuple[Statement, ...]:
        return statements(self._files[module], module)


def _data_files(folder: Path) -> Iterator[Path]:
    """Yield the files of data in a folder of modules, and in those of its folders that hold no modules."""
    inside = [path for path in folder.iterdir() if not path.name.startswith((".", "__"))]
    if any(path.suffix in WEIGHTS for path in inside):
        return
    for path in inside:
        if path.is_dir():
            if not any(path.rglob("*.py")):
                yield from _data_files(path)
        elif path.suffix not in NO_DATA and not path.name.startswith(ABOUT) and path.stat().st_size <= LARGEST:
            yield path


@cache
def source_tree(package: str) -> SourceTree:
    """Return the package's tree, read once a process."""
    return SourceTree(package)


@cache
def statements(path: Path, module: str) -> tuple[Statement, ...]:
    """Return the module's top-level statements in order, imports name by name; read once a process."""
    return _parsed(path.read_bytes(), path.name, module)


def _parsed(source: bytes, file: str, module: str) -> tuple[Statement, ...]:
    tree = ast.parse(source, filename=file)
    home = module.split(".") if file == "__init__.py" else module.split(".")[:-1]
    for part in ast.walk(tree):
        if isinstance(part, DOCUMENTED) and ast.get_docstring(part, clean=False) is not None:
            del part.body[0]
    return tuple(found for statement in tree.body for found in _parts(statement, home))


def _parts(statement: ast.stmt, home: list[str]) -> Iterator[Statement]:
    if isinstance(statement, ast.Import | ast.ImportFrom):
        for alias, target in zip(statement.names, _targets(statement, home), strict=True):
            bound = alias.asname or alias.name.partition(".")[0]
            binds = None if bound == "*" else frozenset({bound})
            yield Statement(f"{bound} = {target}", binds, frozenset(), (target,))
        return
    inside = list(ast.walk(statement))
    imports = [part for part in inside if isinstance(part, ast.Import | ast.ImportFrom)]
    yield Statement(
        code=ast.dump(statement),
        binds=_bound(statement) if isinstance(statement, SIMPLE) else None,
        uses=frozenset(part.id for part in inside if isinstance(part, ast.Name)),
        imports=tuple(target for part in imports for target in _targets(part, home)),
    )


def _bound(statement: ast.stmt) -> frozenset[str] | None:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({statement.name})
    names = {part.id for part in ast.walk(statement) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return frozenset(names) or None  # an attribute of something else is set


def _targets(statement: ast.Import | ast.ImportFrom, home: list[str]) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    base = home[: len(home) - statement.level + 1] if statement.level else []
    origin = ".".join([*base, *([statement.module] if statement.module else [])])
    return [f"{origin}.{alias.name}" for alias in statement.names]


def _reached_from(top: str | None, whole: tuple[Statement, ...]) -> set[Statement]:
    """Return all statements, or those that the name `top`, if the module has it, depends on."""
    if top is None or not any(statement.binds and top in statement.binds for statement in whole):
        return set(whole)
    wanted, reached = {top}, set[Statement]()
    while new := {s for s in whole if s not in reached and (s.binds is None or s.binds & wanted)}:
        reached |= new
        wanted.update(*(statement.uses for statement in new))
    return reached


def _code(whole: tuple[Statement, ...], reached: set[Statement]) -> str:
    return text_digest(*(statement.code for statement in whole if statement in reached))


def _top(name: str, home: str) -> str | None:
    """Return the top-level name in module `home` that `name` refers to: for `a.b.C.f` in `a.b`, `C`."""
    return name.removeprefix(home).lstrip(".").partition(".")[0] or None


def _module_name(package: str, relative: Path) -> str:
    parts = relative.with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))
