"""Two worlds that differ in one client's records, and what every client sends in each, from records to the door.

A world is a registered algorithm's own graph, real models and all, run in memory from `private_records`. The neighbour
sees the released transcript of the first world: what is public or released is taken over, what is private is made anew
from its own records. So the messages of all rounds can be compared, although noise makes rounds differ. A node that
releases several sums, each asked where the one before led, goes on from those of the first world, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kedro.framework.startup import bootstrap_project
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro.validation.type_extractor import TypeExtractor

from fedtext.datasets.models import ModelDirectoryDataset
from fedtext.federation import charged_release, mechanism, noisy_steps, secure_sum, token_release
from fedtext.federation.units import Block
from fedtext.privacy.tags import Tag
from fedtext.wiring.config import ProjectConfigLoader, active_parameters, loader_for
from fedtext.wiring.generators import PREFIX

ROOT = Path(__file__).parents[2]
MODELS = {"generator", "describer", "downstream", "chunk_tokenizer", "on_device", "encoder", "classifier"}
Messages = dict[str, Counter[bytes]]  # of each release, SHA-256 of what its units sent, as integers on the grid


class World:
    """A registered algorithm on some records.

    Args:
        algorithm: Its name in the registry.
        records: `client_id`, `text`, `label`, `date`.
        parameters: Laid over the environment, as `--params` would.
        env: The configuration's environment.
        of_evaluation: Whether the releases of the held-out evaluation are looked at, in place of the algorithm's.
    """

    def __init__(
        self,
        algorithm: str,
        records: pd.DataFrame,
        parameters: dict[str, Any],
        *,
        env: str | None = "tiny",
        of_evaluation: bool = False,
    ) -> None:
        self._nodes = _until_released(_registered(parameters, env)[algorithm], of_evaluation)
        self._source = next(name for name in _datasets(self._nodes) if _last_part(name) == "private_records")
        self._values = {self._source: _stored(records), **_models(self._nodes), **_parameters(self._nodes)}
        self.messages: Messages = {}
        self._left: dict[str, list[np.ndarray]] = {}  # of each release node of this world, its sums in order
        self._chosen: dict[tuple[str, ...], int] = {}  # the tokens that were drawn in this world, by their place
        self._folder = TemporaryDirectory()
        for node in self._nodes:
            self._values |= self._run(node, self._values)

    def beside(self, records: pd.DataFrame) -> Messages:
        """What the clients send in the world with these records, given all that the first one released."""
        private, seen = {self._source: _stored(records)}, dict(self._values)
        messages, self.messages = self.messages, {}
        for node in self._nodes:
            if not private.keys() & set(node.inputs):
                continue
            made = self._run(node, seen | private, again=True)
            private |= {name: value for name, value in made.items() if _is_private(name)}
        found, self.messages = self.messages, messages
        return found

    def value(self, name: str) -> Any:
        """A data set of the first world, in whatever namespace."""
        return next(value for full, value in self._values.items() if _last_part(full) == name)

    def _run(self, node: Node, values: dict[str, Any], *, again: bool = False) -> dict[str, Any]:
        left = leaving_as(self._left.setdefault(node.name, []), again=again)
        with left as gone, recorded(gone) as sent, drawing_as(self._chosen, again=again), all_said(sent[0]):
            made = node.run({name: values[name] for name in node.inputs})
        if Tag.RELEASE in node.tags:
            several = len(sent) > 1
            self.messages |= {f"{node.name}, sum {n}" if several else node.name: one for n, one in sent.items()}
        return {name: self._saved(name, value) for name, value in made.items()}

    def _saved(self, name: str, value: Any) -> Any:
        """A table goes through Parquet and a trained model through its directory, as in the catalog."""
        if isinstance(value, pd.DataFrame):
            return _stored(value)
        parts = value if isinstance(value, tuple) else (value,)
        if not all(hasattr(part, "save_pretrained") for part in parts):
            return value
        dataset = ModelDirectoryDataset(filepath=str(Path(self._folder.name) / name))
        dataset.save(value)
        return dataset.load()


@contextmanager
def recorded(left: Callable[[], int]) -> Iterator[dict[int, Counter[bytes]]]:
    """Counts the integer rows that pass the door inside, by their digests: rows of all clients would fill the memory.

    Each sum that a node releases has its own count; `left` says how many have left before.
    """
    sent: dict[int, Counter[bytes]] = {0: Counter()}
    rounded, in_stretches = mechanism.randomly_rounded, mechanism.rounded_stretches

    def note(messages: np.ndarray) -> None:
        rows = (sha256(row).digest() for row in messages if row.any())  # a row of zeros says nothing
        sent.setdefault(left(), Counter()).update(rows)

    def noted(x: np.ndarray, *rest: Any) -> np.ndarray:
        note(messages := rounded(x, *rest))
        return messages

    def noted_long(row: np.ndarray, *rest: Any) -> Iterator[Any]:
        stretches = [(places, integers.copy()) for places, integers in in_stretches(row, *rest)]
        note(np.concatenate([integers for _, integers in stretches])[None])
        return iter(stretches)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "randomly_rounded", noted)
        patch.setattr(mechanism, "rounded_stretches", noted_long)
        yield sent


@contextmanager
def leaving_as(sums: list[np.ndarray], *, again: bool) -> Iterator[Callable[[], int]]:
    """Notes the sums that leave the doors inside; `again`: those that were noted leave in their place.

    Gives how many have left so far.
    """
    waiting, leaving, gone = list(sums), mechanism.dequantise, [0]

    def noted(total: np.ndarray, step: float) -> np.ndarray:
        gone[0] += 1
        if again:
            return waiting.pop(0)
        sums.append(leaving(total, step))
        return sums[-1]

    with pytest.MonkeyPatch.context() as patch:
        for door in (secure_sum, noisy_steps):
            patch.setattr(door, "dequantise", noted)
        yield lambda: gone[0]


@contextmanager
def drawing_as(chosen: dict[tuple[str, ...], int], *, again: bool) -> Iterator[None]:
    """Notes the tokens that are drawn inside, by all of their stream but the scores; `again`: draws what was noted."""
    drawing = charged_release.exponential_choice

    def noted(*given: Any, stream: tuple[str, ...], **named: Any) -> int:
        if not again:
            chosen[stream[:-1]] = drawing(*given, stream=stream, **named)
        return chosen[stream[:-1]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charged_release, "exponential_choice", noted)
        yield


@contextmanager
def all_said(sent: Counter[bytes]) -> Iterator[None]:
    """Counts one digest for each unit of all that it says of tokens inside, which it is asked for one after another."""
    said: dict[int, Any] = {}
    adding = token_release._sum

    def noted(block: Block, candidates: Any, plan: Any, own: Any) -> np.ndarray:
        for unit, row in zip(block.unit.tolist(), token_release.on_grid(block.rows, plan.query.clip_norm), strict=True):
            said.setdefault(unit, sha256(str(unit).encode())).update(row.tobytes())
        return adding(block, candidates, plan, own)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_release, "_sum", noted)
        yield
    sent.update(one.digest() for one in said.values())


def moved(first: Messages, second: Messages) -> dict[str, tuple[int, int]]:
    """Of each release, how many messages are in the first world alone, and how many in the second alone."""
    names = {**first, **second}
    pairs = {name: (first.get(name, Counter()), second.get(name, Counter())) for name in names}
    return {name: ((one - other).total(), (other - one).total()) for name, (one, other) in pairs.items()}


def _stored(table: pd.DataFrame) -> pd.DataFrame:
    """The table as it is read from Parquet: what is not there has another shape than in one that was just made."""
    file = BytesIO()
    table.to_parquet(file)
    return pd.read_parquet(file)


def _registered(parameters: dict[str, Any], env: str | None) -> dict[str, Pipeline]:
    from fedtext.pipeline_registry import register_pipelines

    bootstrap_project(ROOT)
    loader_for(env, parameters)
    return register_pipelines()


def _until_released(job: Pipeline, of_evaluation: bool) -> list[Node]:
    """The nodes that some release depends on, from the records on, in order."""
    source = [node.name for node in job.nodes if any(_last_part(name) == "private_records" for name in node.outputs)]
    tagged = [node.name for node in job.nodes if Tag.RELEASE in node.tags]
    releases = [name for name in tagged if name.startswith("evaluation") is of_evaluation]
    return [node for node in job.to_nodes(*releases).nodes if node.name not in source]


def _models(nodes: list[Node]) -> dict[str, Any]:
    """Those that the nodes read: the catalog's own, and named generators."""
    assert ProjectConfigLoader.active is not None
    read = [name for name in _datasets(nodes) if name in MODELS or name.startswith(PREFIX)]
    config = ProjectConfigLoader.active["catalog"]
    catalog = DataCatalog.from_config({name: config[name] for name in (*MODELS, f"{PREFIX}{{name}}")})
    return {name: catalog.load(name) for name in read}


def _parameters(nodes: list[Node]) -> dict[str, Any]:
    """Values of the `params:` that the nodes read, as their types."""
    types = TypeExtractor({"job": Pipeline(nodes)}).extract_types_from_pipelines()
    found = {}
    for name in {name for node in nodes for name in node.inputs if name.startswith("params:")}:
        value: Any = active_parameters()
        for key in name.removeprefix("params:").split("."):
            value = value[key]
        model: Callable[[Any], Any] | None = getattr(types.get(name.removeprefix("params:")), "model_validate", None)
        found[name] = value if model is None else model(value)
    return found


def _datasets(nodes: list[Node]) -> list[str]:
    return sorted({name for node in nodes for name in node.inputs})


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _is_private(name: str) -> bool:
    return _last_part(name).startswith("private_")
