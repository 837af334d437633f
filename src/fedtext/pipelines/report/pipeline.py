"""report: scorecard, figures and the page that says it all, for any algorithm's run."""

from functools import partial

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.report import nodes

report_node = partial(node, namespace="report", tags="report")


def create_pipeline(algorithm: str = "popri") -> Pipeline:
    """From accuracies, distances and the privacy report to `scorecard.json` and `report.html`."""
    figures = {name: f"{algorithm}_{name}_figure" for name in ("accuracy", "rounds", "privacy")}
    maps = [f"{algorithm}_{name}_figure" for name in ("rounds_map", "sets_map", "tokens")]
    measured = [f"{algorithm}_accuracy", f"{algorithm}_distances"]
    return Pipeline(
        [
            report_node(
                nodes.build_scorecard,
                [
                    f"{algorithm}_privacy_report",
                    *measured,
                    f"{algorithm}_synthetic_embeddings",
                    "params:corpus",
                    f"params:{algorithm}",
                ],
                f"{algorithm}_scorecard",
                name="build_scorecard",
            ),
            report_node(
                nodes.draw_figures,
                [*measured, f"{algorithm}_checkpoint", f"{algorithm}_privacy_report"],
                list(figures.values()),
                name="draw_figures",
            ),
            report_node(
                nodes.write_report,
                [f"{algorithm}_scorecard", f"{algorithm}_synthetic", *figures.values(), *maps],
                f"{algorithm}_report",
                name="write_report",
            ),
        ]
    )
