"""The sentences of fedtext's errors, by package and code, as `tests/<package>/sentences.txt` approves them.

A sentence stands in the source where it is raised. Tests compare the code of an error, so a better word breaks none of
them; these files show a reviewer every change of wording in one place. `python -m tests.sentences` writes them anew.

In a file, `{name}` is what the sentence is filled with, and `{...}` is a longer expression.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "fedtext"
BASE = "FedtextError"
LONGEST = 40  # characters of an expression that is shown


@dataclass(frozen=True)
class Made:
    """One place of the source that makes an error; `code` is None if it is no literal, or is missing."""

    package: str
    place: str
    code: str | None
    sentence: str


@cache
def made() -> tuple[Made, ...]:
    """Return every place of the source that makes an error with a sentence of its own."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    kinds = _error_classes(trees.values())
    return tuple(one for path, tree in trees.items() for one in _made_in(path, tree, kinds))


def listed(package: str) -> str:
    """Return the content of a package's file: each code with its sentence."""
    entries = sorted({(str(one.code), one.sentence) for one in made() if one.package == package})
    return "\n".join(f"{code}\n    {sentence}\n" for code, sentence in entries)


def approved(package: str) -> Path:
    """Return the file that approves the sentences of a package."""
    return TESTS / package / "sentences.txt"


def packages() -> list[str]:
    """Return all packages by name; the modules beside them are the package of the empty name."""
    return ["", *sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))]


def _error_classes(trees: Iterable[ast.Module]) -> dict[str, ast.ClassDef | None]:
    """Return the classes below FedtextError by name."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    kinds: dict[str, ast.ClassDef | None] = {BASE: None}
    while new := [one for one in classes if one.name not in kinds and kinds.keys() & {_name(b) for b in one.bases}]:
        kinds |= {one.name: one for one in new}
    return kinds


def _made_in(path: Path, tree: ast.Module, kinds: dict[str, ast.ClassDef | None]) -> Iterator[Made]:
    inside = path.relative_to(SOURCE)
    package = inside.parts[0] if len(inside.parts) > 1 else ""
    nodes = list(ast.walk(tree))
    here = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name in kinds]
    own = {node for kind in here for node in ast.walk(kind)}
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        given = next((one.value for one in node.keywords if one.arg == "code"), None)
        makes = _takes_code(_name(node.func), kinds) or (node in own and given is not None)
        if makes and not (node in own and isinstance(given, ast.Name)):  # a class hands on what it is given
            yield Made(package, f"{inside}:{node.lineno}", _code(given), " | ".join(map(_template, node.args)))


def _takes_code(name: str, kinds: dict[str, ast.ClassDef | None]) -> bool:
    """Return whether the errors of a class are given their code where they are made: some have one of their own."""
    if name not in kinds or (kind := kinds[name]) is None:
        return name in kinds
    own = next((one for one in kind.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if own is None:
        return any(_takes_code(_name(base), kinds) for base in kind.bases)
    return "code" in {one.arg for one in own.args.kwonlyargs}


def _code(given: ast.expr | None) -> str | None:
    """Return a literal code, or `{error.code}` for that of another error, whose sentence is told in other words."""
    if isinstance(given, ast.Attribute) and given.attr == "code":
        return f"{{{ast.unparse(given)}}}"
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _template(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_template(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    shown = ast.unparse(node)
    return "{...}" if len(shown) > LONGEST or "'" in shown or '"' in shown else f"{{{shown}}}"


if __name__ == "__main__":
    for package in packages():
        if listed(package):
            approved(package).write_text(listed(package), encoding="utf-8")
        else:
            approved(package).unlink(missing_ok=True)
