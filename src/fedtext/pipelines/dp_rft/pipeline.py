"""dp_rft: rounds of candidates, private votes for them, and a step of policy gradient; then texts of the policy."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.algorithms.dp_rft import NAME
from fedtext.pipelines.dp_rft import nodes
from fedtext.pipelines.outputs.pipeline import final_texts, last_ledger
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace, unroll

OWN = Namespace(NAME)
PARAMETERS, PRIVACY, CHUNKING = f"params:{NAME}", "params:privacy", "params:chunking"


def create_pipeline(settings: Settings) -> Pipeline:
    """Create as many rounds as are declared, each with one release, and the final texts."""
    rounds = settings.rounds(NAME)
    unrolled = unroll(
        _round,
        rounds=rounds,
        namespace=NAME,
        carried={"adapter_before": "adapter", "state_before": "state", "ledger_before": "ledger"},
        first={"adapter_before": OWN("adapter"), "state_before": OWN("state"), "ledger_before": OWN("ledger_open")},
    )
    return Pipeline([*_setup(), unrolled, *_synthetic(rounds)])


def _setup() -> list[Node]:
    return [
        OWN.node(
            nodes.open_dp_rft_ledger,
            ["population", PARAMETERS, PRIVACY],
            OWN("ledger_open"),
            name="open_dp_rft_ledger",
            tags=Tag.BUDGET,
        ),
        OWN.node(nodes.start_adapter, ["generator", PARAMETERS], OWN("adapter"), name="start_adapter"),
        OWN.node(nodes.start_state, None, OWN("state"), name="start_state"),
    ]


def _round() -> Pipeline:
    private = ["private_embeddings", "private_enrolment", "private_noise_key", "ledger_before"]
    return Pipeline(
        [
            node(nodes.draw_prompts, ["public_samples", "state_before", PARAMETERS], "prompts", name="draw_prompts"),
            node(
                nodes.write_candidates,
                ["generator", "adapter_before", "prompts", "state_before", PARAMETERS, CHUNKING],
                "candidates",
                name="write_candidates",
            ),
            node(nodes.embed_candidates, ["candidates", "encoder"], "candidate_embeddings", name="embed_candidates"),
            node(
                nodes.count_votes,
                [*private, "candidate_embeddings", "state_before", PARAMETERS],
                ["scores", "ledger"],
                name="count_votes",
                tags=Tag.RELEASE,
            ),
            node(
                nodes.reinforce,
                ["generator", "adapter_before", "prompts", "candidates", "candidate_embeddings", "scores", PARAMETERS],
                "adapter",
                name="reinforce",
            ),
            node(nodes.close_round, ["state_before", "candidates", "scores"], "state", name="close_round"),
        ]
    )


def _synthetic(rounds: int) -> list[Node]:
    made, last = ALGORITHM.outputs, OWN.round(rounds, "candidate_embeddings")
    return [
        OWN.node(
            nodes.write_final_texts,
            ["generator", OWN.round(rounds, "adapter"), "public_samples", PARAMETERS, CHUNKING],
            OWN("final_texts"),
            name="write_final_texts",
        ),
        *final_texts(NAME),
        OWN.node(
            nodes.count_exchanged, [last, "population", PARAMETERS, PRIVACY], made.exchange, name="count_exchanged"
        ),
        last_ledger(NAME, OWN.round(rounds, "ledger")),
    ]


ALGORITHM = Algorithm(
    name=NAME,
    title="DP-RFT",
    paper="Xu et al., 2026",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
)
