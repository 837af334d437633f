"""Which nodes of a pipeline must run, given what a data root already holds.

A node is up to date if all its saved outputs hold exactly the bytes that its record names, and the record's parts -
parameter values, input contents, code, library versions, catalog settings - are today's. Inputs count by content: a
rebuilt input that came out the same rebuilds nothing further, a changed one rebuilds all that read it. Of parameters
only the fields count that the node read when it ran (fedtext.params.reading). So a run is never a mixture of old and
new, whatever was killed, changed or deleted in between.

The runner asks it before each node (fedtext.wiring.runner). Three node tags change this. A node that `looks_again` runs
in every run. One with `keep` runs only if its output is missing or altered, or its parameters or inputs changed;
changes of code, libraries and catalog do not count, and an output without a record is accepted (a secret key must
survive). `reads_installed_packages` adds every installed distribution to what the node depends on.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, AbstractVersionedDataset, DataCatalog, DatasetError
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from fedtext.params.reading import watched
from fedtext.privacy.tags import Tag
from fedtext.resuming import fingerprint, node_function
from fedtext.resuming.fingerprint import FileDigests, canonical, text_digest
from fedtext.resuming.made_with import MadeWith
from fedtext.resuming.records import NodeRecord, Store
from fedtext.resuming.source_digest import source_tree

NOT_SHAPING = {"filepath", "path", "metadata", "credentials", "version", "dataset", "self", "type", "args", "kwargs"}


def content(dataset: AbstractDataset[Any, Any]) -> Path | str | None:
    """Return where a dataset's content lies, or a name that identifies it; None if neither is known."""
    inner = getattr(dataset, "_dataset", dataset)
    if callable(identity := getattr(inner, "identity", None)):
        found: Path | str = identity()
        return found
    if getattr(inner, "_protocol", "file") != "file":
        return None
    if isinstance(inner, AbstractVersionedDataset):
        try:
            return Path(inner._get_load_path())
        except DatasetError:
            return Path("/nonexistent")
    path = getattr(inner, "_filepath", None) or getattr(inner, "_path", None)
    return None if path is None else Path(path)


def settings(dataset: AbstractDataset[Any, Any]) -> dict[str, str]:
    """Return a dataset's catalog settings that shape its content, without its path, name and access rights."""
    inner = getattr(dataset, "_dataset", dataset)
    if callable(shaping := getattr(inner, "shaping", None)):
        return {"type": _class_name(inner), **shaping()}
    arguments = {**(given := getattr(inner, "_init_args", {})), **given.get("kwargs", {})}  # kwargs: of a subclass
    given = {key: value for key, value in arguments.items() if key not in NOT_SHAPING}
    return {"type": _class_name(inner), **{k: v if isinstance(v, str) else repr(v) for k, v in given.items()}}


def model_name(dataset: AbstractDataset[Any, Any]) -> str | None:
    """Return a public model's name for reports; None for other datasets."""
    named: str | None = getattr(getattr(dataset, "_dataset", dataset), "model_name", None)
    return named


def _class_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


UNIDENTIFIED = "unidentified"


class Resumption:
    """Decides which nodes run and records finished ones, node by node, in the order of the run.

    Args:
        pipeline: The pipeline that is run.
        catalog: Its datasets.
        store: The records of the data root.
        package: The project's package; a node's code version is read from it.
        made: Names of all data sets that nodes of the project make, those outside of the pipeline too.
    """

    def __init__(
        self, pipeline: Pipeline, catalog: DataCatalog, store: Store, package: str, made: Collection[str] = ()
    ) -> None:
        self._catalog, self._store, self._package = catalog, store, package
        self._makers = {output: node for node in pipeline.nodes for output in node.outputs}
        self._wanted, self._made = pipeline.outputs(), frozenset(made)
        self._records = {node.name: store.node(node.name) for node in pipeline.nodes}
        known = {key: digest for record in self._records.values() if record for key, digest in record.files.items()}
        self._digests = FileDigests(known)
        self._recipes: dict[str, dict[str, str]] = {}
        self._read: dict[str, set[str]] = {}

    def reason_to_run(self, node: Node) -> str | None:
        """Return why `node` must run; None if it is up to date or no later node needs its unsaved outputs yet."""
        saved = self._saved(node.outputs)
        if Tag.LOOKS_AGAIN in node.tags:
            return "it looks at its sources in every run"
        if not node.outputs or (set(node.outputs) - set(saved)) & self._wanted:
            return "its output is not saved"
        if not saved:
            return None
        record = self._records[node.name]
        parts = self.parts(node, record.read if record else None)
        missing = [name for name in saved if not self._dataset(name).exists()]
        if record is None and Tag.KEEP in node.tags and not missing:
            self.commit(node)
            return None
        if record is None:
            return "not run here before"
        if missing:
            return f"{', '.join(missing)} missing"
        compared = node.inputs if Tag.KEEP in node.tags else sorted(parts.keys() | record.parts.keys())
        if changed := [name for name in compared if parts.get(name) != record.parts.get(name)]:
            return f"{', '.join(changed)} changed"
        if UNIDENTIFIED in parts.values():
            return "an input cannot be identified"
        for name in saved:
            if self._content_digest(name) != record.outputs.get(name):
                return f"{name} is not what was saved"
        self._refresh(node, record)
        return None

    def parts(self, node: Node, read: Collection[str] | None = None) -> dict[str, str]:
        """Return the digests of all that the node's outputs depend on, by name.

        Of parameters the fields in `read` count, or all if it is None.
        """
        bound = node_function.bound(node.func)
        parts = {"wiring": text_digest(function_name(node), canonical([node._inputs, node._outputs, bound]))}
        parts["code"] = self._code_digest(node)
        parts["libraries"] = fingerprint.library_digest("fedtext")
        if Tag.READS_PACKAGES in node.tags:
            parts["installed packages"] = fingerprint.installed_packages_digest()
        for name in node.inputs:
            parts[name] = self._input_digest(name, read)
        for name in self._saved([*node.inputs, *node.outputs]):
            parts[f"catalog entry {name}"] = text_digest(canonical(settings(self._dataset(name))))
        return parts

    def begin(self, node: Node) -> None:
        """Record the present state of what `node` will be made from."""
        self._recipes[node.name] = self.parts(node)

    def recipe_digest(self, node: Node) -> str | None:
        """Return a digest of what `node` is made from, as it began; None if an input cannot be identified."""
        parts = self._recipes[node.name]
        return None if UNIDENTIFIED in parts.values() else text_digest(canonical(parts))

    @contextmanager
    def watching(self, node: Node) -> Iterator[Node]:
        """Yield `node`, and record the fields that it reads until its results are saved."""
        read = self._read[node.name] = set[str]()
        with ExitStack() as stack:

            @functools.wraps(node.func)
            def function(*args: Any, **kwargs: Any) -> Any:
                stack.enter_context(watched(read))
                return node.func(*args, **kwargs)

            yield node._copy(func=function)

    def commit(self, node: Node, seconds: float | None = None, receipts: Iterable[str] = ()) -> None:
        """Record `node` as done, after its last output was saved; `receipts` are those of its releases."""
        read, parts = self._fields_read(node), self._recipes.get(node.name) or self.parts(node)
        for name in [] if read is None else set(node.inputs) - set(self._saved(node.inputs)):
            if parts[name] == self._input_digest(name):  # if not, a file that it names was changed meanwhile
                parts = parts | {name: self._input_digest(name, read)}
        outputs = {name: self._content_digest(name) for name in self._saved(node.outputs)}
        files: dict[str, str] = {}
        for name in outputs:
            if isinstance(place := content(self._dataset(name)), Path):
                files |= self._digests.persisted(place)
        self._records[node.name] = record = NodeRecord(
            parts=parts,
            outputs=outputs,
            files=files,
            read=None if read is None else tuple(sorted(read)),
            seconds=seconds,
            made_with=self._made_with(node, read),
            receipts=tuple(receipts),
        )
        if outputs:
            self._store.commit(node.name, record)

    def made_with(self, node: Node) -> MadeWith:
        """Return what the inputs of `node` were made from, by the records of the nodes that made them."""
        return MadeWith.together(self._of_inputs(node, None))

    def contradictions(self, node: Node) -> dict[str, tuple[Any, ...]]:
        """Return the parameters of which `node` would read another value than the nodes that made its inputs.

        Each comes with the values of those nodes. There are none in a run of all nodes, because results made at another
        value are made again.
        """
        record = self._records[node.name]
        own = MadeWith.together(self._own(node, record.read if record else None))
        return self.made_with(node).contradicted_by(own)

    def _refresh(self, node: Node, record: NodeRecord) -> None:
        """Update the record of an up-to-date node to today's values, at which it would give the same result."""
        today, had = self._made_with(node, record.read), record.made_with
        if today == had or (had is not None and not set(today.unrecorded) <= set(had.unrecorded)):
            return
        self._records[node.name] = refreshed = record.model_copy(update={"made_with": today})
        self._store.commit(node.name, refreshed)

    def _made_with(self, node: Node, read: Collection[str] | None) -> MadeWith:
        return MadeWith.together([*self._own(node, read), *self._of_inputs(node, read)])

    def _own(self, node: Node, read: Collection[str] | None) -> Iterator[MadeWith]:
        """Yield the parameters and public models that the node reads itself."""
        for name in node.inputs:
            if _is_parameter(name):
                value = self._dataset(name).load()
                yield MadeWith.of_parameter(name, value if read is None else fingerprint.narrowed(value, read))
            elif (model := model_name(self._dataset(name))) is not None:
                yield MadeWith(models={name: (model,)})

    def _of_inputs(self, node: Node, read: Collection[str] | None) -> Iterator[MadeWith]:
        for name in node.inputs:
            if _is_parameter(name):
                continue
            maker = self._makers.get(name)
            if not self._saved([name]):
                if maker is not None:
                    yield self._made_with(maker, read)
            elif (found := self._of_saved(name, maker)) is not None:
                yield found

    def _of_saved(self, name: str, maker: Node | None) -> MadeWith | None:
        """Return the record values of the data saved under `name`; None if no node makes it."""
        makers = self._elsewhere.get(name, []) if maker is None else [self._records[maker.name]]
        if not makers and name not in self._made:
            return None
        digest = self._content_digest(name)
        recorded = [record.made_with for record in makers if record is not None and record.outputs.get(name) == digest]
        return next((found for found in recorded if found is not None), MadeWith(unrecorded=(name,)))

    @cached_property
    def _elsewhere(self) -> dict[str, list[NodeRecord]]:
        return self._store.makers()

    def unsaved_inputs(self, node: Node) -> list[Node]:
        """Return the nodes of this pipeline that must run again because `node` reads their unsaved outputs."""
        return [self._makers[name] for name in self._unsaved(node) if not self._dataset(name).exists()]

    def _unsaved(self, node: Node) -> list[str]:
        return [name for name in node.inputs if name in self._makers and not self._saved([name])]

    def _fields_read(self, node: Node) -> set[str] | None:
        """Return the parameter fields that `node` and the makers of its unsaved inputs read; None if not recorded."""
        found = [self._read.get(node.name), *(self._fields_read(self._makers[name]) for name in self._unsaved(node))]
        return None if None in found else set[str]().union(*(read for read in found if read is not None))

    def _saved(self, names: Iterable[str]) -> list[str]:
        return [n for n in names if not _is_parameter(n) and not getattr(self._dataset(n), "_EPHEMERAL", False)]

    def _dataset(self, name: str) -> AbstractDataset[Any, Any]:
        dataset: AbstractDataset[Any, Any] | None = self._catalog.get(name, fallback_to_runtime_pattern=True)
        assert dataset is not None  # the runtime pattern answers for every name
        return dataset

    def _input_digest(self, name: str, read: Collection[str] | None = None) -> str:
        if _is_parameter(name):
            return self._parameter_digest(name, read)
        if self._saved([name]):
            return self._content_digest(name)
        if (maker := self._makers.get(name)) is None:
            return UNIDENTIFIED
        return text_digest("made by", maker.name, name, canonical(self.parts(maker, read)))

    def _content_digest(self, name: str) -> str:
        place = content(self._dataset(name))
        if isinstance(place, Path):
            return self._digests.of(place)
        return UNIDENTIFIED if place is None else text_digest("named", place)

    def _parameter_digest(self, name: str, read: Collection[str] | None) -> str:
        value = self._dataset(name).load()
        if read is not None:
            value = fingerprint.narrowed(value, read)
        return text_digest(canonical(value), *map(self._digests.of, fingerprint.local_paths(value, name)))

    def _code_digest(self, node: Node) -> str:
        modules = [function_name(node)]
        for name in self._saved([*node.inputs, *node.outputs]):
            modules += [value for value in settings(self._dataset(name)).values() if "." in value]
        trees = [source_tree(package) for package in sorted({self._package, "fedtext"})]
        here = any(modules[0] in tree for tree in trees)
        outside = [None if here else node_function.source_file(node_function.innermost(node.func))]
        for function in node_function.others(node.func):
            modules.append(name := node_function.written_name(function))
            if not any(name in tree for tree in trees) and (file := node_function.source_file(function)) is not None:
                outside.append(file)
        return text_digest(
            *(tree.digest(modules) for tree in trees), *(self._digests.of(file) if file else "" for file in outside)
        )


def _is_parameter(name: str) -> bool:
    return name == "parameters" or name.startswith("params:")


def function_name(node: Node) -> str:
    """Return the dotted name of the function behind a node, without decorators and fixed arguments."""
    return node_function.dotted_name(node_function.innermost(node.func))
