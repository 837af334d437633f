"""What counts as reading a field, and what as reading all of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel, TypeAdapter

from fedtext.params import Parameters
from fedtext.params.reading import watched


class Inner(Parameters):
    a: int = 1
    b: int = 2


class Outer(Parameters):
    x: int = 1
    y: str = "y"
    inner: Inner = Inner()
    many: tuple[Inner, ...] = (Inner(),)

    @property
    def twice(self) -> int:
        return 2 * self.x

    def longer(self) -> str:
        return self.y * self.inner.a


class Ledger(BaseModel):
    declaration: Outer


def read_by(work: Callable[[Outer], object]) -> set[str]:
    read, outer = set[str](), Outer()
    with watched(read):
        work(outer)
    _ = outer.y, outer.inner.b  # after it
    return read


@pytest.mark.parametrize(
    ("work", "read"),
    [
        (lambda o: None, set()),
        (lambda o: o.x, {"Outer.x"}),
        (lambda o: o.twice, {"Outer.x"}),
        (lambda o: o.longer(), {"Outer.y", "Outer.inner", "Inner.a"}),
        (lambda o: o.x + o.inner.b, {"Outer.x", "Outer.inner", "Inner.b"}),
        (lambda o: o.many[0].a, {"Outer.many", "Inner.a"}),
        (lambda o: isinstance(o, Inner | int), set()),
        (lambda o: Ledger(declaration=o), set()),
        (lambda o: ThreadPoolExecutor(1).submit(lambda: o.x).result(), {"Outer.x"}),
    ],
)
def test_fields_are_entered_by_their_models_names(work: Callable[[Outer], object], read: set[str]) -> None:
    assert read_by(work) == read


@pytest.mark.parametrize(
    "work",
    [
        lambda o: o == Outer(),
        hash,
        dict,
        list,
        vars,
        repr,
        str,
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda o: o.model_dump(),
        lambda o: o.model_dump_json(),
        lambda o: o.model_copy(update={"x": 2}),
        lambda o: TypeAdapter(dict[str, Outer]).dump_python({"k": o}),
        lambda o: Ledger(declaration=o).model_dump(),
        lambda o: Ledger(declaration=o).model_dump_json(),
        lambda o: Ledger(declaration=o) == Ledger(declaration=Outer()),
        lambda o: pickle.dumps(Ledger(declaration=o)),
    ],
)
def test_what_takes_a_model_whole_reads_all_of_it(work: Callable[[Outer], object]) -> None:
    assert "Outer.*" in read_by(work)


def test_a_watch_within_a_watch_hides_nothing() -> None:
    first, second, outer = set[str](), set[str](), Outer()
    with watched(first):
        with watched(second):
            _ = outer.x
        _ = outer.y
    assert second == {"Outer.x"}
    assert first == {"Outer.x", "Outer.y"}


def test_a_misspelt_field_is_still_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'z'"):
        read_by(lambda o: o.z)  # type: ignore[attr-defined]
