"""What happens once, after the rounds: checkpoint, synthetic data set, and what is handed over of the rounds."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.handover import pipeline as handover
from fedtext.pipelines.popri.nodes import final as nodes
from fedtext.pipelines.popri.nodes.sampling import embed_candidates
from fedtext.pipelines.popri.rounds import candidate_embeddings, candidates, last_ledger, last_state
from fedtext.pipelines.popri.setup import PARAMS, POOL, POPRI, RELEASED
from fedtext.privacy.tags import Tag
from fedtext.wiring.outputs import Outputs

MADE, CHECKPOINT, WORDS = Outputs(POPRI.name), "popri_checkpoint", "popri_word_weights"


def final_pipeline(rounds: int, single: bool, unaccounted: bool, guided: bool) -> Pipeline:
    """From the last round to the synthetic data set; `guided`: by the words of the release."""
    return Pipeline(
        [
            *(_unaccounted_choice(rounds, single) if unaccounted else _choice(rounds, single)),
            *(_guided_texts(rounds) if guided else _texts(rounds)),
            *_synthetic(rounds, single),
            *_records(rounds, single, unaccounted),
        ]
    )


def _choice(rounds: int, single: bool) -> list[Node]:
    return [
        POPRI.node(nodes.choose_checkpoint, [last_state(rounds, single), PARAMS], CHECKPOINT, name="choose_checkpoint"),
        handover.last_ledger(POPRI.name, last_ledger(rounds, single)),
    ]


def _unaccounted_choice(rounds: int, single: bool) -> list[Node]:
    """As the paper does: by private validation text, and so unaccounted."""
    return [
        node(
            nodes.embed_validation_samples,
            ["private_validation", "encoder"],
            "private_validation_embeddings",
            name="embed_validation_samples",
        ),
        POPRI.node(
            nodes.choose_checkpoint_unaccounted,
            ["private_validation_embeddings", last_ledger(rounds, single), *candidate_embeddings(rounds, single, True)],
            [CHECKPOINT, MADE.ledger],
            name="choose_checkpoint_unaccounted",
            tags=Tag.RELEASE,
        ),
    ]


def _texts(rounds: int) -> list[Node]:
    return [
        POPRI.node(
            nodes.generate_final_texts,
            [*_asked(), *_adapters(rounds)],
            POPRI("final_texts"),
            name="generate_final_texts",
        )
    ]


def _guided_texts(rounds: int) -> list[Node]:
    """The same by the words of the release, as far as all candidates lack them."""
    return [
        POPRI.node(
            nodes.weigh_words,
            ["public_samples", PARAMS, RELEASED, *candidates(rounds)],
            WORDS,
            name="weigh_words",
        ),
        POPRI.node(
            nodes.generate_guided_texts,
            [*_asked(), WORDS, *_adapters(rounds)],
            POPRI("final_texts"),
            name="generate_final_texts",
        ),
    ]


def _asked() -> list[str]:
    return ["generator", POPRI("final_prompts"), CHECKPOINT, PARAMS, "params:chunking"]


def _adapters(rounds: int) -> list[str]:
    return [POPRI("adapter"), *POPRI.rounds(rounds, "adapter")]


def _synthetic(rounds: int, single: bool) -> list[Node]:
    selected = [POPRI("final_texts"), POPRI("final_embeddings"), CHECKPOINT, PARAMS]
    return [
        POPRI.node(
            nodes.draw_final_prompts,
            ["public_samples", POOL, PARAMS],
            POPRI("final_prompts"),
            name="draw_final_prompts",
        ),
        POPRI.node(
            embed_candidates, [POPRI("final_texts"), "encoder"], POPRI("final_embeddings"), name="embed_final_texts"
        ),
        POPRI.node(
            nodes.select_synthetic_by_release if single else nodes.select_synthetic,
            [*selected, RELEASED, *candidates(rounds), *candidate_embeddings(rounds, True, False)]
            if single
            else selected,
            [MADE.synthetic, MADE.synthetic_embeddings],
            name="select_synthetic",
        ),
    ]


def _records(rounds: int, single: bool, unaccounted: bool) -> list[Node]:
    """What the evaluation and the report want to know of the rounds."""
    return [
        handover.round_embeddings(POPRI.name, candidate_embeddings(rounds, single, unaccounted)),
        POPRI.node(
            nodes.collect_training_logs,
            POPRI.rounds(rounds, "training_log"),
            "popri_training_log",
            name="collect_training_logs",
        ),
        POPRI.node(
            nodes.count_communication,
            [POPRI("final_embeddings"), "population", PARAMS, "params:privacy"],
            MADE.exchange,
            name="count_communication",
        ),
        POPRI.node(
            nodes.report_rounds,
            [last_state(rounds, single), CHECKPOINT],
            MADE.rounds,
            name="report_rounds",
        ),
    ]
