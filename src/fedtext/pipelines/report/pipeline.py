"""report: scorecard, figures and the page that says it all, for any algorithm's run."""

from functools import partial

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.report import nodes


def text_pipeline(algorithm: str) -> Pipeline:
    """The report of an algorithm that made text."""
    report_node = partial(node, namespace=f"report.{algorithm}", tags="report")
    figures = [f"{algorithm}_{name}_figure" for name in ("accuracy", "privacy", "rounds")]
    maps = [f"{algorithm}_{name}_figure" for name in ("rounds_map", "sets_map", "tokens")]
    measured = [f"{algorithm}_accuracy", f"{algorithm}_distances"]
    return _shared(algorithm) + Pipeline(
        [
            report_node(
                nodes.build_text_scorecard,
                [*_judged(algorithm), f"{algorithm}_distances", f"{algorithm}_synthetic"],
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
    report_node = partial(node, namespace=f"report.{algorithm}", tags="report")
    figures = [f"{algorithm}_{name}_figure" for name in ("accuracy", "privacy")]
    return _shared(algorithm) + Pipeline(
        [
            report_node(
                nodes.build_model_scorecard,
                _judged(algorithm),
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
    return [*reports, "params:corpus"]


def _shared(algorithm: str) -> Pipeline:
    """Figures that every report has."""
    report_node = partial(node, namespace=f"report.{algorithm}", tags="report")
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
