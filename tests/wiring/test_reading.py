"""Resuming by the fields that a node read: never too little is done again, and no more than the fields ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from kedro.framework.hooks.manager import _NullPluginManager
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node
from pydantic import BaseModel

from fedtext.datasets.files import JSONDataset, PydanticJSONDataset
from fedtext.params import Parameters
from fedtext.resuming.fingerprint import canonical, text_digest
from fedtext.resuming.records import Store
from fedtext.wiring.runner import ResumableRunner


class Steps(Parameters):
    kind: Literal["steps"] = "steps"
    n: int = 1


class Epochs(Parameters):
    kind: Literal["epochs"] = "epochs"
    n: int = 1


class Chosen(Parameters):
    flag: bool = True
    a: int = 0
    b: int = 0
    length: Steps | Epochs = Steps()
    path: str = ""


class Declared(BaseModel):
    chosen: Chosen


def branch(chosen: Chosen) -> dict[str, Any]:
    return {"value": chosen.a if chosen.flag else [chosen.b, chosen.length.n, type(chosen.length).__name__]}


def in_a_thread(chosen: Chosen) -> dict[str, Any]:
    return {"value": ThreadPoolExecutor(1).submit(lambda: chosen.a).result()}


def declare(chosen: Chosen) -> Declared:
    return Declared(chosen=chosen)


def content(chosen: Chosen) -> dict[str, Any]:
    return {"value": Path(chosen.path).read_text() if chosen.path else ""}


def middle(chosen: Chosen) -> int:
    return chosen.b


def last(middle: int, chosen: Chosen) -> dict[str, Any]:
    return {"value": [middle, chosen.a]}


def outcome(root: Path, made: Pipeline | Callable[..., Any], chosen: Chosen) -> tuple[list[str], str]:
    """What a run with `chosen` had to run, and the bytes it left."""
    pipeline = made if isinstance(made, Pipeline) else Pipeline([node(made, "params:chosen", "out", name="only")])
    path = str(root / "out.json")
    saved = (
        PydanticJSONDataset(filepath=path, model=f"{__name__}.Declared")
        if made is declare
        else JSONDataset(filepath=path)
    )
    catalog = DataCatalog({"params:chosen": MemoryDataset(chosen), "out": saved})
    messages: list[str] = []
    runner = ResumableRunner(data_root=str(root))
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(str(record.args[2])) if record.msg.startswith("Node ") else None  # type: ignore[method-assign, index]
    logger = logging.getLogger("fedtext.wiring.runner")
    logger.addHandler(handler)
    try:
        runner.run(pipeline, catalog, hook_manager=_NullPluginManager())
    finally:
        logger.removeHandler(handler)
    return messages, Path(path).read_text()


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="fedtext.wiring.runner")


@pytest.mark.parametrize(
    ("made", "changed", "again"),
    [
        (branch, {"b": 5}, []),
        (branch, {"length": Epochs()}, []),
        (branch, {"a": 5}, ["only"]),
        (branch, {"flag": False}, ["only"]),
        (in_a_thread, {"b": 5}, []),
        (in_a_thread, {"a": 5}, ["only"]),
        (declare, {"b": 5}, ["only"]),
        (declare, {"length": Epochs()}, ["only"]),
    ],
)
def test_a_node_runs_again_where_a_field_that_it_read_has_changed(
    tmp_path: Path, made: Callable[..., Any], changed: dict[str, Any], again: list[str]
) -> None:
    first, chosen = Chosen(), Chosen(**changed)
    assert outcome(tmp_path, made, first)[0] == ["only"]
    ran, left = outcome(tmp_path, made, chosen)
    assert ran == again
    assert left == outcome(tmp_path / "fresh", made, chosen)[1]
    assert outcome(tmp_path, made, chosen)[0] == []


def test_another_model_with_the_same_values_is_another_value(tmp_path: Path) -> None:
    outcome(tmp_path, branch, Chosen(flag=False))
    ran, left = outcome(tmp_path, branch, Chosen(flag=False, length=Epochs()))
    assert ran == ["only"]
    assert "Epochs" in left


BITS = st.integers(0, 1)
LENGTHS = st.sampled_from([Steps(), Epochs(), Epochs(n=2)])


@given(st.lists(st.builds(Chosen, flag=st.booleans(), a=BITS, b=BITS, length=LENGTHS)))
@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_changes_in_whatever_order_the_result_is_that_of_a_fresh_run(
    tmp_path_factory: pytest.TempPathFactory, sequence: list[Chosen]
) -> None:
    root = tmp_path_factory.mktemp("root")
    for chosen in sequence:
        _, left = outcome(root, branch, chosen)
        assert left == outcome(tmp_path_factory.mktemp("fresh"), branch, chosen)[1]


def test_what_a_maker_of_unsaved_data_read_counts_for_who_reads_them(tmp_path: Path) -> None:
    chain = Pipeline(
        [
            node(middle, "params:chosen", "middle", name="middle"),
            node(last, ["middle", "params:chosen"], "out", name="last"),
        ]
    )
    assert outcome(tmp_path, chain, Chosen())[0] == ["last"]
    assert outcome(tmp_path, chain, Chosen(flag=False))[0] == []
    assert outcome(tmp_path, chain, Chosen(b=1))[0] == ["last"]
    assert outcome(tmp_path, chain, Chosen(b=1, a=2))[0] == ["last"]
    assert "[\n    1,\n    2\n  ]" in outcome(tmp_path, chain, Chosen(b=1, a=2))[1]


def test_a_record_that_names_no_fields_counts_them_all(tmp_path: Path) -> None:
    outcome(tmp_path, branch, Chosen())
    store = Store(tmp_path)
    record = store.node("only")
    assert record is not None
    assert record.read == ("Chosen.a", "Chosen.flag")
    whole = record.parts | {"params:chosen": text_digest(canonical(Chosen()))}
    store.commit("only", record.model_copy(update={"read": None, "parts": whole}))
    assert outcome(tmp_path, branch, Chosen())[0] == []
    assert outcome(tmp_path, branch, Chosen(b=5))[0] == ["only"]


def test_a_file_that_a_read_field_names_counts_and_another_does_not(tmp_path: Path) -> None:
    named = tmp_path / "named.txt"
    named.write_text("one")
    chosen = Chosen(path=str(named))
    outcome(tmp_path / "content", content, chosen)
    outcome(tmp_path / "branch", branch, chosen)
    named.write_text("two")
    assert outcome(tmp_path / "content", content, chosen)[0] == ["only"]
    assert outcome(tmp_path / "branch", branch, chosen)[0] == []
