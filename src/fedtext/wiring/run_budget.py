"""The data set's budget beside a run's nodes: who was read, which ledgers were opened, and what is said of them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from fedtext.privacy.budget_guard import current
from fedtext.privacy.data_set_budget import DataSetBudget, NodeBudgetGuard
from fedtext.privacy.history import History
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.signal_to_noise import drowns, signal_line
from fedtext.privacy.tags import Tag
from fedtext.wiring.account import active_allowance, active_registry
from fedtext.wiring.config import active_loader, active_parameters
from fedtext.wiring.console import echo
from fedtext.wiring.guard.watch import suspended
from fedtext.wiring.planning import COUNTED, line_of_run
from fedtext.wiring.stages import in_order
from fedtext.wiring.unit_identity import RECORDS, unit_rules, units_known_by

LOG = logging.getLogger(__name__)
Catalog = CatalogProtocol[Any, Any]


class RunBudget:
    """The budget of the data set, by the active parameters, and the ledgers that the run has opened so far.

    Attributes:
        account: The budget, and its past releases.
    """

    def __init__(self, data_root: Path, pipeline: Pipeline, catalog: Catalog) -> None:
        declared = active_allowance()
        history = History(data_root, registry=active_registry())
        history.restore()
        rules = unit_rules(pipeline, active_loader())
        self.account = DataSetBudget(history, declared.public, declared.total, rules, while_recording=suspended)
        self._pipeline, self._catalog = pipeline, catalog
        self._opened: list[Ledger] = []
        self._was_on_record = history.is_registered
        self._told = set[str]()  # nodes whose text's people were recorded

    def record_people(self, node: Node) -> None:
        """Record in the history whose text the node has read, before any release of it.

        Records that a catalog keeps in memory are not there until the node runs, and what reads them makes it run.
        """
        names = [] if self.account.public else [name for name in node.outputs if name.rpartition(".")[2] == RECORDS]
        for name in filter(self._catalog.exists, names):
            self.account.history.register_units(*units_known_by(self._catalog.load(name), active_parameters()))
            self._told.add(node.name)

    def after(self, node: Node, *, ran: bool) -> None:
        """Look at what a node has made, whether it `ran` or was up to date.

        Compares the ledgers that are open with the budget, and says before the first release how its noise compares
        with its signal, and what the run will take.

        Raises:
            TotalExceeded: The planned releases exceed the budget.
        """
        opened = self._ledgers(node) if Tag.BUDGET in node.tags else []
        self._opened += opened
        if not self._was_on_record and node.name not in self._told:
            self.record_people(node)
        if opened or node.name in self._told:
            for ledger in self._opened:
                self.account.validate_plan(ledger)
        if opened and ran:
            for ledger in opened:
                _announce_signal(ledger)
            self._announce_plan(node)

    def _ledgers(self, node: Node) -> list[Ledger]:
        return [ledger for name in node.outputs if isinstance(ledger := self._catalog.load(name), Ledger)]

    def _announce_plan(self, node: Node) -> None:
        """Print what the run will write and take, as soon as its first ledger is open."""
        if node is not next(one for one in in_order(self._pipeline) if Tag.BUDGET in one.tags):
            return
        before = {*node.inputs, *self._pipeline.to_nodes(node.name).all_outputs()}
        counted = [name for name in COUNTED & before if self._catalog.exists(name)]
        known = {name: self._catalog.load(name) for name in (*counted, *node.outputs)}
        if line := line_of_run(self._pipeline, active_loader(), known):
            echo(line)


def releases_of_node() -> Sequence[Release]:
    """Return the releases since the node at work began."""
    gate = current()
    return gate.passed if isinstance(gate, NodeBudgetGuard) else ()


def _announce_signal(ledger: Ledger) -> None:
    """Print how the noise compares with what the units can say, before any of them is asked; warn where it drowns."""
    if (line := signal_line(ledger)) is None:
        return
    if drowns(ledger):
        LOG.warning("%s", line)
    else:
        echo(line)
