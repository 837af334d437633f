"""pe: first candidates, T unrolled rounds of votes and variations, and the final set.

Every round reads private data once, for its noised histogram, and charges the ledger.
"""

from kedro.pipeline import Pipeline

from fedtext.pipelines.pe.final import final_pipeline
from fedtext.pipelines.pe.rounds import rounds_pipeline
from fedtext.pipelines.pe.setup import setup_pipeline
from fedtext.wiring.algorithm import Algorithm, Makes
from fedtext.wiring.config import active_parameters, active_rounds


def create_pipeline() -> Pipeline:
    """Private Evolution in the form, with the variation and for the rounds of the active parameters."""
    chosen, rounds = active_parameters()["pe"], active_rounds("pe")
    return Pipeline(
        [
            setup_pipeline(chosen["form"]),
            rounds_pipeline(rounds, chosen["variation"], bool(chosen["lookahead"])),
            final_pipeline(rounds, chosen["variation"], chosen["final"]),
        ]
    )


ALGORITHM = Algorithm(
    name="pe",
    title="Private Evolution",
    paper="Xie et al., ICML 2024 (Aug-PE); Hou et al., ICML 2024 (PrE-Text)",
    makes=Makes.TEXTS,
    pipeline=create_pipeline,
    rounds=True,
)
