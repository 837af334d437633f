"""private_only: a classifier that learns from the private text itself, beside the baselines; unprotected.

It makes no data set, only the measurement of the evaluation's condition `private`. If that condition is not allowed,
the graph has one node, which raises an error.
"""

from kedro.pipeline import Pipeline

from fedtext.evaluation.tasks.classification import CLASSIFICATION
from fedtext.pipelines.evaluation.downstream import compared, scores_of_controls
from fedtext.pipelines.private_only.nodes import check_private_only
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Outputs
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

PRIVATE_ONLY = Namespace("private_only")
UNPROTECTED = "unprotected"  # of its data sets: a name that begins with private is a private data set's


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the check, then the comparison of the baselines; their inputs are the common part of every job."""
    form, groups = settings.evaluation, ("corpus", "evaluation", "task", "classification")
    check = PRIVATE_ONLY.node(
        check_private_only,
        {name: f"params:{name}" for name in groups},
        f"{UNPROTECTED}_terms",
        name="check_private_only",
        tags=Tag.CHECK,
    )
    if form.dp or not (form.private_control and CLASSIFICATION in form.tasks):
        return Pipeline([check])
    scores, document = (
        scores_of_controls(CLASSIFICATION, form),
        Outputs(UNPROTECTED).downstream("classification"),
    )
    return Pipeline([check, compared(CLASSIFICATION, Namespace("evaluation.private_only"), scores, document)])
