"""Print the tests of what changed since the main branch, and of the modules that import it directly.

`make touched` runs them: the inner loop between `make check` and `make test`. A module's tests are the file of its name
below tests/, or its package's folder if there is none. Changed configuration is tested by tests/contracts.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import grimp

ROOT = Path(__file__).parents[1]
PACKAGE, SOURCE = "fedtext", PurePosixPath("src")
CONTRACTS = {
    "conf": "tests/contracts",
    "docs": "tests/contracts/test_docs.py",
    "README.md": "tests/contracts/test_docs.py",
}


def changed_files(since: str) -> list[str]:
    """Return the files that differ from where the branch left `since`, committed or not, new ones included."""
    base = _git("merge-base", "HEAD", since) or ["HEAD"]
    return sorted({*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")})


def touched_by(files: Iterable[str], importers: grimp.ImportGraph, root: Path) -> list[str]:
    """Return the test files and folders for changed `files`, those of the files themselves first."""
    modules = [module for file in files if (module := module_of(file)) in importers.modules]
    own = [file for file in files if PurePosixPath(file).name.startswith("test_") and (root / file).exists()]
    near = [test for module in modules for test in _tests(module, root)]
    above = sorted({one for module in modules for one in importers.find_modules_that_directly_import(module)})
    far = [test for module in above for test in _tests(module, root)]
    config = [CONTRACTS[first] for file in files if (first := PurePosixPath(file).parts[0]) in CONTRACTS]
    return _without_inner(dict.fromkeys([*own, *near, *far, *config]))


def module_of(file: str) -> str:
    """Return the dotted name of a source file; empty for any other file."""
    path = PurePosixPath(file)
    if path.suffix != ".py" or not path.is_relative_to(SOURCE):
        return ""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _tests(module: str, root: Path) -> Iterator[str]:
    """Yield the module's test files, which may have a subject of their own in their name, else its package's folder."""
    *packages, name = module.split(".")[1:] or ["__init__"]
    folder = PurePosixPath("tests", *packages)
    files = sorted(file.name for file in (root / folder).glob(f"test_{name}*.py"))
    own = [file for file in files if file == f"test_{name}.py" or file.startswith(f"test_{name}_")]
    if own:
        yield from (str(folder / file) for file in own)
    elif (root / folder / name).exists():
        yield str(folder / name)
    elif (root / folder).exists() and folder != PurePosixPath("tests"):
        yield str(folder)


def _without_inner(paths: Iterable[str]) -> list[str]:
    """Leave out files whose folder is listed too."""
    known = list(paths)
    folders = {PurePosixPath(one) for one in known}
    return [one for one in known if not folders & set(PurePosixPath(one).parents)]


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


if __name__ == "__main__":
    branch = next((one for one in ("origin/main", "main") if _git("rev-parse", one)), "HEAD")
    print(" ".join(touched_by(changed_files(branch), grimp.build_graph(PACKAGE), ROOT)) or "tests/contracts")
