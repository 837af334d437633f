"""The size and the shape of the source, a row a tree (docs/experiments/source_size.md).

    git worktree add /tmp/before 45b9687
    python -m benchmarks.source_size /tmp/before .

A file counts if it has five lines or more. A package is a folder of modules. An arrow leads from a package to one that
it imports from, among those right below `fedtext`. A function's length is that of its whole definition.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SMALLEST = 5  # lines
HEAD = (
    "files",
    "lines",
    "median",
    "imports",
    "imported once",
    "packages",
    "arrows",
    "longest file",
    "p90 of functions",
)


def row(tree: Path) -> list[str]:
    """Return the figures of the tree whose source is below `tree`/src/fedtext."""
    root = tree / "src"
    paths = sorted((root / "fedtext").rglob("*.py"))
    modules = {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}
    lines = {path: path.read_text("utf-8").count("\n") for path in paths}
    counted = [path for path in paths if lines[path] >= SMALLEST]
    importers, arrows, in_imports, lengths = defaultdict(set), set(), 0, []
    for name, path in modules.items():
        parts = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        imports = [part for part in parts if isinstance(part, ast.Import | ast.ImportFrom)]
        in_imports += sum(length(part) for part in imports)
        lengths += [length(part) for part in parts if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)]
        for target in (target for part in imports for target in targets(part, modules)):
            importers[target].add(name)
            arrows |= {(name.split(".")[1], target.split(".")[1])} if name.count(".") and target.count(".") else set()
    total, longest = sum(lines.values()), max(counted, key=lambda path: lines[path])
    return [
        f"{len(counted)}",
        f"{total:,}",
        f"{statistics.median(lines[path] for path in counted):.0f}",
        f"{100 * in_imports / total:.1f}%",
        f"{sum(modules[name] in counted and len(importers[name]) == 1 for name in modules)}",
        f"{sum(path.name == '__init__.py' for path in paths)}",
        f"{len({(start, end) for start, end in arrows if start != end})}",
        f"{lines[longest]} lines",
        f"{statistics.quantiles(lengths, n=10)[-1]:.0f} lines",
    ]


def length(part: ast.stmt) -> int:
    """Return how many lines the statement has."""
    return (part.end_lineno or part.lineno) - part.lineno + 1


def targets(part: ast.Import | ast.ImportFrom, modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules of the package that a statement imports, or imports from."""
    if isinstance(part, ast.Import) or part.module is None or not part.module.startswith("fedtext"):
        return
    for alias in part.names:
        whole = f"{part.module}.{alias.name}"
        yield whole if whole in modules else part.module


if __name__ == "__main__":
    print("| " + " | ".join(("tree", *HEAD)) + " |\n|" + "---|" * (len(HEAD) + 1))
    for tree in map(Path, sys.argv[1:] or ["."]):
        print("| " + " | ".join((str(tree), *row(tree))) + " |")
