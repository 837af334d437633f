"""wasp: several models write side by side, T unrolled rounds of votes and contrastive prompts, all texts at the end.

Every round but the last reads private data once, for near and far votes, or all of them together once before the first.
"""

from kedro.pipeline import Pipeline

from fedtext.pipelines.wasp.final import FIGURES, final_pipeline
from fedtext.pipelines.wasp.rounds import rounds_pipeline
from fedtext.pipelines.wasp.setup import models, setup_pipeline
from fedtext.system.errors import InputError
from fedtext.wiring.algorithm import Algorithm, Makes
from fedtext.wiring.config import active_group, active_rounds


def create_pipeline() -> Pipeline:
    """WASP with the models, the votes and for the rounds of the active parameters.

    Raises:
        ValueError: there are fewer than two rounds, so that no vote could change anything.
    """
    chosen, rounds = active_group("wasp"), active_rounds("wasp")
    if rounds < 2:
        raise InputError(f"wasp.rounds is {rounds}: a vote changes what is written after it, so take at least 2")
    votes = chosen["votes"]
    return Pipeline(
        [
            setup_pipeline(votes),
            rounds_pipeline(rounds, models(), votes, chosen["model_sums"] in (True, "true")),
            final_pipeline(rounds, votes),
        ]
    )


ALGORITHM = Algorithm(
    name="wasp",
    title="WASP",
    paper="Zou et al., ICML 2025",
    makes=Makes.TEXTS,
    pipeline=create_pipeline,
    rounds=True,
    figures=FIGURES,
)
