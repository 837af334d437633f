"""Parameters for tests and benchmarks: own values on top of those of conf/base."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fedtext.params import Parameters
from fedtext.params.annotation import Annotation
from fedtext.params.calendar import Calendar
from fedtext.params.compare import Claims, Compare
from fedtext.params.contamination import Contamination
from fedtext.params.corpus import Chunking, Corpus, Partition
from fedtext.params.ctcl import Ctcl
from fedtext.params.described import Described, Texts, Topics
from fedtext.params.dp_classifier import DpClassifier
from fedtext.params.dp_ft import DpFt
from fedtext.params.dp_prediction import DpPrediction
from fedtext.params.dp_rft import DpRft
from fedtext.params.dp_sgd_generation import DpSgdGeneration
from fedtext.params.dpprefsyn import Dpprefsyn, Gap, HeadTraining, Rewarded
from fedtext.params.engine import EngineParameters
from fedtext.params.evaluation import (
    Classification,
    ClassifierTraining,
    Entities,
    Evaluation,
    Questions,
    UntunedControl,
)
from fedtext.params.federated import DpFedavg, DpFtrl, LocalTraining, ServerOptimizer
from fedtext.params.federation import FederationParameters
from fedtext.params.flexible import Flexible, SiloTraining
from fedtext.params.for_reading import ForReading
from fedtext.params.generation import MaskFilling, Sampler
from fedtext.params.ingest import Ingest, Requests
from fedtext.params.labelled import Fusegen, LabelledWriting, ZeroShot
from fedtext.params.largefedbench import Export, LargeFedBench, Release, Splitting
from fedtext.params.pe import Pe
from fedtext.params.pe_sft import PeSft
from fedtext.params.plan import Planning
from fedtext.params.policies import Membership, NeuralReward, Policies
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.params.silos import Silos
from fedtext.params.task import Task
from fedtext.params.training import (
    AdapterTraining,
    CausalTraining,
    DpDescent,
    DpSgd,
    Lora,
    PairTokens,
    Pretraining,
    Recipe,
    TunedTraining,
)
from fedtext.params.wasp import Wasp
from fedtext.wiring.conf_files import deep_merge, read, with_defaults
from fedtext.wiring.entries_of_models import comparisons

ANSWERS = {
    **{"description:": "null", "prompt:": "list", "prompt_alone:": "chat", "openings:": "[]", "examples:": "true"},
    **{f"drawn:{name}{where}": "1.0" for name in ("temperature", "repetition_penalty") for where in ("", ",alone")},
    "drawn:best_of,alone": "1",
}
SAMPLE_AND_MORE = re.compile(r'"\$\{sample_tokens:(?P<more>\d+)\}"')
GIVEN_ELSE_GLOBAL = re.compile(r'"\$\{runtime_params:[\w.]+, \$\{globals:(?P<name>[\w.]+)\}\}"')
BASE = Path(__file__).parents[1] / "conf" / "base"
HOMES: dict[type[Parameters], str] = {
    Annotation: "annotation",
    Chunking: "chunking",
    Claims: "claims",
    Classification: "classification",
    Compare: "compare",
    Contamination: "contamination",
    Corpus: "corpus",
    Ctcl: "ctcl",
    Described: "described",
    ForReading: "for_reading",
    DpClassifier: "dp_classifier",
    DpFedavg: "dp_fedavg",
    DpFt: "dp_ft",
    DpFtrl: "dp_ftrl",
    DpPrediction: "dp_prediction",
    DpRft: "dp_rft",
    DpSgdGeneration: "dp_sgd_generation",
    Dpprefsyn: "dpprefsyn",
    EngineParameters: "engine",
    Evaluation: "evaluation",
    FederationParameters: "federation",
    Export: "export",
    Flexible: "flexible",
    Fusegen: "fusegen",
    Ingest: "ingest",
    LargeFedBench: "largefedbench",
    Release: "release",
    Calendar: "calendar",
    Partition: "partition",
    Pe: "pe",
    PeSft: "pe_sft",
    Planning: "plan",
    Policies: "policies",
    Popri: "popri",
    Pretraining: "pretrain",
    Privacy: "privacy",
    Silos: "silos",
    Task: "task",
    Wasp: "wasp",
    ZeroShot: "zero_shot",
    # parts of groups; where there are several of a kind, one of them
    CausalTraining: "pe_sft.training",
    ClassifierTraining: "classification.training",
    DpDescent: "dp_classifier.training",
    DpSgd: "dp_sgd_generation.training",
    Entities: "evaluation.entities",
    Questions: "evaluation.questions",
    Gap: "dpprefsyn.gap",
    HeadTraining: "dpprefsyn.training",
    LabelledWriting: "zero_shot.writing",
    LocalTraining: "dp_fedavg.local",
    Lora: "popri.preference.lora",
    MaskFilling: "pe.masks",
    Membership: "policies.membership",
    NeuralReward: "policies.neural_reward",
    PairTokens: "dp_ft.tokens",
    AdapterTraining: "popri.preference",
    Recipe: "pretrain.generator",
    Requests: "ingest.requests",
    Rewarded: "dpprefsyn.rloo",
    Sampler: "popri.sampler",
    ServerOptimizer: "dp_fedavg.server",
    SiloTraining: "flexible.training",
    Splitting: "largefedbench.split",
    Texts: "described.texts",
    Topics: "described.topics",
    TunedTraining: "evaluation.training",
    UntunedControl: "evaluation.untuned",
}
Kind = TypeVar("Kind", bound=Parameters)


def conf_base(kind: type[Kind], given: Mapping[str, Any] | None = None, /, **changes: Any) -> Kind:
    """Return a `kind` with the values of conf/base, overridden by `given` and `changes`, mappings key by key.

    Raises:
        ValidationError: the values do not fit the model, or each other.
    """
    values: Any = parameters()
    for name in HOMES[kind].split("."):
        values = values[name]
    return kind.model_validate(deep_merge(values, {**(given or {}), **changes}))


@cache
def parameters() -> dict[str, Any]:
    """Return all groups of conf/base as a run without text settings reads them; `${data_root:}` and the like stay."""
    groups: dict[str, Any] = {}
    for path in sorted(BASE.glob("parameters/*.yml")):
        written = SAMPLE_AND_MORE.sub(_longer, GIVEN_ELSE_GLOBAL.sub(_global, path.read_text(encoding="utf-8")))
        for asked, answer in ANSWERS.items():
            written = written.replace(f'"${{{asked}}}"', answer)
        groups |= read(written)
    return deep_merge(with_defaults(groups), _comparisons())


def _comparisons() -> dict[str, Any]:
    """Return entries and claims of conf/base/compare, under the groups `compare` and `claims`."""
    found: dict[str, Any] = {}
    for path in sorted(BASE.glob("compare/*.yml")):
        found = deep_merge(found, read(path.read_text(encoding="utf-8")))
    models = yaml.safe_load((BASE / "globals.yml").read_text(encoding="utf-8"))["models"]
    return comparisons(found, models)


def _longer(mention: re.Match[str]) -> str:
    length: int = yaml.safe_load((BASE / "parameters/corpus.yml").read_text(encoding="utf-8"))["chunking"]["length"]
    return str(length + int(mention["more"]))


def _global(mention: re.Match[str]) -> str:
    value: Any = yaml.safe_load((BASE / "globals.yml").read_text(encoding="utf-8"))
    for name in mention["name"].split("."):
        value = value[name]
    return json.dumps(value)
