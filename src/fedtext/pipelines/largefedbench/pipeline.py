"""largefedbench: raw pages -> records -> cleaned -> chunks -> splits -> snapshot, in one streaming node."""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.largefedbench.nodes import build_largefedbench, describe_largefedbench, draw_largefedbench


def create_pipeline() -> Pipeline:
    """The build and what is read off it.

    The snapshot's path is handed on in memory: every run looks at the raw pages again, and a snapshot that is already
    what they give is verified and kept.
    """
    return Pipeline(
        [
            node(build_largefedbench, "params:largefedbench", "largefedbench_snapshot", name="build_largefedbench"),
            node(
                describe_largefedbench,
                "largefedbench_snapshot",
                ["largefedbench_provenance", "largefedbench_card"],
                name="describe_largefedbench",
            ),
            node(
                draw_largefedbench,
                ["largefedbench_snapshot", "encoder", "params:largefedbench"],
                ["largefedbench_tokens", "largefedbench_map"],
                name="draw_largefedbench",
            ),
        ]
    )
