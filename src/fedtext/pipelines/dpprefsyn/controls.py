"""Policies to compare the run's own with: the same candidates and training, with other choices or without any.

Their nodes are the evaluation's, so that no table of costs takes them for the algorithm's.
"""

from kedro.pipeline import Node

from fedtext.params.conditions import LONGEST_POLICY, POLICY, RANDOM_POLICY, SFT_ONLY
from fedtext.pipelines.dpprefsyn import nodes
from fedtext.pipelines.dpprefsyn.alignment import DPPREFSYN, MADE, PARAMETERS, Trained, alignment
from fedtext.pipelines.evaluation.form import active_policies
from fedtext.wiring.algorithm import Control
from fedtext.wiring.config import active_group
from fedtext.wiring.unrolling import Namespace

EVALUATION = Namespace(f"evaluation.{DPPREFSYN.name}")
CANDIDATES = ["public_prompts", DPPREFSYN("candidates"), DPPREFSYN("candidate_embeddings"), PARAMETERS]
CHOICES = {RANDOM_POLICY.name: nodes.choose_at_random, LONGEST_POLICY.name: nodes.choose_longest}


def policies() -> tuple[Control, ...]:
    """The run's policy, if it aligns one, then the controls that the active parameters ask for."""
    if active_group("dpprefsyn")["alignment"] == "none":
        return ()
    return (Control(POLICY.name, MADE.policy), *(Control(name, _of(name).policy) for name in _asked()))


def control_policies() -> list[Node]:
    """What trains the controls."""
    kind, made = active_group("dpprefsyn")["alignment"], []
    for name in _asked():
        if name in CHOICES:
            chosen = EVALUATION.node(CHOICES[name], CANDIDATES, _of(name).pairs, name=CHOICES[name].__name__)
            made += [chosen, *alignment(kind, _of(name), EVALUATION)]
        else:
            made += alignment("sft", _of(name), EVALUATION)
    return made


def _of(name: str) -> Trained:
    return Trained.stage_of(name, MADE.pairs if name == SFT_ONLY.name else None)


def _asked() -> list[str]:
    """A policy that was tuned on chosen answers is no control of itself; a reward is learned from no pairs."""
    left_out = {"none": {*CHOICES, SFT_ONLY.name}, "sft": {SFT_ONLY.name}, "rloo": {*CHOICES}}
    kind = active_group("dpprefsyn")["alignment"]
    return [name for name in active_policies().controls if name not in left_out.get(kind, ())]
