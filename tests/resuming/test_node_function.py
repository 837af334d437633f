"""What counts as a node's function: the functions behind it, wherever they are written, and the values they hold."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline, node

from fedtext.params import Parameters
from fedtext.resuming.decision import Resumption
from fedtext.resuming.node_function import bound, others, written_name
from fedtext.resuming.records import Store
from fedtext.resuming.source_digest import source_tree, statements


class Settings(Parameters):
    words: tuple[str, ...] = ("a",)
    kinds: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Step:
    size: int
    kinds: frozenset[str] = frozenset()


def made(values: Any) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return x, values

    return function


def by_default(values: Any) -> Callable[..., Any]:
    def function(x: Any, taken: Any = values) -> Any:
        return x, taken

    return function


def decorated(values: Any) -> Callable[..., Any]:
    @functools.wraps(made)
    def function(x: Any) -> Any:
        return x, values

    return function


@pytest.mark.parametrize("factory", [made, by_default, decorated, lambda held: functools.partial(made(held), 1)])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([1, 2], [3, 4]),
        ({"a": 1}, {"a": 2}),
        ({"a": [1]}, {"a": (1,)}),
        ({1, 2}, {1, 3}),
        (frozenset({"a"}), frozenset({"b"})),
        (Settings(), Settings(words=("b",))),
        (Settings(), Settings(kinds=frozenset({"b"}))),
        (Step(1), Step(2)),
        ([Step(1)], [Step(2)]),
        (np.arange(3), np.arange(4)),
        (None, "a"),
        (True, False),
        (("a", [1]), ("a", [2])),
        (len, max),
        (made, by_default),
        (functools.partial(made, 1), functools.partial(made, 2)),
    ],
)
def test_what_a_function_holds_counts(factory: Callable[..., Any], old: Any, new: Any) -> None:
    assert bound(factory(old)) == bound(factory(old))
    assert bound(factory(old)) != bound(factory(new))


def test_arguments_that_are_fixed_count() -> None:
    for old, new in ((made, by_default), ([{"a"}], [{"b"}]), (Settings(), Settings(words=()))):
        assert bound(functools.partial(print, old)) == bound(functools.partial(print, old))
        assert bound(functools.partial(print, old)) != bound(functools.partial(print, new))
        assert bound(functools.partial(print, end=old)) != bound(functools.partial(print, end=new))


def test_texts_of_plain_values_stay_what_finished_runs_recorded() -> None:
    assert bound(made("a")) == ["'a'"]
    assert bound(made(("a", 1))) == ["('a', 1)"]
    assert bound(functools.partial(print, 1, end="")) == ["(1,)", "{'end': ''}"]
    assert bound(test_arguments_that_are_fixed_count) == []


def test_texts_of_values_are_the_same_in_every_process() -> None:
    code = (
        "from tests.resuming.test_node_function import *\n"
        "held = {'a': {'x', 'y', 'z'}, 'b': made, 'c': object(), 'd': Settings(kinds=frozenset('xyz'))}\n"
        "print(bound(made(held)), bound(functools.partial(made(1), (held, Step(1, frozenset('xyz'))))))"
    )
    told = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(3)]
    assert len({*told}) == 1


def test_a_function_that_holds_itself_is_told_once() -> None:
    def outer(values: list[int]) -> Callable[..., Any]:
        def inner(x: int) -> Any:
            return inner(x - 1) if x else values

        return inner

    assert bound(outer([1])) != bound(outer([2]))
    assert next(written_name(one) for one in others(made(outer([1])))).endswith("outer.<locals>.inner")


FILES = {
    "__init__.py": "",
    "nodes.py": "def measure(x, helpers=()):\n    return x\n",
    "wrapping.py": """
import functools
def doubled(function):
    @functools.wraps(function)
    def twice(x):
        return 2 * function(x)
    return twice
def plainly(function):
    def once(x):
        return function(x)
    return once
""",
    "helping.py": "def helper(x):\n    return x + 1\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    root = tmp_path / "wrapped_under_test"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield root
    for name in [name for name in sys.modules if name.startswith("wrapped_under_test")]:
        del sys.modules[name]
    source_tree.cache_clear()
    statements.cache_clear()


def code_of(function: Callable[..., Any], root: Path) -> str:
    """The code part of a node's recipe."""
    source_tree.cache_clear()
    statements.cache_clear()
    made = node(function, "x", "y", name="made")
    catalog = DataCatalog.from_config({"{default}": {"type": "MemoryDataset"}})
    return Resumption(Pipeline([made]), catalog, Store(root.parent / "data"), root.name).parts(made)["code"]


@pytest.mark.parametrize(
    ("form", "edited", "counts"),
    [
        ("doubled", "wrapping", True),
        ("plainly", "wrapping", True),
        ("plainly", "nodes", True),
        ("doubled", "helping", False),
        ("helped", "helping", True),
        ("helped in a list", "helping", True),
    ],
)
def test_the_code_of_every_function_behind_a_node_counts(package: Path, form: str, edited: str, counts: bool) -> None:
    nodes, wrapping, helping = (
        importlib.import_module(f"wrapped_under_test.{name}") for name in ("nodes", "wrapping", "helping")
    )
    function = {
        "doubled": lambda: wrapping.doubled(nodes.measure),
        "plainly": lambda: functools.partial(wrapping.plainly(nodes.measure)),
        "helped": lambda: functools.partial(nodes.measure, helpers=helping.helper),
        "helped in a list": lambda: functools.partial(nodes.measure, helpers=[helping.helper]),
    }[form]()
    before = code_of(function, package)
    assert before == code_of(function, package)
    text = FILES[f"{edited}.py"].replace("return 2 * ", "return 3 * ").replace("return function(x)", "return 1")
    text = text.replace("return x", "return 9")
    assert text != FILES[f"{edited}.py"]
    (package / f"{edited}.py").write_text(text)
    assert (code_of(function, package) != before) == counts


def test_a_decorator_of_another_package_counts_by_its_file(package: Path, tmp_path: Path) -> None:
    (tmp_path / "other_decorator.py").write_text(FILES["wrapping.py"])
    nodes = importlib.import_module("wrapped_under_test.nodes")
    function = importlib.import_module("other_decorator").doubled(nodes.measure)
    before = code_of(function, package)
    (tmp_path / "other_decorator.py").write_text(FILES["wrapping.py"].replace("2 *", "3 *"))
    assert code_of(function, package) != before
    del sys.modules["other_decorator"]
