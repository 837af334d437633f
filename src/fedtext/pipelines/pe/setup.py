"""What happens once, before the rounds; private data are not read here."""

from functools import partial

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.pe.nodes import setup as nodes
from fedtext.privacy.tags import Tag

NAME = "pe"
EVOLUTION, PRIVACY, CHUNKING = "params:pe", "params:privacy", "params:chunking"
evolution_node = partial(node, namespace=NAME)


def setup_pipeline(form: str) -> Pipeline:
    """Ledger, first candidates and first state."""
    return Pipeline(
        [
            evolution_node(
                nodes.open_evolution_ledger,
                ["population", EVOLUTION, PRIVACY],
                f"{NAME}.ledger_open",
                name="open_evolution_ledger",
                tags=Tag.BUDGET,
            ),
            _start(form),
            evolution_node(nodes.start_evolution, None, f"{NAME}.state", name="start_evolution"),
        ]
    )


def _start(form: str) -> Node:
    if form == "aug_pe":
        return evolution_node(
            nodes.write_random_texts,
            ["generator", "public_samples", EVOLUTION, CHUNKING],
            f"{NAME}.start",
            name="write_random_texts",
        )
    return evolution_node(
        nodes.draw_public_texts, ["public_samples", EVOLUTION], f"{NAME}.start", name="draw_public_texts"
    )
