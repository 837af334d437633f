"""The guard of a run's nodes: what each may open while it runs, and what it may output.

The graph has been checked before (fedtext.privacy.flow); this finds what only shows while a node runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from kedro.io import DataCatalog
from kedro.pipeline.node import Node

from fedtext.params import reading
from fedtext.params.task import OfClasses, parts_of
from fedtext.privacy.flow.check import is_private
from fedtext.privacy.ledger import Release
from fedtext.privacy.tags import Tag
from fedtext.system.atomic import temporary_paths
from fedtext.system.engine import computing_on
from fedtext.system.engine import current as current_engine
from fedtext.system.finished_pieces import keeping_pieces
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard import output_checks
from fedtext.wiring.guard.catalog import dataset_classes, entry, is_parameter, place
from fedtext.wiring.guard.left_behind import FolderSnapshot
from fedtext.wiring.guard.parameters import holders, private_files
from fedtext.wiring.guard.private_words import PrivateTextIndex
from fedtext.wiring.guard.release import release_faults
from fedtext.wiring.guard.side_effects import judged, replaced, saving, watched
from fedtext.wiring.guard.streams import hidden_prints
from fedtext.wiring.guard.watch import Watch
from fedtext.wiring.guard.workers import watched_engine


class Guard:
    """Guards the nodes of one run.

    Args:
        catalog: The catalog, which declares what is private.
        data_root: The folder below which the run reads and writes.
        parameters: All parameters of the run: some name private files.
        passed: Returns the releases since a node began; None if releases are not counted.
        temporary: The run's own folder for temporary files, if it has one.
    """

    def __init__(
        self,
        catalog: DataCatalog,
        data_root: Path,
        parameters: Mapping[str, Any],
        passed: Callable[[], Sequence[Release]] | None = None,
        temporary: Path | None = None,
    ) -> None:
        self._catalog, self._data_root, self._passed = catalog, data_root.resolve(), passed
        self._files = private_files(parameters)
        entries = self._places(self._private(catalog.config_resolver.config))
        outside = {path for path in entries if not path.is_relative_to(self._data_root)}
        self._private_files = frozenset(outside.union(self._files.values()))
        self._temporary = temporary and temporary.resolve()
        self._surroundings = FolderSnapshot(self._data_root, Path.cwd(), self._temporary)

    def around(self, node: Node) -> Node:
        """Return `node`, guarded: its function raises RunRefusedError for a fault, before any output is saved."""

        @functools.wraps(node.func)
        def function(*args: Any, **kwargs: Any) -> Any:
            inputs = _by_dataset(node._inputs, args, kwargs)
            read = set[str]()
            with reading.without_recording():
                watch = self._watch(node, inputs)
            with ExitStack() as stack:
                stack.enter_context(computing_on(watched_engine(current_engine(), watch)))
                if watch.reads_private:
                    stack.enter_context(keeping_pieces(None))  # it may write no file
                stack.enter_context(watched(watch, self._surroundings))
                stack.enter_context(reading.watched(read))
                made = node.func(*args, **kwargs)
            outputs = _by_dataset(node._outputs, made if isinstance(node._outputs, list) else (made,), made)
            with reading.without_recording():
                fault = next(self._faults(node, inputs, outputs, read), None)
            if fault is not None:
                raise RunRefusedError(f"node '{node.name}' {fault}", code=fault.code, value=node.name)
            return made

        return node._copy(func=function)

    @contextmanager
    def datasets(self) -> Iterator[None]:
        """Keep private data sets to their own path, and hide what they print, while they load and save.

        Others may open no private file while they load: a catalog entry names files in ways of its class's own, which
        the flow check cannot know.
        """
        load, save, one_by_one = self._catalog.load, self._catalog.save, Lock()

        def loaded(name: str, *args: Any, **kwargs: Any) -> Any:
            if is_parameter(name):
                return load(name, *args, **kwargs)
            private = bool(self._private([name]))
            with one_by_one, hidden_prints(lambda: ignored) if private else judged(self._loading(name)):
                return load(name, *args, **kwargs)

        def saved(name: str, data: Any) -> None:
            with ExitStack() as stack:
                if self._private([name]):
                    stack.enter_context(one_by_one)
                    stack.enter_context(saving(self._saving(name)))
                save(name, data)

        def ignored() -> None:
            """Hide that a data set prints without a log message."""

        with replaced(self._catalog, "load", loaded), replaced(self._catalog, "save", saved):
            yield

    def _loading(self, name: str) -> Watch:
        return Watch(
            who=f"data set '{name}'",
            reads_private=False,
            may_read=False,
            data_root=self._data_root,
            private_files=self._private_files,
            is_public_entry=True,
        )

    def _saving(self, name: str) -> Watch:
        own = place(entry(name, self._catalog.config_resolver))
        return Watch(
            who=f"data set '{name}'",
            reads_private=True,
            may_read=True,
            data_root=self._data_root,
            may_write=frozenset() if own is None else frozenset({own, *temporary_paths(own)}),
        )

    def _watch(self, node: Node, inputs: Mapping[str, Any]) -> Watch:
        private = self._private([*node.inputs, *node.outputs])
        held = [name for name in filter(is_parameter, node.inputs) if any(holders(inputs.get(name), self._files))]
        return Watch(
            who=f"node '{node.name}'",
            reads_private=bool(private or held),
            may_read=self._may_read_files(node),
            data_root=self._data_root,
            private_files=self._private_files - self._places(private),  # partitions are opened by who reads them
            temporary=self._temporary,
            may_be_private=PrivateTextIndex([value for name, value in inputs.items() if name in private]),
        )

    def _faults(
        self, node: Node, inputs: Mapping[str, Any], outputs: Mapping[str, Any], read: set[str]
    ) -> Iterator[RunRefusedError]:
        if not self._may_read_files(node):
            yield from self._file_faults(inputs, read)
        private = self._private(node.inputs)
        hidden = self._private(node.outputs)
        shown = {name: value for name, value in outputs.items() if name not in hidden}
        if private and any(map(inspect.isgenerator, outputs.values())):
            yield RunRefusedError(
                "yields its outputs, which then are made outside of the guard: return them", code="outputs-yielded"
            )
        if Tag.RELEASE in node.tags and self._passed is not None:
            yield from release_faults(inputs, outputs, self._passed(), private=hidden)
        if Tag.HELD_OUT in node.tags:
            held = {name: inputs[name] for name in private if name in inputs}
            yield from output_checks.evaluation_outputs(held, shown, _declared_labels(inputs.values()))
        if Tag.CONTROL in node.tags:
            yield from output_checks.control_outputs(outputs)
        if Tag.COUNT in node.tags:
            yield from output_checks.count_outputs(shown)

    def _file_faults(self, inputs: Mapping[str, Any], read: set[str]) -> Iterator[RunRefusedError]:
        for name, value in inputs.items():
            for held in holders(value, self._files) if is_parameter(name) else ():
                if held == "" or held in read:
                    yield RunRefusedError(
                        f"reads the path of a private file from '{name}' and writes what is not private: give it the "
                        "fields that it needs, or read the file in a node that writes private data sets",
                        code="path-of-private-file-read",
                    )

    def _may_read_files(self, node: Node) -> bool:
        """Return whether the node may read private files: its outputs are private, or the declared number of units."""
        return Tag.COUNT in node.tags or (bool(node.outputs) and self._private(node.outputs) == set(node.outputs))

    def _places(self, names: Iterable[str]) -> frozenset[Path]:
        found = (place(entry(name, self._catalog.config_resolver)) for name in names)
        return frozenset(path for path in found if path is not None)

    def _private(self, names: Iterable[str]) -> set[str]:
        found = [name for name in names if not is_parameter(name)]
        classes = dataset_classes(found, self._catalog.config_resolver)
        return {name for name in found if is_private(name, classes)}


def _declared_labels(values: Iterable[Any]) -> set[str]:
    """Return the classes that parameters among `values` declare, and the parts of those that are control codes."""
    labels = {label for value in values if isinstance(value, OfClasses) for label in value.labels}
    return labels | {part for label in labels for part in parts_of(label)}


def _by_dataset(names: Any, args: Sequence[Any], kwargs: Any) -> dict[str, Any]:
    """Return values by data set, from a node's declared inputs or outputs and the values that came with them."""
    if not names:
        return {}
    if isinstance(names, dict):
        return {name: kwargs[key] for key, name in names.items() if isinstance(kwargs, Mapping) and key in kwargs}
    names = [names] if isinstance(names, str) else names
    return dict(zip(names, args, strict=False))
