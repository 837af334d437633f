"""What happens once, after the rounds: the synthetic data set, and what is handed over of the rounds."""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.handover.pipeline import final_texts, last_ledger, round_embeddings
from fedtext.pipelines.pe.nodes import final as nodes
from fedtext.pipelines.pe.nodes.rounds import vary_survivors
from fedtext.pipelines.pe.rounds import writing_model
from fedtext.pipelines.pe.setup import CHUNKING, EVOLUTION, PE, SURVIVORS
from fedtext.wiring.outputs import Outputs

MADE = Outputs(PE.name)


def final_pipeline(rounds: int, variation: str, final: str) -> Pipeline:
    """From the survivors to the synthetic data set."""
    if final == "expansion":
        texts = _expansion(rounds)
    elif final == "accumulated":
        texts = _accumulated(rounds, writing_model(variation))
    else:
        texts = [_last_survivors(rounds)]
    return Pipeline([*texts, *final_texts(PE.name), *_records(rounds)])


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
        [PE.round(rounds, "survivors"), EVOLUTION],
        PE("final_texts"),
        name="take_last_survivors",
    )


def _accumulated(rounds: int, model: str) -> list[Node]:
    """The last vote's survivors are varied too, or that vote would be for nothing."""
    last, state, closing = PE.round(rounds, "survivors"), PE.round(rounds, "state"), PE("closing.candidates")
    return [
        PE.node(vary_survivors, [model, last, state, EVOLUTION, CHUNKING], closing, name="vary_last_survivors"),
        PE.node(
            nodes.collect_written,
            [EVOLUTION, *PE.rounds(rounds, "candidates"), closing],
            PE("final_texts"),
            name="collect_written",
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
