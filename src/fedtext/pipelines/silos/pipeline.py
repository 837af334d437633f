"""silos: in place of a private corpus and its clients, the silos that keep the text, and public samples to show.

No data set of it is private: what comes from a silo carries its noise, so the flow check has nothing to follow here.
"""

from kedro.pipeline import Pipeline, node

from fedtext.pipelines.clients.nodes import embed_public_samples
from fedtext.pipelines.partition.nodes import chunk_public_records
from fedtext.pipelines.silos import nodes

FEDERATION, CARDS = "params:federation", "silo_cards"


def create_pipeline() -> Pipeline:
    """Create the silos' cards, the population that they declare, and the public samples with their embeddings."""
    return Pipeline(
        [
            node(
                nodes.meet_silos,
                [FEDERATION, "params:privacy", "encoder"],
                [CARDS, "population"],
                name="meet_silos",
            ),
            node(
                chunk_public_records,
                ["public_records", "chunk_tokenizer", "params:chunking", "params:corpus.public_samples"],
                "public_samples",
                name="chunk_public_records",
            ),
            node(embed_public_samples, ["public_samples", "encoder"], "public_embeddings", name="embed_public_samples"),
        ]
    )
