"""dpprefsyn: public answers, paired by a scorer that is learned from private pairs; then a policy is aligned.

From preference pairs to a policy lead fine-tuning on the chosen answers, preference optimisation, or a reward.

The baselines' policies have the same candidates and training, with other choices or without any. Their nodes belong to
the evaluation, so that no table of costs counts them as the algorithm's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kedro.pipeline import Node, Pipeline

from fedtext.params.conditions import LONGEST_POLICY, POLICY, RANDOM_POLICY, SFT_ONLY
from fedtext.pipelines.dpprefsyn import nodes
from fedtext.pipelines.outputs.pipeline import last_ledger
from fedtext.pipelines.pairs.pipeline import EMBEDDINGS, ENROLMENT, POPULATION
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Control, Outputs, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.readers import Reader
from fedtext.wiring.unrolling import Namespace

DPPREFSYN, SOURCE, PARAMETERS = Namespace("dpprefsyn"), "params:corpus.source", "params:dpprefsyn"
MADE = Outputs(DPPREFSYN.name)


class Trained(NamedTuple):
    """The data sets of one policy.

    Attributes:
        pairs: The pairs that it is trained on.
        policy: The adapter.
        log: The training log.
        stage: The prefix of data sets in between.
    """

    pairs: str
    policy: str
    log: str
    stage: str

    @classmethod
    def stage_of(cls, stage: str, pairs: str | None = None) -> Trained:
        """Return a baseline's data sets: on pairs of its own, unless others are named."""
        adapter, log = DPPREFSYN(f"{stage}.adapter"), DPPREFSYN(f"{stage}.training_log")
        return cls(pairs or DPPREFSYN(f"{stage}.pairs"), adapter, log, stage)


OWN = Trained(MADE.pairs, MADE.policy, MADE.training_log, "sft")


def alignment(kind: str, of: Trained = OWN, place: Namespace = DPPREFSYN) -> list[Node]:
    """Create the nodes that `dpprefsyn.alignment` needs; none of them reads private data."""
    made, given = [of.policy, of.log], ["downstream", of.pairs, SOURCE, PARAMETERS]
    rewarded = ["downstream", "public_prompts", "encoder", MADE.scorers, SOURCE, PARAMETERS]
    between = of.stage if of is OWN else f"{of.stage}_sft"
    tuned, tuning_log = DPPREFSYN(f"{between}.adapter"), DPPREFSYN(f"{between}.training_log")

    def node(function: Callable[..., object], inputs: list[str], outputs: list[str]) -> Node:
        name = function.__name__ if of is OWN else f"{function.__name__}_{of.stage}"
        return place.node(function, inputs, outputs, name=name)

    kinds: dict[str, Callable[[], list[Node]]] = {
        "none": list,
        "sft": lambda: [node(nodes.tune_on_chosen, given, made)],
        "dpo": lambda: [node(nodes.prefer, given, made)],
        "sft_dpo": lambda: [
            node(nodes.tune_on_chosen, given, [tuned, tuning_log]),
            node(nodes.prefer_after_tuning, [*given, tuned], made),
        ],
        "rloo": lambda: [node(nodes.reinforce, rewarded, made)],
        "sft_rloo": lambda: [
            node(nodes.tune_on_chosen, given, [tuned, tuning_log]),
            node(nodes.reinforce_after_tuning, [*rewarded, tuned], made),
        ],
    }
    return kinds[kind]() if kind in kinds else []  # Kedro says what is wrong with the parameter


EVALUATION = Namespace(f"evaluation.{DPPREFSYN.name}")
PUBLIC_CANDIDATES = ["public_prompts", DPPREFSYN("candidates"), DPPREFSYN("candidate_embeddings"), PARAMETERS]
CHOICES = {RANDOM_POLICY.name: nodes.choose_at_random, LONGEST_POLICY.name: nodes.choose_longest}


def policies(settings: Settings) -> tuple[Control, ...]:
    """Return the run's policy, if it aligns one, then the baselines that the active parameters name."""
    if settings.group("dpprefsyn")["alignment"] == "none":
        return ()
    return (Control(POLICY.name, MADE.policy), *(Control(name, _of(name).policy) for name in _applicable(settings)))


def control_policies(settings: Settings) -> list[Node]:
    """Create the training of the baselines."""
    kind, made = settings.group("dpprefsyn")["alignment"], []
    for name in _applicable(settings):
        if name in CHOICES:
            chosen = EVALUATION.node(CHOICES[name], PUBLIC_CANDIDATES, _of(name).pairs, name=CHOICES[name].__name__)
            made += [chosen, *alignment(kind, _of(name), EVALUATION)]
        else:
            made += alignment("sft", _of(name), EVALUATION)
    return made


def _of(name: str) -> Trained:
    return Trained.stage_of(name, MADE.pairs if name == SFT_ONLY.name else None)


def _applicable(settings: Settings) -> list[str]:
    """Return the baselines that apply: a policy tuned on chosen answers is none of itself; a reward needs no pairs."""
    left_out = {"none": {*CHOICES, SFT_ONLY.name}, "sft": {SFT_ONLY.name}, "rloo": {*CHOICES}, "sft_rloo": {*CHOICES}}
    kind = settings.group("dpprefsyn")["alignment"]
    return [name for name in settings.policies.controls if name not in left_out.get(kind, ())]


PRIVACY, CORPUS = "params:privacy", "params:corpus"
PROMPTS, CANDIDATES, EMBEDDED, OPENED = (
    "public_prompts", DPPREFSYN("candidates"), DPPREFSYN("candidate_embeddings"), DPPREFSYN("ledger_open"),
)  # fmt: skip
UNLEARNED: dict[str, tuple[Callable[..., object], list[str]]] = {
    "random": (nodes.draw_random_scorer, [EMBEDDED]),
    "longest": (nodes.prefer_by_length, []),
    "shortest": (nodes.prefer_by_length, []),
    "public": (nodes.learn_public_scorer, ["encoder", SOURCE]),
}


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the pipeline: only the node that learns the scorer reads private data; the rest is post-processing."""
    chosen = settings.group("dpprefsyn")
    learning = _unlearned(chosen["form"]) if chosen["form"] in UNLEARNED else _learning()
    return Pipeline([*_public(), *learning, *_choosing(), *alignment(chosen["alignment"]), *control_policies(settings)])


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
    """Create a baseline's scorer, which does not depend on private pairs."""
    function, given = UNLEARNED[form]
    name = Reader.PUBLIC_PAIRS if form == "public" else function.__name__
    stated = DPPREFSYN.node(function, [*given, PARAMETERS], MADE.scorers, name=name)
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
    makes=OutputType.PREFERENCES,
    pipeline=create_pipeline,
    policies=policies,
)
