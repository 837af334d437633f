"""The plan of a pipeline: of its graph, the parameters and the catalog; nothing private is read, no model is loaded.

The ledgers are opened by the run's own nodes, so that no release is planned in two places. What these nodes need is
made by the nodes before them, except for models and their weights, of which only the shape matters, and for a number
that would have to be counted in what a generator has not written yet.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any, cast, get_type_hints

import numpy as np
import platformdirs
from kedro.io import AbstractDataset
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro.validation.type_extractor import TypeExtractor
from pydantic import BaseModel

from fedtext.datasets.models import PublicModelDataset
from fedtext.federation.units import Population
from fedtext.models.architecture import Architecture
from fedtext.params.annotation import Annotation
from fedtext.params.corpus import Partition
from fedtext.params.plan import Planning
from fedtext.params.privacy import Privacy
from fedtext.planning.pace import Paces
from fedtext.planning.plan import Device, Plan, Step, Task, message_step, once, planned_step
from fedtext.planning.rules import Given, kind_of, rule_of
from fedtext.planning.sizes import sizes_of
from fedtext.planning.wording import plan_line
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.tags import Tag
from fedtext.system.errors import FedtextError
from fedtext.system.refusal import RunRefusedError, parameter_faults, parameters_refusal
from fedtext.wiring.conf_files import value_at
from fedtext.wiring.config import ProjectConfigLoader, corpus_is_public, is_private_name
from fedtext.wiring.guard.catalog import catalog_resolver, entry, is_parameter
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.stages import ALGORITHM, TITLES, in_order, stages

POPULATIONS = ("population", "pairs.population")
SILOS = "flexible.population"
FEDERATION = "params:federation"  # an input of every node that asks silos
COUNTED = {*POPULATIONS, SILOS}  # data sets that say how many units are enrolled


@dataclass
class Planner:
    """Plans one pipeline.

    Attributes:
        job: The pipeline's name.
        graph: Its nodes.
        loader: The configuration.
        device: What there is to work with.
        paces: The paces of the device.
        known: Values of data sets that need not be made.
    """

    job: str
    graph: Pipeline
    loader: ProjectConfigLoader
    device: Device
    paces: Paces
    known: dict[str, Any] = field(default_factory=dict)
    _counted: bool = True

    def plan(self) -> Plan:
        """Return the plan.

        Raises:
            RunRefusedError: Parameters are wrong, or the population of a private corpus is not declared.
            FedtextError: A planned release does not fit the budget, or an architecture is not known.
        """
        ledgers = tuple(sorted(self._ledgers(), key=lambda ledger: ledger.part == "test"))
        steps = list(self._steps())
        if any(ledger.signals for ledger in ledgers):
            steps.append(message_step(ledgers, self.paces, "releases"))
        used = {model for node in self.graph.nodes for model in self._models_of(node)}
        tabled = {name: one.source for name in sorted(used) if (one := self.architectures[name]) and not one.read}
        return Plan(self.job, ledgers, once(steps), self.device, tabled, self._counted)

    @cached_property
    def architectures(self) -> dict[str, Architecture | None]:
        """The architecture of each model that the graph is given, by the name of its data set; None: a server's."""
        return {name: dataset.architecture for name, dataset in self._models.items()}

    @cached_property
    def served(self) -> frozenset[str]:
        """The models whose texts servers write, by the names of their data sets."""
        return frozenset(name for name, dataset in self._models.items() if getattr(dataset, "is_server", False))

    @cached_property
    def _models(self) -> dict[str, PublicModelDataset]:
        made = {name: AbstractDataset.from_config(name, entry(name, self._resolver)) for name in self._model_names}
        return cast("dict[str, PublicModelDataset]", made)

    @cached_property
    def _resolver(self) -> Any:
        return catalog_resolver(self.loader["catalog"])

    @cached_property
    def _model_names(self) -> tuple[str, ...]:
        inputs = sorted(name for name in self.graph.inputs() if not is_parameter(name))
        kinds = {name: str(entry(name, self._resolver).get("type", "")) for name in inputs}
        return tuple(name for name, kind in kinds.items() if kind.startswith("fedtext.datasets.") and _is_model(kind))

    def _models_of(self, node: Node) -> tuple[str, ...]:
        return tuple(name for name in node.inputs if name in self._model_names)

    def _ledgers(self) -> Iterator[Ledger]:
        for node in self.graph.nodes:
            if Tag.BUDGET in node.tags:
                yield from (one for name in node.outputs if isinstance(one := self._value(name), Ledger))

    def _steps(self) -> Iterator[Step]:
        stage_of = stages(self.graph)
        for node in in_order(self.graph):
            models, rule = self._models_of(node), rule_of(node.name)
            if not models or rule is None:
                continue
            given = Given(self.loader.parameters, self._population, self._generators, models, len(node.inputs))
            if works := rule(given):
                part = stage_of[node.name].part
                stage = (node.namespace or "").partition(".")[0] if part == ALGORITHM else TITLES[part]
                task = Task(kind_of(node.name), stage, works, tuple(work.model or models[0] for work in works))
                given_here = self.architectures, self.device, self.paces
                yield planned_step(task, *given_here, embedding=self._embedding, served=self.served)

    @cached_property
    def _generators(self) -> int:
        return len(Settings(self.loader).generators)

    @property
    def _embedding(self) -> int:
        known = self.architectures.get("encoder")
        return 0 if known is None else sizes_of(known).hidden

    @cached_property
    def _population(self) -> Population:
        made = self.graph.all_outputs()
        name = next((one for one in POPULATIONS if one in made or one in self.known), None)
        return Population(enrolled=1, training=1, test=0, source="declared") if name is None else self._value(name)

    def _value(self, name: str) -> Any:
        """Return the value of a data set, made by the run's own nodes."""
        if name not in self.known:
            self.known |= self._made(name)
        return self.known[name]

    def _made(self, name: str) -> dict[str, Any]:
        if is_parameter(name):
            return {name: self._parameter(name)}
        if name in self._model_names:
            known = self.architectures[name]
            return {name: SimpleNamespace(dim=0 if known is None else sizes_of(known).hidden, identity=name)}
        node = next((one for one in self.graph.nodes if name in one.outputs), None)
        if node is None:
            raise RunRefusedError(
                f"{self.job} is a part of a run, and '{name}' comes from before it: plan the whole job",
                code="plan-of-a-part",
                value=name,
            )
        if Tag.COUNT in node.tags and any(map(is_private_name, node.inputs)):
            self._check_public(node)
            return {name: self._silo_units(node) if name == SILOS else self._clients(node)}
        if Tag.START in node.tags:
            return {name: self._start(node)}
        if FEDERATION in node.inputs:
            raise RunRefusedError(
                f"a plan asks nobody, and {node.name} would ask the silos: a run prints its plan when they have said "
                "how many people they hold; plan the job with federation.engine=simulated and a declared "
                "privacy.population",
                code="plan-would-ask-silos",
                parameter="federation.engine",
            )
        self._check_public(node)
        made: dict[str, Any] = node.run({one: self._value(one) for one in node.inputs})
        return made

    def _parameter(self, name: str) -> Any:
        value = value_at(self.loader.parameters, name.removeprefix("params:"))
        kind = self._types.get(name.removeprefix("params:"))
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind.model_validate(value)
        return value

    @cached_property
    def _types(self) -> dict[str, Any]:
        types = TypeExtractor({self.job: self.graph}).extract_types_from_pipelines()
        if faults := parameter_faults(self.loader.parameters, types):
            raise parameters_refusal(faults)
        return dict(types)

    def _clients(self, node: Node) -> Population:
        """Return the population of a public corpus: its clients are counted, and their records are assumed."""
        table, privacy = node.inputs[0], self._value("params:privacy")
        if any(self._models_of(before) for before in self.graph.to_outputs(table).nodes):
            self._counted = False
            annotation = Annotation.model_validate(self.loader.parameters["annotation"])
            return self._declared(annotation.annotators)
        clients = self._value(table)
        if privacy.unit == "client":
            return cast("Population", node.func(clients, clients, privacy, self._value("params:partition")))
        self._counted = False
        return self._declared(round(len(clients) * self._planning.samples))

    def _silo_units(self, node: Node) -> dict[str, int]:
        """Return the training units of each silo of a public corpus, as its clients are split."""
        self._counted = False
        share = self._declared(10**6).training / 10**6
        each = self._planning.samples if self._value("params:privacy").unit == "record" else 1.0
        silos = Counter(self._value(node.inputs[0])["silo"].tolist())
        return {name: max(round(number * share * each), 1) for name, number in sorted(silos.items())}

    def _declared(self, number: int) -> Population:
        partition = Partition.model_validate(self.loader.parameters["partition"])
        shares = {"validation_share": partition.validation_share, "test_share": partition.test_share}
        return Population.declared(number, **shares)

    @property
    def _planning(self) -> Planning:
        return Planning.model_validate(self.loader.parameters["plan"])

    def _start(self, node: Node) -> Any:
        """Return weights to begin with: so many zeros, which take no memory."""
        known = self.architectures[self._models_of(node)[0]]
        if known is None:
            raise RunRefusedError(
                f"{node.name} trains a model that a server keeps: name a directory or a Hugging Face id, --params "
                "models.generator=...",
                code="plan-of-a-served-model",
                parameter="models.generator",
            )
        groups = [self._value(name) for name in node.inputs if is_parameter(name)]
        lora = next((group.lora for group in groups if hasattr(group, "lora")), None)
        weights = np.broadcast_to(np.float32(0), (sizes_of(known, lora, trained=True).trained,))
        return weights if get_type_hints(node.func)["return"] is np.ndarray else {"weights": weights}

    def _check_public(self, node: Node) -> None:
        private = any(map(is_private_name, (*node.inputs, *node.outputs)))
        if private and not corpus_is_public(self.loader.parameters):
            raise RunRefusedError(
                f"a plan reads nothing private, and {node.name} would: declare how many units are enrolled, --params "
                "privacy.population=NUMBER",
                code="plan-would-read-private",
                parameter="privacy.population",
            )


def _is_model(kind: str) -> bool:
    module, _, name = kind.rpartition(".")
    found = getattr(__import__(module, fromlist=[name]), name)
    return isinstance(found, type) and issubclass(found, PublicModelDataset) and name != "TokenizerDataset"


def this_device(loader: ProjectConfigLoader) -> Device:
    """Return what there is to work with on this machine."""
    import psutil
    import torch

    from fedtext.system.hardware import compute_device, is_bfloat16_faster

    device = compute_device()
    place = next(one for one in (loader.data_root, *loader.data_root.parents) if one.exists())
    disk = shutil.disk_usage(place).free
    if device.type == "cuda":
        found = torch.cuda.get_device_properties(device)
        return Device(found.name, found.total_memory, is_bfloat16_faster(device), disk)
    cores = torch.get_num_threads()
    return Device(f"this CPU ({cores} thread{'s' * (cores != 1)})", psutil.virtual_memory().total, False, disk)


def plan_of(job: str, graph: Pipeline, loader: ProjectConfigLoader, known: Mapping[str, Any], paces: Paces) -> Plan:
    """Return the plan of a pipeline; `known` are values that are there already."""
    return Planner(job, graph, loader, this_device(loader), paces, dict(known)).plan()


def paces_of(loader: ProjectConfigLoader, *, measures: bool) -> Paces:
    """Return this machine's paces for the run's declaration: measured now, or read where a plan has kept them."""
    file = platformdirs.user_cache_path("fedtext") / "paces.json"
    return Paces(Privacy.model_validate(loader.parameters["privacy"]), file, measures)


def line_of_run(graph: Pipeline, loader: ProjectConfigLoader, opened: Mapping[str, Any]) -> str | None:
    """Return the plan of a run in one line, or None where no model computes or an architecture is not known.

    Nothing is measured. `opened` are values that the run has made: its ledgers and its population.
    """
    try:
        plan = plan_of("the run", graph, loader, opened, paces_of(loader, measures=False))
    except FedtextError:  # what is wrong is said where it is used
        return None
    return plan_line(plan) if plan.steps else None
