"""popri: setup, T unrolled rounds and the final synthetic data set.

Which graph it is depends on the scoring mode: with a single release private data are read once, before the rounds, and
the rounds are post-processing; with ballots every round reads them and charges the ledger.
"""

from kedro.pipeline import Pipeline

from fedtext.params.conditions import MATCHED_CONTROL
from fedtext.params.popri import OF_WORDS, SINGLE_RELEASE
from fedtext.pipelines.popri.final import final_pipeline
from fedtext.pipelines.popri.rounds import rounds_pipeline
from fedtext.pipelines.popri.setup import setup_pipeline
from fedtext.wiring.algorithm import Algorithm, Control, Makes
from fedtext.wiring.config import active_parameters, active_rounds


def create_pipeline() -> Pipeline:
    """POPri for the rounds, the scoring mode and the checkpoint choice of the active parameters."""
    chosen = active_parameters()["popri"]
    rounds, single = active_rounds("popri"), chosen["scoring"] in SINGLE_RELEASE
    guided = chosen["scoring"] == OF_WORDS and chosen["word_guidance"] > 0
    unaccounted = chosen["checkpoint"] == "fid_on_private_validation"
    return Pipeline(
        [
            setup_pipeline(single),
            rounds_pipeline(rounds, single, unaccounted),
            final_pipeline(rounds, single, unaccounted, guided),
        ]
    )


def controls() -> tuple[Control, ...]:
    """With a single release, the public texts that match it."""
    single = active_parameters()["popri"]["scoring"] in SINGLE_RELEASE
    return (Control(MATCHED_CONTROL.name, ALGORITHM.outputs.matched_public),) if single else ()


ALGORITHM = Algorithm(
    name="popri",
    title="POPri",
    paper="Hou et al., ICML 2025",
    makes=Makes.TEXTS,
    pipeline=create_pipeline,
    rounds=True,
    controls=controls,
)
