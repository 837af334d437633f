"""The offline corpus: docstrings parsed (never imported) from installed Python packages.

Private text is the standard library of the running interpreter; public text is the third-party packages beside it.
Both are real prose by many authors, present on every machine that can run this project.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedtext.params.corpus import DocstringKind
from fedtext.system.errors import InputError
from fedtext.system.progress import progress
from fedtext.system.surrogates import without_lone_surrogates

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | ast.ClassDef | Function
PROPERTIES = frozenset({"property", "cached_property", "abstractproperty"})  # decorators that make an attribute
BLANK_LINE = re.compile(r"\n\s*\n")

# Not the library's own prose: its tests, its bundled installers, and the third-party packages installed under it.
STDLIB_SKIPPED = frozenset({"site-packages", "dist-packages", "test", "idlelib", "lib2to3", "ensurepip", "__pycache__"})

PACKAGES_SKIPPED = frozenset({"test", "tests", "_vendor"})

# Packages that ship copies or backports of standard-library modules. A public fact about the packages, so leaving them
# out of the public text needs no look at the private text.
STDLIB_COPIES = frozenset(
    [
        "setuptools",
        "pip",
        "_distutils_hack",
        "pkg_resources",
        "lxml",
        "multiprocess",
        "multiprocessing",
        "debugpy",
        "importlib_metadata",
        "importlib_resources",
        "distlib",
        "zipp",
        "typing_extensions",
        "virtualenv",
        "jedi",
        "parso",
        "docker",
        "dill",
        "cloudpickle",
        "exceptiongroup",
        "backports",
        "fedtext",
        "torchgen",
        "typeshed",
        "mypy",
        "mypyc",
    ]
)


@dataclass(frozen=True)
class Docstring:
    """One documented object: its dotted name, the top-level package or module it lives in, its text and its kind."""

    name: str
    package: str
    text: str
    kind: DocstringKind


def stdlib_root() -> Path:
    """Return the directory of the running interpreter's standard library."""
    return Path(sysconfig.get_path("stdlib"))


def package_roots() -> list[Path]:
    """Return the directories of installed third-party packages, the interpreter's own first, then in import order.

    A virtual environment may see its parent's packages, and a `.pth` file or PYTHONPATH may add folders. A folder of
    packages is recognised by their metadata; an editable checkout is the user's own work, and is left out.
    """
    own = Path(sysconfig.get_path("purelib"))
    others = [Path(sysconfig.get_path("platlib")), *(Path(entry) for entry in sys.path if entry)]
    known = [own, *(root for root in others if root.is_dir() and any(root.glob("*.dist-info")))]
    roots: list[Path] = []
    for root in dict.fromkeys(known):
        if not any(root.resolve().is_relative_to(other.resolve()) for other in roots):
            roots.append(root)
    return roots


def private_docstrings(root: Path, *, min_chars: int, first_paragraph: bool = False) -> list[Docstring]:
    """Return distinct standard-library docstrings longer than `min_chars` characters, in path order.

    With `first_paragraph` the text is a docstring's first paragraph, in one line.
    """
    files = sorted(_python_files(root, STDLIB_SKIPPED))
    seen: set[str] = set()
    kept = []
    for doc in _parse_all([(file, root) for file in files], "private docstrings", first_paragraph):
        if len(doc.text) > min_chars and doc.text not in seen:
            seen.add(doc.text)
            kept.append(doc)
    return kept


def _python_files(root: Path, skipped: frozenset[str], *, links: bool = False) -> Iterator[Path]:
    """Yield all Python files below `root`, without entering the `skipped` folders, which may hold many more.

    With `links`, linked folders are entered too, each once.
    """
    entered = {os.path.realpath(root)}
    for folder, below, files in os.walk(root, followlinks=links):
        below[:] = set(below) - skipped
        if links:
            places = {os.path.realpath(os.path.join(folder, name)): name for name in sorted(below, reverse=True)}
            below[:] = [name for place, name in places.items() if place not in entered]
            entered |= places.keys()
        yield from (Path(folder, name) for name in files if name.endswith(".py"))


def public_docstrings(
    roots: Sequence[Path],
    *,
    min_chars: int,
    max_texts: int | None,
    max_chars_per_package: int,
    first_paragraph: bool = False,
) -> list[Docstring]:
    """Return distinct third-party docstrings: at most `max_texts`, and `max_chars_per_package` characters a package.

    Files are visited in the order of a digest of their path below its root. So every prefix of the result is a fair
    mixture of packages, and a small `max_texts` parses only a few files. Of one path below several roots, the first is
    imported.

    Raises:
        ValueError: There is none.
    """
    first: dict[Path, Path] = {}
    for root in roots:
        for path in _public_files(root):
            first.setdefault(path.relative_to(root), root)
    files = sorted(first.items(), key=lambda item: hashlib.sha256(str(item[0]).encode()).digest())
    seen: set[str] = set()
    spent: dict[str, int] = {}
    kept: list[Docstring] = []
    for doc in _parse_all([(root / path, root) for path, root in files], "public docstrings", first_paragraph):
        if max_texts is not None and len(kept) >= max_texts:
            break
        if len(doc.text) <= min_chars or doc.text in seen or spent.get(doc.package, 0) >= max_chars_per_package:
            continue
        seen.add(doc.text)
        spent[doc.package] = spent.get(doc.package, 0) + len(doc.text)
        kept.append(doc)
    if not kept and max_texts != 0:
        raise InputError(
            f"no package in {', '.join(map(str, roots))} has a docstring of more than {min_chars} characters, and the "
            "public text is these: name public text of your kind (corpus.public_path), say what the texts are "
            "(corpus.description), or run in an environment that has its packages in a folder",
            code="no-docstrings",
        )
    return kept


def _public_files(root: Path) -> Iterator[Path]:
    for path in _python_files(root, PACKAGES_SKIPPED, links=True):
        if path.relative_to(root).parts[0].removesuffix(".py") not in STDLIB_COPIES:
            yield path


def _parse_all(files: list[tuple[Path, Path]], label: str, first_paragraph: bool) -> Iterator[Docstring]:
    """Yield the docstrings of the files, each given with its root."""
    for path, root in progress(files, label, unit="file"):
        for doc in parse_file(path, root):
            yield replace(doc, text=_first_paragraph(doc.text)) if first_paragraph else doc


def _first_paragraph(text: str) -> str:
    return " ".join(BLANK_LINE.split(text, maxsplit=1)[0].split())


def parse_file(path: Path, root: Path) -> Iterator[Docstring]:
    """Yield the docstrings of one source file, outermost first; none for a file that is not valid Python."""
    try:
        source = path.read_text("utf-8")
    except (UnicodeDecodeError, OSError):
        return
    if '"""' not in source and "'''" not in source:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in other packages do not matter
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
    yield from _walk(tree, module, module.partition(".")[0])


def _walk(node: Documented, name: str, package: str, kind: DocstringKind = "module") -> Iterator[Docstring]:
    text = ast.get_docstring(node)
    if text:
        yield Docstring(name, package, without_lone_surrogates(text), kind)
    for child in node.body:
        if isinstance(child, ast.ClassDef | Function):
            yield from _walk(child, f"{name}.{child.name}", package, _kind(child, within=node))


def _kind(node: ast.ClassDef | Function, within: Documented) -> DocstringKind:
    """Return the kind of an object by its place and decorators; nothing is imported to find out."""
    if isinstance(node, ast.ClassDef):
        return "class"
    if not isinstance(within, ast.ClassDef):
        return "function"
    return "property" if PROPERTIES.intersection(map(_last_name, node.decorator_list)) else "method"


def _last_name(decorator: ast.expr) -> str:
    """Return the last part of a decorator's name, such as `cached_property`; empty for what is no name."""
    return ast.unparse(decorator).rpartition(".")[2]
