"""Metrics: the numbers of a data set that its catalog entry names, as `fedtext: {metrics: {NAME: PATH}}`.

PATH leads to a number by keys. `*` is any key, and stands for it in NAME. A list on the way, or a table's column, is a
curve with steps 1, 2, ... What belongs to one stage of an algorithm (`popri.round_01.state`) is one number, the mean,
at that round's step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd
from kedro.io.catalog_config_resolver import CatalogConfigResolver
from pydantic import BaseModel

from fedtext.wiring.guard.catalog import entry

STAGE = re.compile(r"[^.]+\.(?P<stage>[^.]+)\.[^.]+")
ROUND = re.compile(r"round_(?P<round>\d+)")
NOT_MLFLOWS = re.compile(r"[^\w.\-/ ]")  # what the name of a metric or a parameter cannot hold

Wanted = Mapping[str, str]


class Point(NamedTuple):
    """One number; step 0 where it belongs to no round."""

    name: str
    value: float
    step: int


def declared(names: Iterable[str], resolver: CatalogConfigResolver) -> dict[str, Wanted]:
    """What the entries of data sets ask for; a metric that two algorithms of a run have bears the algorithm's name."""
    asked = {name: said for name in names if (said := _said(entry(name, resolver)))}
    owners: dict[str, set[str]] = {}
    for name, wanted in asked.items():
        for metric in wanted:
            owners.setdefault(metric, set()).add(_owner(name, resolver))
    return {
        name: {m if len(owners[m]) == 1 else f"{_owner(name, resolver)}/{m}": path for m, path in wanted.items()}
        for name, wanted in asked.items()
    }


def points(name: str, data: Any, wanted: Wanted) -> list[Point]:
    """The wanted numbers of the data set `name`; what is missing, is no number or is not finite has none."""
    plain = _plain(data)
    found = [
        Point(_filled(metric, keys), value, step)
        for metric, path in wanted.items()
        for keys, value, step in _follow(plain, path.split("."))
    ]
    if (stage := STAGE.fullmatch(name)) is None:
        return found
    number = ROUND.fullmatch(stage["stage"])
    at = int(number["round"]) if number else int(plain.get("round", 0))
    return [
        Point(metric, fmean(point.value for point in found if point.name == metric), at)
        for metric in dict.fromkeys(point.name for point in found)
    ]


def _said(config: Mapping[str, Any]) -> Wanted | None:
    return ((config.get("metadata") or {}).get("fedtext") or {}).get("metrics")


def _owner(name: str, resolver: CatalogConfigResolver) -> str:
    """`popri` of `popri.round_01.state` and of what `{algorithm}_scorecard` resolves to; else the name itself."""
    if "." in name:
        return name.partition(".")[0]
    pattern = resolver.match_dataset_pattern(name) or ""
    return name.removesuffix(pattern.rpartition("}")[2]) if "}" in pattern else name


def _plain(data: Any) -> Any:
    if isinstance(data, BaseModel):
        return data.model_dump(mode="json")
    return data.to_dict("list") if isinstance(data, pd.DataFrame) else data


def _follow(
    value: Any, path: list[str], keys: tuple[str, ...] = (), step: int = 0
) -> Iterator[tuple[tuple[str, ...], float, int]]:
    if isinstance(value, list | tuple):
        for position, inner in enumerate(value, start=1):
            yield from _follow(inner, path, keys, position)
    elif not path:
        if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
            yield keys, float(value), step
    elif isinstance(value, Mapping):
        head, *rest = path
        for key in value if head == "*" else value.keys() & {head}:
            yield from _follow(value[key], rest, (*keys, str(key)) if head == "*" else keys, step)


def _filled(metric: str, keys: tuple[str, ...]) -> str:
    for key in keys:
        metric = metric.replace("*", key, 1)
    return NOT_MLFLOWS.sub("_", metric)
