"""pe: first candidates, T unrolled rounds of votes and variations, and the final set.

Every round reads private data once, for its noisy histogram, and charges the ledger.

- Before the rounds private data are not read.
- The rounds are copies of one round's nodes; each passes survivors, state and ledger to the next.
- After the rounds come the synthetic data set and the rounds' figures.
"""

from __future__ import annotations

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.outputs.pipeline import final_texts, last_ledger, round_embeddings
from fedtext.pipelines.pe import nodes
from fedtext.pipelines.pe.nodes import vary_survivors
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Outputs, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace, unroll

PE = Namespace("pe")
SURVIVORS = "pe_survivors"  # of all rounds, for algorithms that depend on this one
EVOLUTION, PRIVACY, CHUNKING = "params:pe", "params:privacy", "params:chunking"


def setup_pipeline(form: str) -> Pipeline:
    """Create ledger, first candidates and first state."""
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


def writing_model(variation: str) -> str:
    """Return the data set of the model that writes variations."""
    return "masked_model" if variation == "mask_filling" else "generator"


def rounds_pipeline(rounds: int, variation: str, lookahead: bool) -> Pipeline:
    """Create all rounds; with a lookahead the vote is on the candidates' variations."""
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


MADE = Outputs(PE.name)


def final_pipeline(rounds: int, variation: str, final: str) -> Pipeline:
    """Create the nodes from the survivors to the synthetic data set."""
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
    """Collect all written texts; the last vote's survivors are varied too, or that vote would have no effect."""
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


def create_pipeline(settings: Settings) -> Pipeline:
    """Create Private Evolution with the form, the variation and the rounds of the active parameters."""
    chosen, rounds = settings.group("pe"), settings.rounds("pe")
    return Pipeline(
        [
            setup_pipeline(chosen["form"]),
            rounds_pipeline(rounds, chosen["variation"], bool(chosen["lookahead"])),
            final_pipeline(rounds, chosen["variation"], chosen["final"]),
        ]
    )


ALGORITHM = Algorithm(
    name="pe",
    title="Private Evolution",
    paper="Xie et al., ICML 2024 (Aug-PE); Hou et al., ICML 2024 (PrE-Text)",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
    rounds=True,
)
