"""contamination: a snapshot and a model's cutoff -> newer records, completions, likelihoods -> a report."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.contamination import nodes
from fedtext.wiring.pipeline_settings import Settings

PARAMETERS = "params:contamination"


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the four nodes.

    The on-device model serves as the generator's reference, since it has read neither side.
    """
    model = settings.group("contamination")["model"]
    reference = ["on_device"] if model == "generator" else []
    return Pipeline(
        [
            node(
                nodes.date_records,
                [PARAMETERS, "params:largefedbench.out_dir"],
                ["contamination_newer", "contamination_counts", "contamination_texts"],
                name="date_records",
            ),
            node(
                nodes.complete_texts,
                ["contamination_texts", model, PARAMETERS],
                "contamination_completions",
                name="complete_texts",
            ),
            node(
                nodes.score_likelihoods,
                ["contamination_texts", model, PARAMETERS, *reference],
                "contamination_likelihoods",
                name="score_likelihoods",
            ),
            node(
                nodes.report_contamination,
                ["contamination_counts", "contamination_completions", "contamination_likelihoods", model, PARAMETERS],
                ["contamination_report", "contamination_page"],
                name="report_contamination",
            ),
        ]
    )
