"""Code digests: what counts as the code that a result depends on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fedtext.resuming.source_digest import LARGEST, SourceTree, statements
from tests.refusals import refuses

MANY = '''"""Nodes."""
from . import d as figures
import lib_under_test.sub.c as trainer

WIDTH = 3
print('loading')


def helper(x):
    return trainer.thing + x  # a remark



def trains():
    return helper(2)


def draws(width: int = WIDTH):
    """Says what a figure is."""
    return figures, trains()


class Made(figures.Base):
    def method(self):
        return 1


def outer():
    def inner():
        return 1
    return inner
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "lib_under_test"
    files = {
        "__init__.py": "",
        "a.py": "from lib_under_test.sub import b\n",
        "sub/__init__.py": "",
        "sub/b.py": "def f():\n    from . import c\n    import lib_under_test.d\n",
        "sub/c.py": "from ..e import thing\n",
        "d.py": "",
        "e.py": "thing = 1\n",
        "unrelated.py": "import lib_under_test.a\n",
        "many.py": MANY,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return root


def test_a_module_depends_on_all_it_imports_and_nothing_else(package: Path) -> None:
    found = SourceTree("lib_under_test").closure(["lib_under_test.a.some_function"])
    short = {name.removeprefix("lib_under_test").lstrip(".") for name in found}
    assert short == {"", "a", "sub", "sub.b", "sub.c", "d", "e"}


@pytest.mark.parametrize(("changed", "same"), [("e.py", False), ("sub/__init__.py", False), ("unrelated.py", True)])
def test_the_digest_changes_with_what_is_imported(package: Path, changed: str, same: bool) -> None:
    statements.cache_clear()
    before = SourceTree("lib_under_test").digest(["lib_under_test.a"])
    (package / changed).write_text((package / changed).read_text() + "changed = 1\n")
    statements.cache_clear()
    assert (SourceTree("lib_under_test").digest(["lib_under_test.a"]) == before) is same


@pytest.mark.parametrize(("asked", "same"), [("sub.b", False), ("d", True)])
def test_a_package_counts_with_its_templates(package: Path, asked: str, same: bool) -> None:
    (package / "sub" / "page.html.j2").write_text("<p>{{ text }}</p>")
    before = SourceTree("lib_under_test").digest([f"lib_under_test.{asked}"])
    (package / "sub" / "page.html.j2").write_text("<b>{{ text }}</b>")
    assert (SourceTree("lib_under_test").digest([f"lib_under_test.{asked}"]) == before) is same


@pytest.mark.parametrize(
    ("file", "asked", "same"),
    [
        ("sub/prompt.txt", "sub.b", False),
        ("sub/prompt.txt", "d", True),
        ("sub/prompts/first/words.yml", "sub.b", False),
        ("table.csv", "d", False),
        ("sub/README.md", "sub.b", True),
        ("sub/py.typed", "sub.b", True),
        ("sub/__pycache__/b.pyc", "sub.b", True),
        ("sub/.notes", "sub.b", True),
        ("sub/model/tokenizer.json", "sub.b", True),
    ],
)
def test_a_module_counts_with_the_files_of_data_in_its_folder(package: Path, file: str, asked: str, same: bool) -> None:
    (package / "sub/model").mkdir()
    (package / "sub/model/model.safetensors").touch()
    before = SourceTree("lib_under_test").digest([f"lib_under_test.{asked}"])
    for text in ("one", "two"):
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).write_text(text)
        after = SourceTree("lib_under_test").digest([f"lib_under_test.{asked}"])
        assert (after == before) is same
        before = after


def test_a_file_of_data_beside_modules_is_read_up_to_a_mebibyte(package: Path) -> None:
    (package / "words.txt").write_bytes(b"x" * (LARGEST + 1))
    before = SourceTree("lib_under_test").digest(["lib_under_test.d"])
    (package / "words.txt").write_bytes(b"y" * (LARGEST + 1))
    assert SourceTree("lib_under_test").digest(["lib_under_test.d"]) == before


def modules(name: str) -> set[str]:
    found = SourceTree("lib_under_test").closure([f"lib_under_test.{name}"])
    return {name.removeprefix("lib_under_test").lstrip(".") for name in found} - {""}


@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ("many.trains", {"many", "sub", "sub.c", "e"}),
        ("many.draws", {"many", "d", "sub", "sub.c", "e"}),
        ("many.Made.method", {"many", "d"}),
        ("many.outer.<locals>.inner", {"many"}),
        ("many.gone", {"many", "d", "sub", "sub.c", "e"}),
        ("many", {"many", "d", "sub", "sub.c", "e"}),
    ],
)
def test_of_its_own_file_a_function_depends_on_what_it_names(package: Path, asked: str, reached: set[str]) -> None:
    assert modules(asked) == reached


def edited(package: Path, old: str, new: str) -> set[str]:
    """Names in `many` whose digest changes with an edit."""
    statements.cache_clear()
    names = ("trains", "draws", "Made", "outer")
    before = {name: SourceTree("lib_under_test").digest([f"lib_under_test.many.{name}"]) for name in names}
    (package / "many.py").write_text(MANY.replace(old, new))
    statements.cache_clear()
    after = {name: SourceTree("lib_under_test").digest([f"lib_under_test.many.{name}"]) for name in names}
    return {name for name in names if before[name] != after[name]}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("WIDTH = 3", "WIDTH = 4", {"draws"}),
        ("helper(2)", "helper(3)", {"trains", "draws"}),
        ("def helper(x)", "def helper(x, y=0)", {"trains", "draws"}),
        ("sub.c as trainer", "sub.b as trainer", {"trains", "draws"}),
        ("# a remark", "# another", set()),
        ("what a figure is", "what it is", set()),
        ("print('loading')", "print('loaded')", {"trains", "draws", "Made", "outer"}),
        ("WIDTH = 3", "WIDTH = 3\nhelper.calls = 1", {"trains", "draws", "Made", "outer"}),
    ],
)
def test_an_edit_counts_for_what_stands_on_it(package: Path, old: str, new: str, changed: set[str]) -> None:
    assert MANY.count(old) == 1
    assert edited(package, old, new) == changed


def test_a_package_must_be_importable() -> None:
    assert "no_such_package" not in sys.modules
    with refuses("unknown-package", value="no_such_package"):
        SourceTree("no_such_package")
