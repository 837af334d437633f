"""partition: records -> clients -> samples -> splits, and figures of the clients."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.partition.nodes import (
    assign_splittable_clients,
    chunk_private_records,
    chunk_public_records,
    draw_partition,
    split_samples,
    split_samples_for_open_figures,
)
from fedtext.privacy.tags import Tag
from fedtext.wiring.pipeline_settings import Settings


def create_pipeline(settings: Settings) -> Pipeline:
    """Create the samples of private and public records; private ones are split by client."""
    return Pipeline(
        [
            node(
                assign_splittable_clients,
                ["private_records", "params:partition", "params:corpus", "params:silos", "params:privacy"],
                "private_clients",
                name="assign_clients",
                tags=Tag.CHECK,  # a table that cannot be read, or partitioned, is refused before other work
            ),
            node(
                chunk_private_records,
                ["private_clients", "chunk_tokenizer", "params:chunking"],
                "private_samples",
                name="chunk_private_records",
            ),
            node(
                chunk_public_records,
                ["public_records", "chunk_tokenizer", "params:chunking", "params:corpus.public_samples"],
                "public_samples",
                name="chunk_public_records",
            ),
            node(
                split_samples if settings.evaluation.dp else split_samples_for_open_figures,
                ["private_samples", "private_clients", "params:partition"],
                ["private_train", "private_validation", "private_test"],
                name="split_samples",
                tags=Tag.SPLIT,
            ),
            *([] if settings.evaluation.dp else [_drawn()]),
        ]
    )


def _drawn() -> Node:
    """Create figures of the held-out clients: exact numbers, at no privacy cost to the test clients."""
    return node(
        draw_partition,
        ["private_test", "params:partition"],
        "partition_figure",
        name="draw_partition",
        tags=Tag.HELD_OUT,
    )
