"""Two worlds and one transcript: an algorithm's registered graph on two neighbouring corpora, and its releases.

The auditor is the strongest there is: it knows both corpora, every parameter and all earlier releases, and asks from
which corpus the released values were computed. So each node that reads private data runs in both worlds, and each other
node runs once, on the releases of the real world. A release node runs three times: in the real world as it is, whose
output is released, and in both worlds without noise, which is what the auditor expects of either.

A training of many steps releases more than its result: the auditor sees each noisy sum. Both worlds are then forced to
follow the steps of the real one (`audits/steps.py`). So it is with the tokens of a text.

Nodes that do not depend on the run's noise key run once a pair of corpora, all others once a noise key.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from kedro.framework.startup import bootstrap_project
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro.validation.parameter_validator import ParameterValidator

from audits.steps import answered, drawn, forced, led, loss_of
from fedtext.federation import charged_release
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.privacy.tags import Tag
from fedtext.training.lora import TrainedAdapter
from fedtext.wiring.config import ProjectConfigLoader, active_parameters, privacy_class

ROOT = Path(__file__).parents[1]
KEY, RECORDS = "private_noise_key", ("private_records", "pairs.private_records")
SOURCES = {*RECORDS, "public_records", "public_prompts"}
Store = dict[str, Any]


class Leak(NamedTuple):
    """One released artefact as a flat array, and its value in world 0 and in world 1 without noise.

    Attributes:
        released: The released value.
        expected: The value in either world, given earlier releases.
        stddev: Standard deviation of the noise, as recorded.
        is_step: Whether it is one of several training steps, which have one size and can be compared.
    """

    released: np.ndarray
    expected: tuple[np.ndarray, np.ndarray]
    stddev: float = 1.0
    is_step: bool = False


@dataclass(frozen=True)
class Job:
    """A registered algorithm, its parameters on top of conf/base, its public text, and its models.

    Attributes:
        algorithm: Its name among the registered pipelines.
        parameters: By group, as on the command line.
        public: The records of `public_records`.
        models: By data set name: `encoder`, `generator`, `downstream`, `chunk_tokenizer`, `on_device`.
    """

    algorithm: str
    parameters: Mapping[str, Any]
    public: pd.DataFrame
    models: Mapping[str, Any]

    def graph(self) -> Pipeline:
        """Return the job as the registry builds it, with a table as source."""
        from fedtext.pipeline_registry import register_pipelines

        bootstrap_project(ROOT)
        given = {**self.parameters, "corpus": {"source": "table", **self.parameters.get("corpus", {})}}
        ProjectConfigLoader(
            conf_source=str(ROOT / "conf"), base_env="base", default_run_env="local", runtime_params=given
        )
        return register_pipelines()[self.algorithm]

    def inputs(self, graph: Pipeline) -> Store:
        """Return all that is public before a run, parameters as Kedro passes them to nodes."""
        validated = ParameterValidator({self.algorithm: graph}).validate_raw_params(active_parameters())
        names = [name for name in graph.inputs() if name.startswith("params:")]
        named = {name: _field(validated, name.removeprefix("params:")) for name in names}
        prompts = pd.DataFrame({"prompt_id": range(len(self.public)), "prompt": self.public["text"]})
        public = {"public_records": self.public, "public_prompts": prompts}
        return {**public, "release_history": (), **self.models, **named}


def needed(graph: Pipeline, target: str) -> list[Node]:
    """Return the nodes, in order, by which a data set is made of a table's records."""
    return [node for node in graph.to_outputs(target).nodes if not set(node.outputs) & SOURCES]


class TwoWorlds:
    """The graph of a job, as far as `target` needs it, on two tables of records.

    Args:
        job: What is audited.
        records: `private_records` of world 0 and of world 1; of an algorithm of pairs, `pairs.private_records`.
        target: The data set up to which nodes run; by default the run's privacy report.
    """

    def __init__(self, job: Job, records: tuple[pd.DataFrame, pd.DataFrame], target: str = "privacy_report") -> None:
        graph = job.graph()
        self.target = f"{job.algorithm}_{target}"
        made = needed(graph, self.target)
        drawn = {node.name for node in graph.from_inputs(KEY).nodes}
        self._later = [node for node in made if node.name in drawn]
        self._public = job.inputs(graph)
        (source,) = graph.all_outputs() & set(RECORDS)
        self._private: tuple[Store, Store] = ({source: records[0]}, {source: records[1]})
        for node in made:
            if node.name not in drawn and KEY not in node.outputs:
                _step(node, self._public, self._private)

    def run(self, real: int, seed: int) -> tuple[list[Leak], Any]:
        """Return all releases in world `real` under the noise key of `seed`, in order, and the target."""
        key, public = new_noise_key(seed), dict(self._public)
        private: tuple[Store, Store] = ({**self._private[0], KEY: key}, {**self._private[1], KEY: key})
        leaks: list[Leak] = []
        for node in self._later:
            if Tag.RELEASE in node.tags:
                leaks += _release(node, public, private, real)
            else:
                _step(node, public, private)
        return leaks, public[self.target]


def _step(node: Node, public: Store, private: tuple[Store, Store]) -> None:
    """Run a node that releases nothing: in both worlds if it reads private data, else once."""
    if any(map(_is_private, node.inputs)):
        for own in private:
            own.update(_outputs(node, public, own))
    else:
        public.update(_outputs(node, public, {}))


def _release(node: Node, public: Store, private: tuple[Store, Store], real: int) -> Iterator[Leak]:
    """Yield the output of a release node in the real world, which others will see; for a training, each step."""
    with answered() as steps, drawn() as tokens:
        out = _outputs(node, public, private[real])
    plain, asked, likely = [], [], []
    for own in private:
        with without_noise(), led(steps) as sums, forced(tokens) as chances:
            plain.append(_outputs(node, public, own))
        asked.append(sums)
        likely.append(chances)
    for place in sorted(tokens):
        if (seen := loss_of(tokens[place], likely[0][place], likely[1][place])) is not None:
            yield Leak(np.array(seen[:1]), (np.zeros(1), np.array(seen[1:])))
    for (released, stddev), zero, one in zip(steps, *asked, strict=True):
        yield Leak(released, (zero, one), stddev, is_step=True)
    for name, value in out.items():
        if _is_private(name):
            for own, made in zip(private, plain, strict=True):
                own[name] = made[name]
            continue
        public[name] = value
        if (noised := _noised(name, value)) is not None and not steps and not tokens:
            expected = [_flat(np.asarray(_noised(name, made[name]))) for made in plain]
            yield Leak(_flat(noised), (expected[0], expected[1]), _charged(out))


def _noised(name: str, value: Any) -> np.ndarray | None:
    """Return the released array, or a released scorer's heads, since all else in it is public; None for a ledger."""
    part = value["heads"] if name.endswith("_scorers") else value
    return part if isinstance(part, np.ndarray) else None


def _charged(out: Store) -> float:
    """Return the noise deviation of the last release in the ledger among a release's outputs."""
    releases = [value.releases for value in out.values() if isinstance(value, Ledger) and value.releases]
    return float(releases[0][-1].noise_stddev) if releases else 1.0


def _outputs(node: Node, public: Store, own: Store) -> Store:
    made = node.run({name: own[name] if name in own else public[name] for name in node.inputs})
    return {name: _as_read(value) for name, value in made.items()}


def _as_read(value: Any) -> Any:
    """Return what the catalog would pass to the next node: an adapter is in a directory."""
    if not isinstance(value, TrainedAdapter):
        return value
    directory = Path(tempfile.mkdtemp(prefix="fedtext-audit-"))
    value.save_pretrained(str(directory))
    return directory


@contextmanager
def without_noise() -> Iterator[None]:
    """Remove the noise of all releases, which leaves the values that it hides."""
    with patch.object(charged_release, "discrete_gaussian", _nothing):
        yield


def _nothing(*_: object, size: int, **__: object) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


def _is_private(name: str) -> bool:
    return privacy_class(name, {}) == "private"


def _flat(value: np.ndarray) -> np.ndarray:
    return np.asarray(value, dtype=np.float64).ravel()


def _field(parameters: Any, path: str) -> Any:
    for part in path.split("."):
        parameters = parameters[part] if isinstance(parameters, dict) else getattr(parameters, part)
    return parameters
