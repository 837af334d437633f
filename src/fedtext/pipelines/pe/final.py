"""What happens once, after the rounds: the synthetic data set, and what is handed over of the rounds."""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.handover.pipeline import last_ledger, round_embeddings
from fedtext.pipelines.pe.nodes import final as nodes
from fedtext.pipelines.pe.nodes.rounds import embed_texts
from fedtext.pipelines.pe.setup import CHUNKING, EVOLUTION, PE, SURVIVORS
from fedtext.wiring.outputs import Outputs

MADE = Outputs(PE.name)


def final_pipeline(rounds: int, final: str) -> Pipeline:
    """From the survivors to the synthetic data set."""
    texts = _expansion(rounds) if final == "expansion" else [_last_survivors(rounds)]
    return Pipeline([*texts, *_synthetic(), *_records(rounds)])


def _expansion(rounds: int) -> list[Node]:
    return [
        PE.node(
            nodes.draw_seed_prompts,
            ["public_samples", EVOLUTION, *PE.rounds(rounds, "survivors")],
            PE("final_prompts"),
            name="draw_seed_prompts",
        ),
        PE.node(
            nodes.expand_seeds,
            ["generator", PE("final_prompts"), EVOLUTION, CHUNKING],
            PE("final_texts"),
            name="expand_seeds",
        ),
    ]


def _last_survivors(rounds: int) -> Node:
    return PE.node(
        nodes.take_last_survivors,
        PE.round(rounds, "survivors"),
        PE("final_texts"),
        name="take_last_survivors",
    )


def _synthetic() -> list[Node]:
    return [
        PE.node(embed_texts, [PE("final_texts"), "encoder"], PE("final_embeddings"), name="embed_final_texts"),
        PE.node(
            nodes.keep_synthetic_texts,
            [PE("final_texts"), PE("final_embeddings"), EVOLUTION],
            [MADE.synthetic, MADE.synthetic_embeddings],
            name="keep_synthetic_texts",
        ),
    ]


def _records(rounds: int) -> list[Node]:
    return [
        PE.node(
            nodes.count_votes_exchanged,
            [PE.round(rounds, "candidate_embeddings"), "population", EVOLUTION, "params:privacy"],
            MADE.exchange,
            name="count_votes_exchanged",
        ),
        PE.node(nodes.report_evolution, PE.round(rounds, "state"), MADE.rounds, name="report_evolution"),
        PE.node(nodes.collect_survivors, PE.rounds(rounds, "survivors"), SURVIVORS, name="collect_survivors"),
        round_embeddings(PE.name, PE.rounds(rounds, "candidate_embeddings")),
        last_ledger(PE.name, PE.round(rounds, "ledger")),
    ]
