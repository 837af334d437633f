"""dp_classifier: the small classifier itself, trained on the private text by DP-SGD, beside the baselines.

It makes no data set. Where figures of held-out text are exact and classes are measured, it is compared with the
baselines of classification; else its weights and its privacy report are all that it leaves.
"""

from kedro.pipeline import Node, Pipeline

from fedtext.algorithms.dp_classifier import NAME
from fedtext.evaluation.tasks.classification import CLASSIFICATION
from fedtext.params.conditions import TRAINED_MODEL
from fedtext.pipelines.dp_classifier import nodes
from fedtext.pipelines.evaluation.downstream import compared, scores_of_controls
from fedtext.pipelines.outputs.nodes import report_writer
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Outputs
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace

OWN, MADE = Namespace(NAME), Outputs(NAME)
PARAMETERS, TASK, CORPUS, PRIVACY = f"params:{NAME}", "params:task", "params:corpus", "params:privacy"
OPENED, ROWS, TRAINED = map(OWN, ("ledger_open", "private_rows", "trained.server"))


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the training, its privacy report, and the comparison if there is one."""
    form = settings.evaluation
    judged = CLASSIFICATION in form.tasks and not form.dp
    return Pipeline([*_training(), *(_comparison(settings) if judged else [])])


def _training() -> list[Node]:
    return [
        OWN.node(
            nodes.open_dp_classifier_ledger,
            ["population", "classifier", PARAMETERS, TASK, PRIVACY],
            OPENED,
            name="open_dp_classifier_ledger",
            tags=Tag.BUDGET,
        ),
        OWN.node(nodes.embed_labelled_samples, ["private_train", "classifier"], ROWS, name="embed_labelled_samples"),
        OWN.node(
            nodes.train_classifier_privately,
            [ROWS, "private_enrolment", "private_noise_key", OPENED, "classifier", PARAMETERS, TASK],
            [TRAINED, MADE.ledger],
            name="train_classifier_privately",
            tags=Tag.RELEASE,
        ),
        OWN.node(
            report_writer(""),
            [MADE.ledger, "release_history", CORPUS, PRIVACY],
            [MADE.privacy_report, MADE.privacy_report_text],
            name="write_privacy_report",
        ),
    ]


def _comparison(settings: Settings) -> list[Node]:
    own = MADE.downstream_scores(CLASSIFICATION.name, TRAINED_MODEL.name)
    scores = scores_of_controls(CLASSIFICATION, settings.evaluation) | {TRAINED_MODEL.name: own}
    place = Namespace(f"evaluation.{NAME}")
    return [
        place.node(
            nodes.classify_by_trained,
            ["private_test_sample", "classifier", TRAINED, TASK, CORPUS],
            own,
            name="classify_by_trained",
        ),
        compared(CLASSIFICATION, place, scores, MADE.downstream(CLASSIFICATION.name)),
    ]
