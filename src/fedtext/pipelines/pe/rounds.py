"""The rounds: one round's nodes, unrolled, each copy handing survivors, state and ledger to the next."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.pe.nodes import rounds as nodes
from fedtext.pipelines.pe.setup import CHUNKING, EVOLUTION, PE
from fedtext.privacy.tags import Tag
from fedtext.wiring.unrolling import unroll


def writing_model(variation: str) -> str:
    """Data set of the model that writes variations."""
    return "masked_model" if variation == "mask_filling" else "generator"


def rounds_pipeline(rounds: int, variation: str, lookahead: bool) -> Pipeline:
    """All rounds; with a lookahead the vote is on what the candidates may become."""
    model = writing_model(variation)
    ahead = _lookahead(model) if lookahead else []
    voted = "lookahead_embeddings" if lookahead else "candidate_embeddings"
    return unroll(
        Pipeline([*_candidates(model), *ahead, *_judgement(voted)]),
        rounds=rounds,
        namespace=PE.name,
        carried={"survivors_before": "survivors", "state_before": "state", "ledger_before": "ledger"},
        first={
            "survivors_before": PE("start"),
            "state_before": PE("state"),
            "ledger_before": PE("ledger_open"),
        },
    )


def _candidates(model: str) -> list[Node]:
    return [
        node(
            nodes.vary_survivors,
            [model, "survivors_before", "state_before", EVOLUTION, CHUNKING],
            "candidates",
            name="vary_survivors",
        ),
        node(nodes.embed_texts, ["candidates", "encoder"], "candidate_embeddings", name="embed_texts"),
    ]


def _lookahead(model: str) -> list[Node]:
    return [
        node(
            nodes.look_ahead,
            [model, "candidates", "state_before", EVOLUTION, CHUNKING],
            "lookahead",
            name="look_ahead",
        ),
        node(
            nodes.embed_lookahead,
            ["candidate_embeddings", "lookahead", "encoder"],
            "lookahead_embeddings",
            name="embed_lookahead",
        ),
    ]


def _judgement(voted: str) -> list[Node]:
    private = ["private_embeddings", "private_enrolment", "private_noise_key", "ledger_before"]
    return [
        node(
            nodes.count_votes,
            [*private, "candidates", voted, "state_before", EVOLUTION],
            ["scores", "ledger"],
            name="count_votes",
            tags=Tag.RELEASE,
        ),
        node(
            nodes.select_survivors,
            ["candidates", "scores", "ledger", "state_before", EVOLUTION],
            "survivors",
            name="select_survivors",
        ),
        node(
            nodes.close_evolution_round,
            ["state_before", "candidates", "scores", "ledger", "survivors", EVOLUTION],
            "state",
            name="close_evolution_round",
        ),
    ]
