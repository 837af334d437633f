"""What the check is of: nodes, data sets by name, and what a name says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fedtext.privacy.tags import Tag

CLASSES = ("private", "released", "public")
ROLES = (Tag.RELEASE, Tag.HELD_OUT, Tag.REPORT, Tag.CONTROL, Tag.COUNT)  # a node has one at most
HELD_OUT_NAMES = ("private_test", "private_validation", "pairs.private_test", "pairs.private_validation")


@dataclass(frozen=True)
class GraphNode:
    """A node of the pipeline: its name, the data sets it reads and writes, its tags.

    `bound` says what its function carries beside its inputs that is more than a plain setting, in words.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tags: frozenset[str] = frozenset()
    bound: tuple[str, ...] = ()


@dataclass(frozen=True)
class Violation:
    """One thing that is not allowed. `node` is empty where the catalog alone is at fault."""

    rule: str
    node: str
    dataset: str
    message: str

    def __str__(self) -> str:
        return self.message


def reached(start: dict[str, str], nodes: Sequence[GraphNode], through: Callable[[GraphNode], bool]) -> dict[str, str]:
    """Data sets made of those in `start` by nodes that are `through`, each with the value of what it was made of."""
    readers: dict[str, list[GraphNode]] = {}
    for node in filter(through, nodes):
        for name in node.inputs:
            readers.setdefault(bare(name), []).append(node)
    found, waiting = dict(start), list(start)
    while waiting:
        name = waiting.pop()
        new = {bare(made) for node in readers.get(name, ()) for made in node.outputs} - found.keys()
        found |= dict.fromkeys(new, found[name])
        waiting += new
    return found


def stated(name: str, classes: Mapping[str, str]) -> str | None:
    """The class that a data set has; parameters are public, names that start with `private_` private by themselves."""
    if name == "parameters" or name.startswith("params:"):
        return "public"
    by_name = "private" if last_part(name).startswith("private_") else None
    return classes.get(name, classes.get(bare(name), by_name))


def is_private(name: str, classes: Mapping[str, str]) -> bool:
    """Whether a data set is private by its class or, whatever its class, by its name."""
    return stated(name, classes) == "private" or last_part(name).startswith("private_")


def is_ledger(name: str) -> bool:
    """Whether the name is a ledger's."""
    return last_part(name).startswith("ledger") or last_part(name).endswith("_ledger")


def bare(name: str) -> str:
    """Without Kedro's transcoding suffix: `table@pandas` and `table@polars` are one data set."""
    return name.partition("@")[0]


def namespace(name: str) -> str:
    """All before the last point; empty where there is none."""
    return bare(name).rpartition(".")[0]


def last_part(name: str) -> str:
    """Without namespace and transcoding."""
    return bare(name).rpartition(".")[2]
