"""silos: in place of a private corpus and its clients, the silos that keep the text, and public samples to show.

An algorithm's graph is the same as ever, but for the nodes that read private data: in the place of each stands one that
asks the silos (`asking`). No data set is private then, for what comes from a silo carries its noise.
"""

from collections.abc import Callable
from typing import Any

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.clients.nodes import embed_public_samples
from fedtext.pipelines.flexible import nodes as flexible
from fedtext.pipelines.partition.nodes import chunk_public_records
from fedtext.pipelines.pe import nodes as pe
from fedtext.pipelines.popri import nodes as popri
from fedtext.pipelines.silos import nodes
from fedtext.pipelines.wasp import nodes as wasp
from fedtext.privacy.flow.check import last_part
from fedtext.system.errors import InputError

FEDERATION, CARDS, ENCODER = "params:federation", "silo_cards", "encoder"
ASKING = ("popri", "pe", "wasp", "flexible")  # the algorithms that can ask silos
# The function that stands in the place of another, and what it takes before the other's public inputs.
INSTEAD: dict[Callable[..., Any], tuple[Callable[..., Any], tuple[str, ...]]] = {
    popri.open_popri_ledger: (nodes.open_popri_ledger, (CARDS,)),
    popri.release_mean_features: (nodes.ask_mean_features, (FEDERATION, ENCODER)),
    popri.score_candidates: (nodes.ask_scores, (FEDERATION,)),
    pe.open_evolution_ledger: (nodes.open_evolution_ledger, (CARDS,)),
    pe.count_votes: (nodes.ask_votes, (FEDERATION,)),
    wasp.open_wasp_ledger: (nodes.open_wasp_ledger, (CARDS,)),
    wasp.release_class_means: (nodes.ask_class_means, (FEDERATION, ENCODER)),
    wasp.cast_votes: (nodes.ask_top_q, (FEDERATION,)),
    wasp.sum_votes_by_model: (nodes.ask_model_sums, (FEDERATION,)),
    flexible.count_silos: (nodes.units_of_silos, (CARDS,)),
    flexible.declare_silos: (nodes.units_of_silos, (CARDS,)),
    flexible.open_flexible_ledger: (nodes.open_flexible_ledger, (CARDS,)),
    flexible.train_strong_silos: (nodes.ask_to_train, (FEDERATION,)),
    flexible.count_codes: (nodes.ask_profile, (FEDERATION,)),
    flexible.cast_votes: (nodes.ask_nearest_votes, (FEDERATION,)),
    flexible.release_code_means: (nodes.ask_code_means, (FEDERATION, ENCODER)),
}


def create_pipeline() -> Pipeline:
    """Create the silos' cards, the population that they declare, and the public samples with their embeddings."""
    return Pipeline(
        [
            node(nodes.meet_silos, [FEDERATION, "params:privacy", ENCODER], [CARDS, "population"], name="meet_silos"),
            node(
                chunk_public_records,
                ["public_records", "chunk_tokenizer", "params:chunking", "params:corpus.public_samples"],
                "public_samples",
                name="chunk_public_records",
            ),
            node(embed_public_samples, ["public_samples", ENCODER], "public_embeddings", name="embed_public_samples"),
        ]
    )


def asking(pipeline: Pipeline) -> Pipeline:
    """Return an algorithm's pipeline in which silos are asked in place of reading private data.

    Raises:
        ValueError: A node reads private data in a way that silos do not answer.
    """
    return Pipeline([new for one in pipeline.nodes if (new := _asking(one)) is not None])


def _asking(one: Node) -> Node | None:
    public = [name for name in one.inputs if not _is_private(name)]
    if (instead := INSTEAD.get(one.func)) is not None:
        function, before = instead
        return one._copy(func=function, inputs=[*before, *public])
    if len(public) == len(one.inputs):
        return one
    if all(map(_is_private, one.outputs)):
        return None  # a silo does this by itself
    raise InputError(
        f"{one.name} reads private text in a way that silos do not answer: choose settings by which votes, counts, "
        "class means or mean features suffice, as popri.checkpoint=released_score",
        code="not-answered-by-silos",
        value=one.name,
    )


def _is_private(name: str) -> bool:
    return last_part(name).startswith("private_")
