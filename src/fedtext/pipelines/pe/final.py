"""What happens once, after the rounds: the synthetic data set, the records of the rounds and the privacy report."""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.pe.nodes import final as nodes
from fedtext.pipelines.pe.nodes.rounds import embed_texts
from fedtext.pipelines.pe.setup import CHUNKING, EVOLUTION, NAME, evolution_node
from fedtext.wiring.unrolling import round_dataset


def final_pipeline(rounds: int, final: str) -> Pipeline:
    """From the survivors to the synthetic data set and the privacy report."""
    texts = _expansion(rounds) if final == "expansion" else [_last_survivors(rounds)]
    return Pipeline([*texts, *_synthetic(), *_records(rounds)])


def _expansion(rounds: int) -> list[Node]:
    return [
        evolution_node(
            nodes.draw_seed_prompts,
            ["public_samples", EVOLUTION, *_of_all_rounds(rounds, "survivors")],
            f"{NAME}.final_prompts",
            name="draw_seed_prompts",
        ),
        evolution_node(
            nodes.expand_seeds,
            ["generator", f"{NAME}.final_prompts", EVOLUTION, CHUNKING],
            f"{NAME}.final_texts",
            name="expand_seeds",
        ),
    ]


def _last_survivors(rounds: int) -> Node:
    return evolution_node(
        nodes.take_last_survivors,
        round_dataset(NAME, rounds, "survivors"),
        f"{NAME}.final_texts",
        name="take_last_survivors",
    )


def _synthetic() -> list[Node]:
    return [
        evolution_node(
            embed_texts, [f"{NAME}.final_texts", "encoder"], f"{NAME}.final_embeddings", name="embed_final_texts"
        ),
        evolution_node(
            nodes.keep_synthetic_texts,
            [f"{NAME}.final_texts", f"{NAME}.final_embeddings", EVOLUTION],
            [f"{NAME}_synthetic", f"{NAME}_synthetic_embeddings"],
            name="keep_synthetic_texts",
        ),
    ]


def _records(rounds: int) -> list[Node]:
    return [
        evolution_node(
            nodes.collect_round_embeddings,
            _of_all_rounds(rounds, "candidate_embeddings"),
            f"{NAME}_round_embeddings",
            name="collect_round_embeddings",
        ),
        evolution_node(
            nodes.count_votes_exchanged,
            [round_dataset(NAME, rounds, "candidate_embeddings"), "population", EVOLUTION, "params:privacy"],
            f"{NAME}_cost",
            name="count_votes_exchanged",
        ),
        evolution_node(
            nodes.report_evolution,
            round_dataset(NAME, rounds, "state"),
            f"{NAME}_rounds",
            name="report_evolution",
        ),
        evolution_node(
            nodes.hand_over,
            [round_dataset(NAME, rounds, "ledger"), *_of_all_rounds(rounds, "survivors")],
            [f"{NAME}_ledger", f"{NAME}_survivors"],
            name="hand_over",
        ),
        evolution_node(
            nodes.write_evolution_report,
            [round_dataset(NAME, rounds, "ledger"), "release_history"],
            [f"{NAME}_privacy_report", f"{NAME}_privacy_report_text"],
            name="write_evolution_report",
        ),
    ]


def _of_all_rounds(rounds: int, name: str) -> list[str]:
    return [round_dataset(NAME, t, name) for t in range(1, rounds + 1)]
