"""What happens once, before the rounds; private data are not read here."""

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.pe.nodes import setup as nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.unrolling import Namespace

PE = Namespace("pe")
SURVIVORS = "pe_survivors"  # of all rounds, for algorithms that stand on this one
EVOLUTION, PRIVACY, CHUNKING = "params:pe", "params:privacy", "params:chunking"


def setup_pipeline(form: str) -> Pipeline:
    """Ledger, first candidates and first state."""
    return Pipeline(
        [
            PE.node(
                nodes.open_evolution_ledger,
                ["population", EVOLUTION, PRIVACY],
                PE("ledger_open"),
                name="open_evolution_ledger",
                tags=Tag.BUDGET,
            ),
            _start(form),
            PE.node(nodes.start_evolution, None, PE("state"), name="start_evolution"),
        ]
    )


def _start(form: str) -> Node:
    if form == "aug_pe":
        return PE.node(
            nodes.write_random_texts,
            ["generator", "public_samples", EVOLUTION, CHUNKING],
            PE("start"),
            name="write_random_texts",
        )
    return PE.node(nodes.draw_public_texts, ["public_samples", EVOLUTION], PE("start"), name="draw_public_texts")
