"""The runner: plain `kedro run` resumes, so after a kill, a change or a deletion it runs only what is left."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, cast

from kedro.framework import project
from kedro.io import CatalogProtocol, DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro.runner import SequentialRunner
from kedro.runner.task import Task
from pluggy import PluginManager

from fedtext.privacy.budget_guard import guarding
from fedtext.privacy.tags import Tag
from fedtext.resuming.decision import Resumption
from fedtext.resuming.records import DataRootBusyError, Store
from fedtext.system.cores import keep_freed_memory, return_freed_memory
from fedtext.system.engine import Engine, computing_on
from fedtext.system.errors import FedtextError
from fedtext.system.finished_pieces import keeping_pieces
from fedtext.system.folders import make_own_folder, own_temporary_folder
from fedtext.system.interrupts import INTERRUPTED
from fedtext.system.refusal import RunRefusedError, refusal_of
from fedtext.wiring.config import active_data_root, active_parameters, is_private_name
from fedtext.wiring.console import echo, logged_to_file
from fedtext.wiring.engine import declared_engine
from fedtext.wiring.guard import Guard
from fedtext.wiring.guard.catalog import dataset_classes, entry, place
from fedtext.wiring.made_with import check_same_parameters, give_facts
from fedtext.wiring.run_budget import RunBudget, releases_of_node
from fedtext.wiring.stages import Clock, in_order, stages
from fedtext.wiring.trial import check_servers, leads_to_servers

LOG = logging.getLogger(__name__)


def private_folders(pipeline: Pipeline, catalog: DataCatalog, data_root: Path) -> set[Path]:
    """Return the data root's own folders, as `03_primary`, below which a private data set of the pipeline lies."""
    root, resolver = data_root.resolve(), catalog.config_resolver
    classes = dataset_classes(pipeline.datasets(), resolver)
    places = (place(entry(name, resolver)) for name, privacy in classes.items() if privacy == "private")
    inside = [path.relative_to(root).parts for path in places if path is not None and path.is_relative_to(root)]
    return {data_root / parts[0] for parts in inside if len(parts) > 1}


class RunInterruptedError(RunRefusedError):
    """Ctrl-C as an ordinary exception, so that Kedro reports to the hooks that the run has ended."""

    exit_code = 130  # what shells give for it


class ResumableRunner(SequentialRunner):
    """Runs one node after the other, leaving out those whose outputs are up to date (fedtext.resuming.decision).

    A node is recorded as done after its last output was saved. Datasets are saved whole (fedtext.datasets), so a kill
    at any moment loses the node at work and nothing else. Outputs that are not saved are made again when a node reads
    them.

    Args:
        is_async: Load and save in threads.
        data_root: Where the records are kept; the active configuration's data root if not given.
    """

    def __init__(self, is_async: bool = False, data_root: str | None = None) -> None:
        super().__init__(is_async=is_async)
        self._data_root = data_root

    def _run(
        self,
        pipeline: Pipeline,
        catalog: CatalogProtocol[Any, Any],
        hook_manager: PluginManager | None = None,
        run_id: str | None = None,
    ) -> None:
        def execute(node: Node) -> None:
            Task(node, catalog, self._is_async, hook_manager, run_id).execute()

        data_root = Path(self._data_root) if self._data_root else active_data_root()
        try:
            budget = RunBudget(data_root, pipeline, catalog)  # before the lock makes a folder where a run's was removed
            with _locked(data_root) as store, ExitStack() as entered:
                _WhatIsLeft(pipeline, cast(DataCatalog, catalog), data_root, budget, store, entered, execute).run()
        except KeyboardInterrupt:
            raise RunInterruptedError(INTERRUPTED, code="interrupted") from None


class _WhatIsLeft:
    """The nodes of a pipeline that are not up to date in a data root, which is locked meanwhile.

    Args:
        pipeline: All nodes.
        catalog: Their data sets.
        data_root: Where the private data sets are.
        budget: What the run may release.
        store: The data root's records of nodes.
        entered: Ends the log, the temporary folder and the engine with the run.
        execute: Runs one node as Kedro does, with its hooks.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        catalog: DataCatalog,
        data_root: Path,
        budget: RunBudget,
        store: Store,
        entered: ExitStack,
        execute: Callable[[Node], None],
    ) -> None:
        for folder in private_folders(pipeline, catalog, data_root):
            make_own_folder(folder)  # before a public result opens it to all
        entered.enter_context(logged_to_file(store.root))
        temporary = entered.enter_context(own_temporary_folder())
        self._pipeline, self._catalog, self._data_root, self._store = pipeline, catalog, data_root, store
        self._guard = Guard(catalog, data_root, active_parameters(), releases_of_node, temporary)
        package, made = project.PACKAGE_NAME or "fedtext", _made_by_any()
        self._resumption = Resumption(pipeline, catalog, store, package, made)
        self._order = in_order(pipeline)
        self._clock = Clock(self._order, stages(pipeline), store.seconds())
        self._unread_by = Counter(chain.from_iterable(node.inputs for node in pipeline.nodes))
        self._ran = set[str]()
        self._servers_tried = False
        self._budget, self._execute, self._entered = budget, execute, entered

    def run(self) -> None:
        """Run each node that is not up to date, and look at the budget after every one."""
        keep_freed_memory()
        for position, node in enumerate(self._order, start=1):
            give_facts(self._resumption, node, self._catalog)
            if (reason := self._resumption.reason_to_run(node)) is not None:
                check_same_parameters(self._resumption, node)
                self._try_servers(node)
                if (line := self._clock.begin(node)) is not None:
                    echo(line)
                LOG.info("Node %d of %d, %s: %s", position, len(self._order), node.name, reason)
                self._make_or_explain(node)
            self._budget.after(node, ran=node.name in self._ran)
            self._release_what_nobody_reads(node)
            return_freed_memory()
        self._store.record_run(node.name for node in self._order)
        LOG.info(
            "Ran %d nodes of %d; the others are up to date in %s", len(self._ran), len(self._order), self._data_root
        )

    def _make_or_explain(self, node: Node) -> None:
        try:
            self._make(node)
        except FedtextError:
            raise  # its message has the remedy
        except Exception:
            LOG.error("%s failed. What was done before it is kept: run the same command to resume", node.name)
            raise

    def _make(self, node: Node) -> None:
        """Run a node, and before it those whose outputs it reads and nobody saved."""
        for maker in self._resumption.unsaved_inputs(node):
            self._make(maker)
        computing = computing_on(self._engine)
        self._resumption.begin(node)
        private = any(map(is_private_name, (*node.inputs, *node.outputs)))
        began = time.perf_counter()
        recipe = self._resumption.recipe_digest(node)
        pieces = None if recipe is None or private else self._store.pieces_of(node.name, recipe)
        account = self._budget.account
        gate = account.guard_of(node.name, releases=Tag.RELEASE in node.tags)
        guarded = self._guard.around(node)
        with ExitStack() as around:
            watched = around.enter_context(self._resumption.watching(guarded))
            for one in (
                computing,
                keeping_pieces(pieces),
                guarding(gate),
                _private_umask(node),
                self._guard.datasets(),
            ):
                around.enter_context(one)
            self._execute(watched)
        seconds = time.perf_counter() - began
        self._budget.record_people(node)  # before it counts as done: a run that is stopped does it again
        self._clock.end(node, seconds)
        self._ran.add(node.name)
        gate.log_repeats()
        # The time that a node takes depends on its private data, so it is not recorded for a private corpus.
        self._resumption.commit(node, seconds if account.public or not private else None, gate.receipts)
        self._store.drop_pieces(node.name)

    @cached_property
    def _engine(self) -> Engine:
        """Start the engine: before the first node that runs, so not in a run with nothing left to do."""
        return self._entered.enter_context(declared_engine(active_parameters(), self._data_root))

    def _try_servers(self, node: Node) -> None:
        """Ask the servers once, before the first node whose results they will read."""
        if not self._servers_tried and leads_to_servers(self._pipeline, node, self._catalog):
            check_servers(self._pipeline, self._catalog, active_parameters())
            self._servers_tried = True

    def _release_what_nobody_reads(self, node: Node) -> None:
        self._unread_by.subtract(node.inputs)
        for name in {*node.inputs, *node.outputs} - self._pipeline.inputs() - self._pipeline.outputs():
            if self._unread_by[name] < 1:
                self._catalog.release(name)


@contextmanager
def _locked(data_root: Path) -> Iterator[Store]:
    """Hold the data root's lock, and yield its records."""
    try:
        with Store.locked(data_root) as store:
            yield store
    except DataRootBusyError as error:
        raise refusal_of(error) from None


def _made_by_any() -> set[str]:
    """Return the names of all data sets that a pipeline of the project makes."""
    return set().union(*(pipeline.all_outputs() for pipeline in project.pipelines.values()))


@contextmanager
def _private_umask(node: Node) -> Iterator[None]:
    """Restrict new private files to the user who runs the node."""
    if not any(map(is_private_name, node.outputs)):
        yield
        return
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
