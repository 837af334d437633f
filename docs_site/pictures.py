"""A picture of each algorithm, drawn from its registered graph: `python -m docs_site.pictures` writes docs/images.

A box is a node of the graph. What is repeated in every round is drawn once, in grey. A line that another way implies is
left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import NamedTuple

from kedro.framework.startup import bootstrap_project
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "images" / "algorithms"
ROUND = re.compile(r"\bround_\d+\b")
WIDTH, HEIGHT, GAP, ROW, MARGIN = 190, 30, 16, 58, 24
KINDS = {"release": "#e07a1f", "private": "#b3261e", "public": "#00796b"}  # read on light and on dark pages


class Box(NamedTuple):
    """A node, or the same node of all rounds."""

    label: str
    kind: str
    in_round: bool


def boxes(graph: Pipeline) -> tuple[dict[str, Box], set[tuple[str, str]]]:
    """Return the boxes of a graph by name, and its edges; what leads from one round to the next is left out."""
    made_by = {output: node for node in graph.nodes for output in node.outputs}
    found = {_once(node.name): _box(node) for node in graph.nodes}
    edges = {
        (_once(maker.name), _once(node.name))
        for node in graph.nodes
        for maker in (made_by[name] for name in node.inputs if name in made_by)
        if not _next_round(maker, node)
    }
    return found, _without_implied({edge for edge in edges if edge[0] != edge[1]})


def _without_implied(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the edges but for those whose ends are joined by a longer way too."""
    below: dict[str, set[str]] = {a: {b for one, b in edges if one == a} for a, _ in edges}

    def reached(name: str) -> set[str]:
        seen: set[str] = set()
        left = [*below.get(name, ())]
        while left:
            if (one := left.pop()) not in seen:
                seen.add(one)
                left += below.get(one, ())
        return seen

    far = {name: reached(name) for name in {b for _, b in edges}}
    return {(a, b) for a, b in edges if not any(b in far[other] for other in below[a] - {b})}


def _once(name: str) -> str:
    return ROUND.sub("round", name)


def _box(node: Node) -> Box:
    private = any(name.rpartition(".")[2].startswith("private_") for name in (*node.inputs, *node.outputs))
    kind = "release" if "release" in node.tags else "private" if private else "public"
    return Box(node.name.rpartition(".")[2].replace("_", " "), kind, bool(ROUND.search(node.name)))


def _next_round(maker: Node, node: Node) -> bool:
    numbers = [ROUND.findall(one.name) for one in (maker, node)]
    return all(numbers) and numbers[0] != numbers[1]


def ranks(names: Iterable[str], edges: set[tuple[str, str]]) -> dict[str, int]:
    """Return each box's row: one below the lowest that it needs."""
    rows = dict.fromkeys(names, 0)
    for _ in rows:
        lower = {name: max([rows[a] + 1 for a, b in edges if b == name], default=0) for name in rows}
        if lower == rows:
            return rows
        rows = lower
    raise ValueError("the rounds of this graph lead back to themselves: leave out what goes from round to round")


def columns(rows: Mapping[str, int], edges: set[tuple[str, str]]) -> dict[str, float]:
    """Return each box's place in its row, near those that it is joined to."""
    place: dict[str, float] = {}
    for row in range(max(rows.values()) + 1):
        here = sorted(name for name in rows if rows[name] == row)
        wish = {
            name: (sum(near) / len(near) if (near := [place[a] for a, b in edges if b == name]) else 0.0)
            for name in here
        }
        for position, name in enumerate(sorted(here, key=lambda name: (wish[name], name))):
            place[name] = position - (len(here) - 1) / 2
    return place


def drawn(title: str, graph: Pipeline) -> str:
    """Return the picture as SVG."""
    found, edges = boxes(graph)
    rows = ranks(found, edges)
    place = columns(rows, edges)
    widest = max(abs(one) for one in place.values()) * 2 + 1
    width = int(widest * (WIDTH + GAP) + 2 * MARGIN)
    height = (max(rows.values()) + 1) * ROW + 2 * MARGIN
    at = {
        name: (int(width / 2 + place[name] * (WIDTH + GAP)), MARGIN + rows[name] * ROW + HEIGHT // 2) for name in found
    }
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
            f'font-family="sans-serif" font-size="13"><title>{escape(title)}</title>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *(_line(at[a], at[b]) for a, b in sorted(edges)),
            *(_drawn_box(found[name], *at[name]) for name in sorted(found)),
            "</svg>\n",
        ]
    )


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x, y), (to_x, to_y) = start, end
    y, to_y = y + HEIGHT // 2, to_y - HEIGHT // 2
    half = (y + to_y) // 2
    return f'<path d="M{x},{y} C{x},{half} {to_x},{half} {to_x},{to_y}" fill="none" stroke="#9e9e9e"/>'


def _drawn_box(box: Box, x: int, y: int) -> str:
    colour, fill = KINDS[box.kind], "#e3e3e3" if box.in_round else "#ffffff"
    return (
        f'<rect x="{x - WIDTH // 2}" y="{y - HEIGHT // 2}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" '
        f'stroke="{colour}" stroke-width="{3 if box.kind == "release" else 1.5}"/>'
        f'<text x="{x}" y="{y + 4}" text-anchor="middle" fill="#212121">{escape(box.label[:28])}</text>'
    )


def pictures() -> dict[str, str]:
    """Return the picture of every registered algorithm by its name, with the values of conf/base."""
    from fedtext.pipeline_registry import algorithms, whole
    from fedtext.wiring.config import loader_for
    from fedtext.wiring.pipeline_settings import Settings

    known, settings = algorithms(), Settings(loader_for("base", {}))
    return {name: drawn(one.title, whole(one, known, settings)) for name, one in known.items()}


def main() -> None:
    """Write all pictures."""
    bootstrap_project(ROOT)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
