"""A plan of a run: its releases, and for each step texts, tokens, seconds and bytes; and what does not fit here."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from fedtext.models.architecture import Architecture
from fedtext.planning.memory import adapter_bytes, peak_bytes, text_bytes
from fedtext.planning.pace import Paces
from fedtext.planning.work import Kind, Work
from fedtext.privacy.ledger import Ledger


@dataclass(frozen=True)
class Device:
    """What there is to work with.

    Attributes:
        name: The device that models compute on.
        memory: Its bytes.
        halved: Whether it computes in 16 bits.
        disk: Free bytes where the results lie.
    """

    name: str
    memory: int
    halved: bool
    disk: int


@dataclass(frozen=True)
class Task:
    """The work of one node.

    Attributes:
        node: The node's name.
        stage: The stage that it belongs to, in words.
        works: What it has to compute.
        models: The model of each work, by the name of its data set.
    """

    node: str
    stage: str
    works: tuple[Work, ...]
    models: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """What one node takes here.

    Attributes:
        node: The node's name.
        stage: The stage that it belongs to, in words.
        seconds: Its time; 0 where it does not fit, for nothing can be measured there.
        memory: Its bytes at the peak.
        disk: Bytes that it leaves.
        texts: Texts that it writes.
        tokens: Tokens that it writes, reads and trains on.
        served: Texts of these that a server writes.
        remedy: What makes it fit, if it does not.
        times: How often it is done, once a round.
    """

    node: str
    stage: str
    seconds: float = 0.0
    memory: int = 0
    disk: int = 0
    texts: int = 0
    tokens: float = 0.0
    served: int = 0
    remedy: str = ""
    times: int = 1

    def again(self, other: Step) -> Step:
        """Return both, as one step that is done so often."""
        return Step(
            node=self.node,
            stage=self.stage,
            seconds=self.seconds + other.seconds,
            memory=max(self.memory, other.memory),
            disk=self.disk + other.disk,
            texts=self.texts + other.texts,
            tokens=self.tokens + other.tokens,
            served=self.served + other.served,
            remedy=self.remedy if self.memory >= other.memory else other.remedy,
            times=self.times + other.times,
        )


@dataclass(frozen=True)
class Plan:
    """A plan of a run.

    Attributes:
        job: The name of its pipeline.
        ledgers: The opened ledgers, with all planned releases.
        steps: Every node that computes with a model, and one for the units' messages, in order.
        device: What there is to work with.
        tabled: Models whose architecture is the table's, by the name of their data set.
        counted: Whether the population was counted or declared; else it is assumed.
    """

    job: str
    ledgers: tuple[Ledger, ...]
    steps: tuple[Step, ...]
    device: Device
    tabled: Mapping[str, str] = field(default_factory=dict)
    counted: bool = True

    @property
    def stages(self) -> list[tuple[str, list[Step]]]:
        """The steps of each stage, in order."""
        return [(stage, list(steps)) for stage, steps in groupby(self.steps, key=lambda step: step.stage)]

    @property
    def seconds(self) -> float:
        """Time of all steps; not a number if this machine was not measured."""
        return sum(step.seconds for step in self.steps)

    @property
    def memory(self) -> int:
        """Bytes of the largest step."""
        return max((step.memory for step in self.steps), default=0)

    @property
    def disk(self) -> int:
        """Bytes of all results."""
        return sum(step.disk for step in self.steps)

    @property
    def texts(self) -> int:
        """Texts of all steps."""
        return sum(step.texts for step in self.steps)

    @property
    def tokens(self) -> float:
        """Tokens of all steps."""
        return sum(step.tokens for step in self.steps)

    @property
    def misfits(self) -> list[str]:
        """One sentence for each thing that does not fit here, with the parameter that would make it fit."""
        largest: dict[str, Step] = {}
        for step in self.steps:
            if step.memory > self.device.memory and step.memory > largest.get(step.remedy, Step("", "")).memory:
                largest[step.remedy] = step
        found = [
            f"{step.node} needs {gigabytes(step.memory)} where {self.device.name} has "
            f"{gigabytes(self.device.memory)}: {step.remedy}"
            for step in largest.values()
        ]
        if self.disk > self.device.disk:
            found.append(
                f"the results need {gigabytes(self.disk)} of disk where {gigabytes(self.device.disk)} are free: choose "
                "data_root on a larger disk"
            )
        return found


def once(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps with those of one node in several rounds as one."""
    found: dict[tuple[str, str], Step] = {}
    for step in steps:
        key = (step.stage, step.node)
        found[key] = found[key].again(step) if key in found else step
    return tuple(found.values())


def gigabytes(size: float) -> str:
    """Format bytes with two digits."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB")):
        if size >= unit:
            return f"{float(f'{size / unit:.2g}'):g} {name}"
    return f"{math.ceil(size / 2**10)} KiB"


def planned_step(
    task: Task,
    architectures: Mapping[str, Architecture | None],
    device: Device,
    paces: Paces,
    *,
    embedding: int,
    served: Collection[str] = (),
) -> Step:
    """Return what a node takes here; what a server does costs this machine nothing.

    A server has the models without an architecture, and it writes the texts of those that are `served`.
    """
    given = list(zip(task.works, task.models, strict=True))
    here = [
        (work, known)
        for work, model in given
        if (known := architectures[model]) is not None and not (model in served and work.kind == Kind.WRITING)
    ]
    peaks = [peak_bytes(work, known, halved=device.halved) for work, known in here]
    largest = max(peaks, default=0)
    return Step(
        node=task.node,
        stage=task.stage,
        seconds=sum(paces.seconds(work, known) for work, known in here) if largest <= device.memory else 0.0,
        memory=largest,
        disk=sum(adapter_bytes(work, known) for work, known in here if work.kind == Kind.TRAINING)
        + sum(text_bytes(work, embedding) for work in task.works),
        texts=sum(work.texts for work in task.works),
        tokens=sum(work.tokens + work.shown + work.referred for work in task.works),
        served=sum(work.texts for work, model in given if architectures[model] is None or model in served),
        remedy=remedy(*here[peaks.index(largest)], device, task.models[0]) if largest > device.memory else "",
    )


def remedy(work: Work, architecture: Architecture, device: Device, model: str) -> str:
    """Return what makes some work fit into the device's memory; `model` is the data set of its model."""
    most, least = (_bytes(work, architecture, device, rows) for rows in (work.at_once, 1))
    if least > device.memory and work.kind == Kind.TRAINING and not work.checkpointed and work.checkpointing:
        saved = replace(work, checkpointed=True)
        if _bytes(saved, architecture, device, 1) <= device.memory:
            return f"set {work.checkpointing}=true"
    if least > device.memory or not work.lower:
        parameter = f"models.{'plms' if model.startswith('plm_') else model}"
        return f"{architecture.source} is too large for it, so take a smaller one ({parameter}) or a larger device"
    fitting = 1 + int((work.at_once - 1) * (device.memory - least) / max(most - least, 1))
    checkpointed = f", or set {work.checkpointing}=true" if work.checkpointing and not work.checkpointed else ""
    return f"lower {work.lower} from {work.at_once} to {fitting}{checkpointed}"


def _bytes(work: Work, architecture: Architecture, device: Device, rows: int) -> int:
    return peak_bytes(replace(work, at_once=rows), architecture, halved=device.halved)


def message_step(ledgers: Sequence[Ledger], paces: Paces, stage: str) -> Step:
    """Return the time of the units' messages and their noise, in all releases."""
    signals = [signal for ledger in ledgers for signal in ledger.signals]
    return Step("messages", stage, seconds=sum(paces.message_seconds(signal) for signal in signals))
