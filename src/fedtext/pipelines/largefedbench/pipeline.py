"""Sources -> raw pages -> a snapshot -> its release.

The pipelines are ingest, largefedbench, largefedbench_diff, half_year, release and push.
"""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.largefedbench import nodes
from fedtext.privacy.tags import Tag


def ingest_pipeline() -> Pipeline:
    """Create a polite, resumable pull from one public source: raw pages below `ingest.raw_dir`, and a report.

    The report is not saved, so that every run looks at the source again: the finished windows on disk, not the record
    of an earlier run, say what is left to do.
    """
    return Pipeline([node(nodes.pull_raw_pages, "params:ingest", "ingest_report", name="pull_raw_pages")])


def build_pipeline() -> Pipeline:
    """Create the snapshot's build in one streaming node (pages, records, chunks, splits), and its description.

    Every run looks at the raw pages again. A snapshot that they would give again is verified and kept; another one is
    a version of the data set under its own name.
    """
    return Pipeline(
        [
            node(
                nodes.build_largefedbench,
                "params:largefedbench",
                "largefedbench_snapshot",
                name="build_largefedbench",
                tags=Tag.LOOKS_AGAIN,
            ),
            node(
                nodes.describe_largefedbench,
                "largefedbench_snapshot",
                ["largefedbench_provenance", "largefedbench_card"],
                name="describe_largefedbench",
            ),
            node(
                nodes.draw_largefedbench,
                ["largefedbench_snapshot", "encoder", "params:largefedbench"],
                ["largefedbench_tokens", "largefedbench_map"],
                name="draw_largefedbench",
            ),
        ]
    )


def diff_pipeline() -> Pipeline:
    """Create the comparison of two snapshots; it is kept in memory, so that every run compares again."""
    return Pipeline(
        [
            node(
                nodes.compare_snapshots,
                ["params:old", "params:new", "params:largefedbench"],
                ["largefedbench_difference", "largefedbench_changes", "largefedbench_changed_ids"],
                name="compare_snapshots",
            )
        ]
    )


def half_year_pipeline() -> Pipeline:
    """Create a half-year's round: pull, build, compare with the snapshot before, and print what a person must look at.

    Every run looks at the sources and the pages again.
    """
    pull = node(nodes.pull_half_year, ["params:ingest", "params:calendar"], "half_year_pulled", name="pull_half_year")
    build = node(
        nodes.build_half_year,
        ["params:largefedbench", "params:calendar", "half_year_pulled"],
        "largefedbench_snapshot",
        name="build_half_year",
        tags=Tag.LOOKS_AGAIN,
    )
    review = node(
        nodes.review_half_year,
        ["largefedbench_snapshot", "params:largefedbench", "params:calendar", "half_year_pulled"],
        "half_year_review",
        name="review_half_year",
    )
    return Pipeline([pull, build, review])


def release_pipeline() -> Pipeline:
    """Create a snapshot and its release; built or found, as every run looks at the pages again."""
    build = node(
        nodes.build_largefedbench,
        "params:largefedbench",
        "largefedbench_snapshot",
        name="build_largefedbench",
        tags=Tag.LOOKS_AGAIN,
    )
    release = node(
        nodes.release_snapshot,
        ["largefedbench_snapshot", "params:largefedbench", "params:release"],
        "largefedbench_release",
        name="release_snapshot",
    )
    return Pipeline([build, release])


def push_pipeline() -> Pipeline:
    """Create the push of a release on disk to the hub, by the token in HF_TOKEN."""
    return Pipeline(
        [
            node(
                nodes.push_snapshot,
                ["params:largefedbench", "params:release"],
                "largefedbench_pushed",
                name="push_snapshot",
            )
        ]
    )
