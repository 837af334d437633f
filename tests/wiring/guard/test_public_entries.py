"""What an entry that is not private may open while it is loaded, and what nodes may open of private entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kedro.io import AbstractDataset, DataCatalog
from kedro.pipeline import node

from fedtext.wiring.guard import Guard
from tests.refusals import refuses

TEXT = "what a client wrote"


class Named(AbstractDataset[None, str]):
    """A text that the entry names in a way of its own, which the flow check does not know."""

    def __init__(self, *, stem: str, filepath: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        self._stem, self.metadata = stem, metadata

    def load(self) -> str:
        return Path(f"{self._stem}.txt").read_text()

    def save(self, data: None) -> None:
        raise NotImplementedError

    def _describe(self) -> dict[str, Any]:
        return {}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with a private file and another, beside a private table and a file of a private entry."""
    root = tmp_path.resolve() / "data"
    root.mkdir()
    for file in (root / "private_train", root / "public", root.parent / "table", root.parent / "private_notes"):
        file.with_suffix(".txt").write_text(TEXT)
    return root


@pytest.fixture
def guard_and_catalog(root: Path) -> tuple[Guard, DataCatalog]:
    def entry(stem: Path, privacy: str, **more: str) -> dict[str, Any]:
        kind = f"{Named.__module__}.{Named.__qualname__}"
        return {"type": kind, "stem": str(stem), "metadata": {"fedtext": {"privacy": privacy}}, **more}

    notes = root.parent / "private_notes"
    catalog = DataCatalog.from_config(
        {
            "below": entry(root / "private_train", "public"),
            "table": entry(root.parent / "table", "released"),
            "beside": entry(notes, "public"),
            "other": entry(root / "public", "public"),
            "private_notes": entry(notes, "private", filepath=f"{notes}.txt"),
        }
    )
    return Guard(catalog, root, {"corpus": {"source": "table", "path": str(root.parent / "table.txt")}}), catalog


def test_an_entry_that_is_not_private_opens_no_private_file(guard_and_catalog: tuple[Guard, DataCatalog]) -> None:
    guard, catalog = guard_and_catalog
    with guard.datasets():
        for name in ("below", "table", "beside"):
            with refuses("private-file-in-public-entry", value=f"data set '{name}'"):
                catalog.load(name)
        assert [catalog.load(name) for name in ("other", "private_notes")] == [TEXT, TEXT]
    assert catalog.load("below") == TEXT, "the watch ends with the node"


def test_a_node_opens_a_private_entry_outside_of_the_data_root_only_as_its_input(
    guard_and_catalog: tuple[Guard, DataCatalog], root: Path
) -> None:
    """A partition is opened by the node that reads it."""

    def opens(given: Any) -> str:
        return (root.parent / "private_notes.txt").read_text()

    guard, _ = guard_and_catalog
    with refuses("private-file-by-path", value="node 'peek'"):
        guard.around(node(opens, "start", "shown", name="peek")).run({"start": 1})
    read = guard.around(node(opens, "private_notes", "shown", name="read")).run({"private_notes": 1})
    assert read == {"shown": TEXT}
