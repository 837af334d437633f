"""The runner: plain `kedro run` resumes, so after a kill, a change or a deletion it runs only what is left."""

from __future__ import annotations

import functools
import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
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

from fedtext.privacy.budget_guard import current, guarding
from fedtext.privacy.data_set_budget import DataSetBudget, NodeBudgetGuard
from fedtext.privacy.history import History
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.signal_to_noise import drowns, signal_line
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
from fedtext.wiring.account import active_allowance, active_registry
from fedtext.wiring.conf_files import value_at
from fedtext.wiring.config import active_data_root, active_loader, active_parameters, is_private_name
from fedtext.wiring.console import echo, logged_to_file
from fedtext.wiring.engine import declared_engine
from fedtext.wiring.guard import Guard
from fedtext.wiring.guard.catalog import dataset_classes, entry, place
from fedtext.wiring.guard.watch import suspended
from fedtext.wiring.made_with import facts_in, report_facts
from fedtext.wiring.planning import COUNTED, line_of_run
from fedtext.wiring.stages import Clock, in_order, stages
from fedtext.wiring.trial import check_servers, leads_to_servers
from fedtext.wiring.unit_identity import RECORDS, unit_rules, units_known_by

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
        try:
            self._run_what_is_left(pipeline, catalog, hook_manager, run_id)
        except KeyboardInterrupt:
            raise RunInterruptedError(INTERRUPTED, code="interrupted") from None

    def _run_what_is_left(
        self,
        pipeline: Pipeline,
        catalog: CatalogProtocol[Any, Any],
        hook_manager: PluginManager | None,
        run_id: str | None,
    ) -> None:
        def execute(node: Node) -> None:
            for maker in resumption.unsaved_inputs(node):
                execute(maker)
            computing = computing_on(engine())
            resumption.begin(node)
            private = any(map(is_private_name, (*node.inputs, *node.outputs)))
            began = time.perf_counter()
            recipe = resumption.recipe_digest(node)
            pieces = None if recipe is None or private else store.pieces_of(node.name, recipe)
            gate = account.guard_of(node.name, releases=Tag.RELEASE in node.tags)
            guarded = guard.around(node)
            with ExitStack() as around:
                watched = around.enter_context(resumption.watching(guarded))
                for one in (computing, keeping_pieces(pieces), guarding(gate), _private_umask(node), guard.datasets()):
                    around.enter_context(one)
                Task(watched, catalog, self._is_async, hook_manager, run_id).execute()
            seconds = time.perf_counter() - began
            clock.end(node, seconds)
            ran.add(node.name)
            gate.log_repeats()
            # The time that a node takes depends on its private data, so it is not recorded for a private corpus.
            resumption.commit(node, seconds=seconds if account.public or not private else None)
            store.drop_pieces(node.name)

        @functools.cache
        def engine() -> Engine:
            """Start the engine: before the first node that runs, so not in a run with nothing left to do."""
            return started.enter_context(declared_engine(active_parameters(), data_root))

        keep_freed_memory()
        data_root = Path(self._data_root) if self._data_root else active_data_root()
        readers = Counter(chain.from_iterable(node.inputs for node in pipeline.nodes))
        total, ran, tried = len(pipeline.nodes), set[str](), False
        kept = pipeline.inputs() | pipeline.outputs()
        account = _data_set_budget(data_root, pipeline)
        opened: list[Ledger] = []
        order = in_order(pipeline)
        for folder in private_folders(pipeline, cast(DataCatalog, catalog), data_root):
            make_own_folder(folder)  # before a public result opens it to all
        with ExitStack() as started:
            store = started.enter_context(self._store(data_root))
            started.enter_context(logged_to_file(store.root))
            temporary = started.enter_context(own_temporary_folder())
            guard = Guard(cast(DataCatalog, catalog), data_root, active_parameters(), _releases_of_node, temporary)
            clock = Clock(order, stages(pipeline), store.seconds())
            package, made = project.PACKAGE_NAME or "fedtext", _made_by_any()
            resumption = Resumption(pipeline, cast(DataCatalog, catalog), store, package, made)
            for position, node in enumerate(order, start=1):
                _give_facts(resumption, node, cast(DataCatalog, catalog))
                if (reason := resumption.reason_to_run(node)) is not None:
                    _check_same_parameters(resumption, node)
                    if not tried and leads_to_servers(pipeline, node, cast(DataCatalog, catalog)):
                        check_servers(pipeline, cast(DataCatalog, catalog), active_parameters())
                        tried = True
                    if (line := clock.begin(node)) is not None:
                        echo(line)
                    self._logger.info("Node %d of %d, %s: %s", position, total, node.name, reason)
                    self._execute_or_explain(execute, node)
                if Tag.BUDGET in node.tags:
                    opened += _ledgers(node, catalog)
                if Tag.BUDGET in node.tags or _record_people(account, node, catalog, anew=node.name in ran):
                    for ledger in opened:
                        account.validate_plan(ledger)
                if Tag.BUDGET in node.tags and node.name in ran:
                    _announce_signal(_ledgers(node, catalog))
                    _announce_plan(pipeline, node, catalog)
                readers.subtract(node.inputs)
                for name in (set(node.inputs) | set(node.outputs)) - kept:
                    if readers[name] < 1:
                        catalog.release(name)
                return_freed_memory()
            store.record_run(node.name for node in pipeline.nodes)
            # within: the log file is the store's
            self._logger.info("Ran %d nodes of %d; the others are up to date in %s", len(ran), total, data_root)

    @contextmanager
    def _store(self, data_root: Path) -> Iterator[Store]:
        try:
            with Store.locked(data_root) as store:
                yield store
        except DataRootBusyError as error:
            raise refusal_of(error) from None

    def _execute_or_explain(self, execute: Any, node: Node) -> None:
        try:
            execute(node)
        except FedtextError:
            raise  # its message has the remedy
        except Exception:
            self._logger.error("%s failed. What was done before it is kept: run the same command to resume", node.name)
            raise


def _made_by_any() -> set[str]:
    """Return the names of all data sets that a pipeline of the project makes."""
    return set().union(*(pipeline.all_outputs() for pipeline in project.pipelines.values()))


def _give_facts(resumption: Resumption, node: Node, catalog: DataCatalog) -> None:
    """Give the report that `node` writes the facts of the nodes that made its inputs."""
    if (facts := facts_in(node.inputs, catalog)) is not None:
        facts.add_facts(report_facts(node, resumption.made_with(node)))


def _check_same_parameters(resumption: Resumption, node: Node) -> None:
    """Raise RunRefusedError for a report with other parameters than those that made its inputs, or with inputs apart.

    Its sentences would be about another run, or about two at once.
    """
    if Tag.REPORT not in node.tags:
        return
    if others := resumption.contradictions(node):
        name, values = next(iter(others.items()))
        raise RunRefusedError(
            f"{node.name} would report {name} = {value_at(active_parameters(), name)!r}, but what it reports on was "
            f"made at {_all(values)}: give that value, or run the whole pipeline",
            code="report-of-other-parameters",
            parameter=name,
        )
    if several := {name: values for name, values in resumption.made_with(node).parameters.items() if values[1:]}:
        name, values = next(iter(several.items()))
        raise RunRefusedError(
            f"{node.name} would report on parts that were made at {name} = {_all(values)}, as of one run: run the "
            "whole pipeline, which makes again what is of another value",
            code="report-of-two-runs",
            parameter=name,
        )


def _all(values: Sequence[Any]) -> str:
    return " and ".join(map(repr, values))


def _releases_of_node() -> Sequence[Release]:
    """Return the releases since the node at work began."""
    gate = current()
    return gate.passed if isinstance(gate, NodeBudgetGuard) else ()


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


def _data_set_budget(data_root: Path, graph: Pipeline) -> DataSetBudget:
    """Return the budget of the data set, by the active parameters, and its past releases."""
    declared = active_allowance()
    history = History(data_root, registry=None if declared.public else active_registry())
    history.restore()
    rules = unit_rules(graph, active_loader())
    return DataSetBudget(history, declared.public, declared.total, rules, while_recording=suspended)


def _ledgers(node: Node, catalog: CatalogProtocol[Any, Any]) -> list[Ledger]:
    """Return the ledgers that the node has opened."""
    return [ledger for name in node.outputs if isinstance(ledger := catalog.load(name), Ledger)]


def _announce_signal(ledgers: Sequence[Ledger]) -> None:
    """Print how the noise compares with what the units can say, before any of them is asked; warn where it drowns."""
    for ledger in ledgers:
        if (line := signal_line(ledger)) is None:
            continue
        if drowns(ledger):
            LOG.warning("%s", line)
        else:
            echo(line)


def _announce_plan(pipeline: Pipeline, node: Node, catalog: CatalogProtocol[Any, Any]) -> None:
    """Print what the run will write and take, as soon as its first ledger is open."""
    if node is not next(one for one in in_order(pipeline) if Tag.BUDGET in one.tags):
        return
    before = {*node.inputs, *pipeline.to_nodes(node.name).all_outputs()}
    counted = [name for name in COUNTED & before if catalog.exists(name)]
    known = {name: catalog.load(name) for name in (*counted, *node.outputs)}
    if line := line_of_run(pipeline, active_loader(), known):
        echo(line)


def _record_people(account: DataSetBudget, node: Node, catalog: CatalogProtocol[Any, Any], *, anew: bool) -> bool:
    """Record in the history whose text the node has read, before any release of it; return whether it did.

    `anew`: the node ran, so that it may have read other text than before.
    """
    names = [name for name in node.outputs if name.rpartition(".")[2] == RECORDS]
    if account.public or not names or (account.history.is_registered and not anew):
        return False
    for name in names:
        account.history.register_units(*units_known_by(catalog.load(name), active_parameters()))
    return True
