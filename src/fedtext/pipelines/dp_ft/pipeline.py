"""dp_ft: a model is fine-tuned on the private pairs, by SFT on one half of the units, by DPO on the other."""

from collections.abc import Callable

from kedro.pipeline import Node, Pipeline

from fedtext.algorithms.dp_ft import NAME
from fedtext.params.conditions import POLICY, SFT_ONLY
from fedtext.pipelines.dp_ft import nodes
from fedtext.pipelines.outputs.pipeline import last_ledger
from fedtext.pipelines.pairs.pipeline import ENROLMENT, POPULATION, TRAIN
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Control, Outputs, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

Reading = tuple[Callable[..., object], list[str]]  # a node's function and its inputs
TUNED = Namespace(NAME)
MADE = Outputs(NAME)
PARAMETERS, PRIVACY, SOURCE = f"params:{NAME}", "params:privacy", "params:corpus.source"
START, ROWS, OPENED = TUNED("server"), TUNED("private_rows"), TUNED("ledger_open")
SFT_WEIGHTS, SFT_ADAPTER, SFT_LEDGER = (TUNED(f"sft.{name}") for name in ("server", "adapter", "ledger"))
DPO_WEIGHTS = TUNED("dpo.server")


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the pipeline: data holders tokenise their private data, and each training is one release."""
    form = settings.group(NAME)["form"]
    trainings = {"sft": [*_tuning(MADE.policy), last_ledger(NAME, SFT_LEDGER)], "unprotected": _both("unprotected")}
    return Pipeline([*_opening(), *trainings.get(form, _both("privately"))])


def policies(settings: Settings) -> tuple[Control, ...]:
    """Return the policy, and the one after its first training, if a second follows and that baseline is declared."""
    own = Control(POLICY.name, MADE.policy)
    tuned = settings.group(NAME)["form"] != "sft" and SFT_ONLY.name in settings.policies.controls
    return (own, Control(SFT_ONLY.name, SFT_ADAPTER)) if tuned else (own,)


def _opening() -> list[Node]:
    return [
        TUNED.node(nodes.start_weights, ["downstream", PARAMETERS], START, name="start_weights", tags=Tag.START),
        TUNED.node(
            nodes.open_dp_ft_ledger,
            [POPULATION, START, PARAMETERS, PRIVACY],
            OPENED,
            name="open_dp_ft_ledger",
            tags=Tag.BUDGET,
        ),
        TUNED.node(nodes.tokenise_pairs, [TRAIN, "downstream", SOURCE, PARAMETERS], ROWS, name="tokenise_pairs"),
        TUNED.node(nodes.count_exchanged, [START, POPULATION, PARAMETERS], MADE.exchange, name="count_exchanged"),
    ]


def _both(how: str) -> list[Node]:
    """Create SFT, then DPO from the tuned generator."""
    preferring: dict[str, Reading] = {
        "privately": (
            nodes.prefer_privately,
            [*_private(SFT_LEDGER), "downstream", SFT_ADAPTER, POPULATION, PARAMETERS],
        ),
        "unprotected": (
            nodes.prefer_unprotected,
            [ROWS, ENROLMENT, SFT_LEDGER, "downstream", SFT_ADAPTER, PARAMETERS],
        ),
    }
    function, given = preferring[how]
    return [
        *_tuning(SFT_ADAPTER, how),
        TUNED.node(function, given, [DPO_WEIGHTS, MADE.ledger], name=function.__name__, tags=Tag.RELEASE),
        TUNED.node(
            nodes.write_policy,
            ["downstream", SFT_ADAPTER, DPO_WEIGHTS, PARAMETERS],
            MADE.policy,
            name="write_policy",
        ),
    ]


def _tuning(adapter: str, how: str = "privately") -> list[Node]:
    """Create SFT on the chosen answers."""
    tuning: dict[str, Reading] = {
        "privately": (nodes.tune_privately, [*_private(OPENED), "downstream", START, POPULATION, PARAMETERS]),
        "unprotected": (nodes.tune_unprotected, [ROWS, ENROLMENT, OPENED, "downstream", START, PARAMETERS]),
    }
    function, given = tuning[how]
    return [
        TUNED.node(function, given, [SFT_WEIGHTS, SFT_LEDGER], name=function.__name__, tags=Tag.RELEASE),
        TUNED.node(nodes.write_tuned, ["downstream", SFT_WEIGHTS, PARAMETERS], adapter, name="write_tuned"),
    ]


def _private(ledger: str) -> list[str]:
    return [ROWS, ENROLMENT, "private_noise_key", ledger]


ALGORITHM = Algorithm(
    name=NAME,
    title="DP-FT",
    paper="baseline of DPPrefSyn's paper",
    makes=OutputType.POLICY,
    pipeline=create_pipeline,
    policies=policies,
    assumption="Which half a unit is in follows from its own code. A half is declared larger than an even split.",
)
