"""A run as a few stages in a row: texts and clients, the algorithm round by round, evaluation, report.

A node's stage is its namespace's, or a later one if it needs what a later one makes. So the nodes can be run stage by
stage, and the console has a line for each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from fedtext.privacy.tags import Tag
from fedtext.system.duration import duration

ROUND = re.compile(r"round_(\d+)")
FIRST, ALGORITHM = 0, 1
JUDGING = {"evaluation": 2, "report": 3}
TITLES = {FIRST: "texts and clients", **{part: name for name, part in JUDGING.items()}}
WORTH_SAYING = 5.0  # seconds that are left


class Stage(NamedTuple):
    """A stage of a run; stages run in this order. `round` is 0 before the first round and infinite after the last."""

    part: int
    round: float = 0


AFTERWARDS = Stage(ALGORITHM, math.inf)


def stages(pipeline: Pipeline) -> dict[str, Stage]:
    """Return the stage of every node, by its name.

    Nodes that check a run, and all that these need, belong to the first.
    """
    refusing = {node.name for tag in (Tag.BUDGET, Tag.CHECK) for node in with_dependencies(pipeline, tag)}
    makers = {output: node.name for node in pipeline.nodes for output in node.outputs}
    found: dict[str, Stage] = {}
    for node in pipeline.nodes:
        own = Stage(FIRST) if node.name in refusing else _own(node)
        needs = [makers[name] for name in node.inputs if name in makers]
        if own.part == ALGORITHM and any(_follows(node, found[name], name) for name in needs):
            own = AFTERWARDS
        found[node.name] = max([own, *(found[name] for name in needs)])
    return found


def _follows(node: Node, stage: Stage, need: str) -> bool:
    """Return whether the node reads what another algorithm's rounds have made."""
    return stage.part == ALGORITHM and stage.round > 0 and need.partition(".")[0] != _algorithm(node)


def with_dependencies(pipeline: Pipeline, tag: Tag) -> set[Node]:
    """Return the nodes with the tag, and all that they depend on."""
    tagged = [node.name for node in pipeline.nodes if tag in node.tags]
    return set(pipeline.to_nodes(*tagged).nodes) if tagged else set()


def in_order(pipeline: Pipeline) -> list[Node]:
    """Return the pipeline's nodes stage by stage, except that checks precede long work.

    What nodes tagged `budget` need comes first, before private data are read; then what those tagged `check` need,
    which find out whether the data can be used at all.
    """
    stage, first, second = (
        stages(pipeline),
        with_dependencies(pipeline, Tag.BUDGET),
        with_dependencies(pipeline, Tag.CHECK),
    )
    return sorted(pipeline.nodes, key=lambda node: (node not in first, node not in second, stage[node.name]))


def _own(node: Node) -> Stage:
    head, *inner = (node.namespace or "").split(".")
    if not head or head in JUDGING:
        return Stage(JUDGING.get(head, FIRST))
    number = ROUND.fullmatch(inner[0]) if inner else None
    return Stage(ALGORITHM, int(number[1]) if number else math.inf if inner else 0)


@dataclass
class Clock:
    """The stage lines of a run on the console, and the recorded times of its nodes.

    Attributes:
        nodes: All nodes of the run, in order.
        stage: Their stages, by name.
        earlier: Seconds of nodes that ran here in earlier runs, by name.
    """

    nodes: Sequence[Node]
    stage: Mapping[str, Stage]
    earlier: Mapping[str, float]
    _announced: set[Stage | str] = field(default_factory=set)
    _ran: dict[str, float] = field(default_factory=dict)

    def begin(self, node: Node) -> str | None:
        """Return the line that announces the node's stage, if the node is the first of it that runs.

        A run without an algorithm, an evaluation or a report has one stage alone: there every node is announced.
        """
        stage = self.stage[node.name]
        step = stage if self._has_stages else node.name
        if step in self._announced:
            return None
        self._announced.add(step)
        title = self._title(stage) if self._has_stages else _words(node)
        position = self.nodes.index(node)
        count = f"{position + 1:{len(str(len(self.nodes)))}}/{len(self.nodes)}"
        return f"[{count}] {title}{self._left(position)}"

    def end(self, node: Node, seconds: float) -> None:
        """Note how long the node took: the same node of a later round will take as long."""
        self._ran[node.name] = seconds

    @property
    def _has_stages(self) -> bool:
        return any(stage.part != FIRST for stage in self.stage.values())

    def _title(self, stage: Stage) -> str:
        if stage.part != ALGORITHM:
            return TITLES[stage.part]
        own = [node for node in self.nodes if self.stage[node.name].part == ALGORITHM]
        here = [node for node in own if self.stage[node.name] == stage and node.namespace]
        names = ", ".join(dict.fromkeys(_algorithm(node) for node in here))
        last = max((each.round for each in self.stage.values() if each.round < math.inf), default=0)
        if not last:
            return names
        when = "final texts" if stage.round == math.inf else f"round {stage.round:g} of {last:g}"
        return f"{names}: {when if stage.round else 'start'}"

    def _left(self, position: int) -> str:
        """Return the estimated time of the nodes from `position` on, as far as it is known."""
        nodes = list(self._to_run(self.nodes[position:]))
        likes = {_kind(name): seconds for name, seconds in {**self.earlier, **self._ran}.items()}
        known = [likes[_kind(node.name)] for node in nodes if _kind(node.name) in likes]
        if (seconds := sum(known)) < WORTH_SAYING:
            return ""
        return f", {'about' if len(known) == len(nodes) else 'more than'} {duration(seconds)} left"

    def _to_run(self, nodes: Iterable[Node]) -> Iterable[Node]:
        """Yield the nodes without a result, and those that read what runs before them."""
        made: set[str] = {name for node in self.nodes if node.name in self._ran for name in node.outputs}
        for number, node in enumerate(nodes):
            if number == 0 or node.name not in self.earlier or _any_in(node.inputs, made):
                made |= set(node.outputs)
                yield node


def _algorithm(node: Node) -> str:
    return (node.namespace or "").partition(".")[0]


def _words(node: Node) -> str:
    """Return what the node does in words, by its name."""
    return node.name.rpartition(".")[2].replace("_", " ")


def _kind(name: str) -> str:
    """Return the name that a node shares with the same node of other rounds."""
    return ROUND.sub("round", name).replace(".closing.", ".round.")


def _any_in(names: Iterable[str], made: Collection[str]) -> bool:
    return any(name in made for name in names)
