"""report: scorecard, figures and the page that says it all, for any algorithm's run."""

from functools import partial

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.evaluation.form import active_form
from fedtext.pipelines.report import nodes
from fedtext.privacy.tags import Tag


def text_pipeline(algorithm: str) -> Pipeline:
    """The report of an algorithm that made text."""
    report_node = partial(node, namespace=f"report.{algorithm}", tags=Tag.REPORT)
    figures = [f"{algorithm}_{name}_figure" for name in ("accuracy", "privacy", "rounds")]
    held_out = ["rounds_map", "sets_map", *([] if active_form().priced else ["tokens"])]
    maps = [f"{algorithm}_{name}_figure" for name in held_out]
    measured = [f"{algorithm}_accuracy", f"{algorithm}_distances"]
    return _shared(algorithm) + Pipeline(
        [
            report_node(
                nodes.build_text_scorecard,
                [*_judged(algorithm), f"{algorithm}_distances", f"{algorithm}_synthetic", *_price(algorithm)],
                f"{algorithm}_scorecard",
                name="build_text_scorecard",
            ),
            report_node(
                nodes.draw_round_curves,
                [measured[1], f"{algorithm}_rounds"],
                f"{algorithm}_rounds_figure",
                name="draw_round_curves",
            ),
            report_node(
                nodes.write_text_report,
                [f"{algorithm}_scorecard", f"{algorithm}_synthetic", *figures, *maps],
                f"{algorithm}_report",
                name="write_text_report",
            ),
        ]
    )


def model_pipeline(algorithm: str) -> Pipeline:
    """The report of an algorithm that made a model."""
    report_node = partial(node, namespace=f"report.{algorithm}", tags=Tag.REPORT)
    figures = [f"{algorithm}_{name}_figure" for name in ("accuracy", "privacy")]
    return _shared(algorithm) + Pipeline(
        [
            report_node(
                nodes.build_model_scorecard,
                [*_judged(algorithm), *_price(algorithm)],
                f"{algorithm}_scorecard",
                name="build_model_scorecard",
            ),
            report_node(
                nodes.write_model_report,
                [f"{algorithm}_scorecard", *figures],
                f"{algorithm}_report",
                name="write_model_report",
            ),
        ]
    )


def _judged(algorithm: str) -> list[str]:
    reports = [f"{algorithm}_privacy_report", f"{algorithm}_accuracy", f"{algorithm}_cost"]
    return [*reports, "params:corpus", "params:evaluation", "params:privacy"]


def _price(algorithm: str) -> list[str]:
    """What the held-out figures cost the test clients, where they have a price."""
    return [f"{algorithm}_evaluation_privacy_report"] if active_form().priced else []


def _shared(algorithm: str) -> Pipeline:
    """Figures that every report has."""
    report_node = partial(node, namespace=f"report.{algorithm}", tags=Tag.REPORT)
    return Pipeline(
        [
            report_node(
                nodes.draw_accuracies,
                f"{algorithm}_accuracy",
                f"{algorithm}_accuracy_figure",
                name="draw_accuracies",
            ),
            report_node(
                nodes.draw_privacy_price,
                f"{algorithm}_privacy_report",
                f"{algorithm}_privacy_figure",
                name="draw_privacy_price",
            ),
        ]
    )
