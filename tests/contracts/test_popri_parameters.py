"""docs/papers/popri_parameters.md has every parameter of POPri, with the values of conf/base and of conf/paper."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from fedtext.params.popri import Popri
from fedtext.wiring.conf_files import read, value_at, with_defaults

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "popri_parameters.md"
ROW = re.compile(
    r"^\| `(?P<name>popri\.[a-z_.]+)` \| (?P<does>[^|]+) \| (?P<default>[^|]+) \| (?P<paper>[^|]+) \|$", re.M
)
FIRST_CODE = re.compile(r"`(?P<value>[^`]+)`")
KEPT = "–"  # the environment `paper` keeps the default


def fields(kind: type[BaseModel], group: str) -> Iterator[str]:
    """The full names of a model's fields; of one that is a model itself, its fields' names."""
    for name, field in kind.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from fields(inner, f"{group}.{name}")
        else:
            yield f"{group}.{name}"


def as_conf_has_them(env: str) -> dict[str, Any]:
    """POPri's parameters of an environment as they are written, with the blocks that they start from."""
    folder = ROOT / "conf" / env / "parameters"
    files = [file for name in ("defaults.yml", "popri.yml") if (file := folder / name).exists()]
    groups: dict[str, Any] = {}
    for file in files:
        groups |= read(file.read_text("utf-8"))
    return with_defaults(groups)


def unlike(cell: str, value: Any) -> bool:
    """Whether a cell says another value than a file; what a file takes from elsewhere is said in words."""
    if isinstance(value, str) and "${" in value:
        return not cell.strip()
    said = FIRST_CODE.search(cell)
    return said is None or read(f"value: {said['value']}")["value"] != value


def leaves(values: Mapping[str, Any], group: str) -> Iterator[str]:
    for name, value in values.items():
        whole = f"{group}.{name}"
        yield from leaves(value, whole) if isinstance(value, Mapping) else (whole,)


def rows() -> dict[str, re.Match[str]]:
    return {row["name"]: row for row in ROW.finditer(PAGE.read_text("utf-8"))}


def test_the_page_has_every_parameter_once() -> None:
    named = [row["name"] for row in ROW.finditer(PAGE.read_text("utf-8"))]
    assert sorted(named) == sorted(fields(Popri, "popri"))
    assert len(named) > 40


def test_the_defaults_are_those_of_conf_base() -> None:
    conf = as_conf_has_them("base")
    assert {name for name, row in rows().items() if unlike(row["default"], value_at(conf, name))} == set()


def test_the_paper_s_values_are_those_of_conf_paper() -> None:
    conf = as_conf_has_them("paper")
    told = {*leaves(conf["popri"], "popri")}
    assert {name for name in told if unlike(rows()[name]["paper"], value_at(conf, name))} == set()
    assert {name for name, row in rows().items() if (row["paper"] == KEPT) == (name in told)} == set()


@pytest.mark.parametrize(
    ("cell", "value", "is_unlike"),
    [
        ("`24`", 24, False),
        ("`24`", 25, True),
        ("`3.0e-4`", 0.0003, False),
        ("`null`", None, False),
        ("24", 24, True),
        ("as long as a sample", "${sample_tokens:4}", False),
        ("`1.0` *", 1.0, False),
    ],
)
def test_a_wrong_value_is_seen(cell: str, value: Any, is_unlike: bool) -> None:
    assert unlike(cell, value) == is_unlike
