"""outputs: the outputs that every algorithm has in common: privacy report, costs and the synthetic data set."""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.outputs import nodes
from fedtext.wiring.algorithm import Algorithm, Outputs, OutputType
from fedtext.wiring.unrolling import Namespace

OF_PAIRS = (OutputType.PREFERENCES, OutputType.POLICY)  # whose private records are pairs


def create_pipeline(algorithm: Algorithm, *, has_readers: bool) -> Pipeline:
    """Create privacy report and cost, from the ledger and exchange of the algorithm, or of the one it depends on.

    Where texts have readers, the most plausible ones are chosen for them.
    """
    own, made, paid = Namespace(algorithm.name), algorithm.outputs, Outputs(algorithm.depends_on or algorithm.name)
    return Pipeline(
        [
            own.node(
                nodes.report_writer(algorithm.assumption, of_pairs=algorithm.makes in OF_PAIRS),
                [paid.ledger, "release_history", "params:corpus", "params:privacy"],
                [made.privacy_report, made.privacy_report_text],
                name="write_privacy_report",
            ),
            own.node(nodes.cost_writer(algorithm.title), paid.exchange, made.cost, name="write_cost"),
            *([_for_reading(own, algorithm)] if has_readers and algorithm.makes is OutputType.TEXTS else []),
        ]
    )


def _for_reading(own: Namespace, algorithm: Algorithm) -> Node:
    made = algorithm.outputs
    written = made.reading_pool if algorithm.writes_for_reading else made.synthetic
    return own.node(
        nodes.choose_for_reading,
        [written, "describer", "encoder", "params:described", "params:for_reading"],
        made.for_reading,
        name="choose_for_reading",
    )


def last_ledger(algorithm: str, ledger: str) -> Node:
    """Create the node that returns `ledger`, the last of an algorithm whose rounds each charge one."""
    return Namespace(algorithm).node(nodes.hand_over_ledger, ledger, Outputs(algorithm).ledger, name="hand_over_ledger")


def final_texts(algorithm: str) -> list[Node]:
    """Create the nodes from `{algorithm}.final_texts`, with their round, to the synthetic data set of that size."""
    own, made = Namespace(algorithm), Outputs(algorithm)
    texts, embeddings = own("final_texts"), own("final_embeddings")
    return [
        own.node(nodes.embed_final_texts, [texts, "encoder"], embeddings, name="embed_final_texts"),
        own.node(
            nodes.keep_final_texts,
            [texts, embeddings, f"params:{algorithm}.synthetic_texts"],
            [made.synthetic, made.synthetic_embeddings],
            name="keep_final_texts",
        ),
    ]


def public_texts(algorithm: str, written: str) -> list[Node]:
    """Create the nodes from texts that several generators wrote without private data to the synthetic data set."""
    own, made = Namespace(algorithm), Outputs(algorithm)
    return [
        own.node(
            nodes.keep_written_texts,
            [written, "encoder"],
            [made.synthetic, made.synthetic_embeddings],
            name="keep_written_texts",
        ),
        own.node(nodes.count_nothing_exchanged, written, made.exchange, name="count_nothing_exchanged"),
    ]


def round_embeddings(algorithm: str, embeddings: Sequence[str]) -> Node:
    """Create the node that collects `embeddings`, those of each round's candidates in order."""
    return Namespace(algorithm).node(
        nodes.collect_round_embeddings,
        embeddings,
        Outputs(algorithm).round_embeddings,
        name="collect_round_embeddings",
    )
