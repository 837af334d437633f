"""dpprefsyn: public answers to public prompts, paired by a scorer that private pairs say; then a policy is aligned."""

from collections.abc import Callable

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.dpprefsyn import nodes
from fedtext.pipelines.dpprefsyn.alignment import alignment
from fedtext.pipelines.dpprefsyn.controls import control_policies, policies
from fedtext.pipelines.handover.pipeline import last_ledger
from fedtext.pipelines.pairs.pipeline import EMBEDDINGS, ENROLMENT, POPULATION
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Makes
from fedtext.wiring.config import active_group
from fedtext.wiring.outputs import Outputs
from fedtext.wiring.readers import Reader
from fedtext.wiring.unrolling import Namespace

DPPREFSYN = Namespace("dpprefsyn")
MADE = Outputs(DPPREFSYN.name)
PARAMETERS, PRIVACY, CORPUS, SOURCE = "params:dpprefsyn", "params:privacy", "params:corpus", "params:corpus.source"
PROMPTS, CANDIDATES, EMBEDDED, OPENED = (
    "public_prompts", DPPREFSYN("candidates"), DPPREFSYN("candidate_embeddings"), DPPREFSYN("ledger_open"),
)  # fmt: skip
UNLEARNED: dict[str, tuple[Callable[..., object], list[str]]] = {
    "random": (nodes.draw_random_scorer, [EMBEDDED]),
    "longest": (nodes.prefer_by_length, []),
    "shortest": (nodes.prefer_by_length, []),
    "public": (nodes.learn_public_scorer, ["encoder", SOURCE]),
}


def create_pipeline() -> Pipeline:
    """Private data are read by the one node that learns the scorer; all that follows is post-processing."""
    chosen = active_group("dpprefsyn")
    learning = _unlearned(chosen["form"]) if chosen["form"] in UNLEARNED else _learning()
    return Pipeline([*_public(), *learning, *_choosing(), *alignment(chosen["alignment"]), *control_policies()])


def _public() -> list[Node]:
    return [
        DPPREFSYN.node(
            nodes.open_dpprefsyn_ledger,
            [POPULATION, "encoder", PARAMETERS, PRIVACY],
            OPENED,
            name="open_dpprefsyn_ledger",
            tags=Tag.BUDGET,
        ),
        DPPREFSYN.node(
            nodes.read_public_prompts,
            [CORPUS, PARAMETERS],
            PROMPTS,
            name=Reader.PROMPTS,
            tags=Tag.READS_PACKAGES,
        ),
        DPPREFSYN.node(
            nodes.write_candidates, ["generator", PROMPTS, SOURCE, PARAMETERS], CANDIDATES, name="write_candidates"
        ),
        DPPREFSYN.node(
            nodes.embed_candidates,
            [PROMPTS, CANDIDATES, "encoder", SOURCE, PARAMETERS],
            EMBEDDED,
            name="embed_candidates",
        ),
        DPPREFSYN.node(
            nodes.count_exchanged, [EMBEDDED, POPULATION, PARAMETERS, PRIVACY], MADE.exchange, name="count_exchanged"
        ),
    ]


def _learning() -> list[Node]:
    return [
        DPPREFSYN.node(
            nodes.learn_scorer,
            [EMBEDDINGS, ENROLMENT, "private_noise_key", OPENED, EMBEDDED, PARAMETERS],
            [MADE.scorers, MADE.ledger],
            name="learn_scorer",
            tags=Tag.RELEASE,
        )
    ]


def _unlearned(form: str) -> list[Node]:
    """A control's scorer, which no private pair has said anything about."""
    function, given = UNLEARNED[form]
    stated = DPPREFSYN.node(function, [*given, PARAMETERS], MADE.scorers, name=function.__name__)
    return [stated, last_ledger(DPPREFSYN.name, OPENED)]


def _choosing() -> list[Node]:
    return [
        DPPREFSYN.node(
            nodes.choose_preferences,
            [PROMPTS, CANDIDATES, EMBEDDED, MADE.scorers, PARAMETERS],
            MADE.pairs,
            name="choose_preferences",
        )
    ]


ALGORITHM = Algorithm(
    name="dpprefsyn",
    title="DPPrefSyn",
    paper="Private Data Synthesis for Preference Alignment of LLMs, under review",
    makes=Makes.PREFERENCES,
    pipeline=create_pipeline,
    policies=policies,
)
