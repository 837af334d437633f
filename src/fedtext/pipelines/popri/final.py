"""What happens once, after the rounds: checkpoint, synthetic data set, its controls and the privacy report."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.popri.nodes import final as nodes
from fedtext.pipelines.popri.nodes.sampling import embed_candidates
from fedtext.pipelines.popri.rounds import candidate_embeddings, last_ledger, last_state
from fedtext.pipelines.popri.setup import NAME, POPRI, popri_node
from fedtext.privacy.tags import Tag
from fedtext.wiring.unrolling import round_dataset


def final_pipeline(rounds: int, single: bool, unaccounted: bool) -> Pipeline:
    """From the last round to the synthetic data set and the privacy report."""
    choice = _unaccounted_choice(rounds, single) if unaccounted else [_choice(rounds, single)]
    ledger = "popri.ledger_final" if unaccounted else last_ledger(rounds, single)
    return Pipeline(
        [*choice, *_synthetic(rounds, single), *_records(rounds, single, unaccounted), _privacy_report(ledger)]
    )


def _choice(rounds: int, single: bool) -> Node:
    return popri_node(
        nodes.choose_checkpoint, [last_state(rounds, single), POPRI], "popri_checkpoint", name="choose_checkpoint"
    )


def _unaccounted_choice(rounds: int, single: bool) -> list[Node]:
    """As the paper does: by private validation text, and so unaccounted."""
    return [
        node(
            nodes.embed_validation_samples,
            ["private_validation", "encoder"],
            "private_validation_embeddings",
            name="embed_validation_samples",
        ),
        popri_node(
            nodes.choose_checkpoint_unaccounted,
            ["private_validation_embeddings", last_ledger(rounds, single), *candidate_embeddings(rounds, single, True)],
            ["popri_checkpoint", "popri.ledger_final"],
            name="choose_checkpoint_unaccounted",
            tags=Tag.RELEASE,
        ),
    ]


def _synthetic(rounds: int, single: bool) -> list[Node]:
    adapters = ["popri.adapter", *(round_dataset(NAME, t, "adapter") for t in range(1, rounds + 1))]
    selected = ["popri.final_texts", "popri.final_embeddings", "popri_checkpoint", POPRI]
    return [
        popri_node(
            nodes.draw_final_prompts,
            ["public_samples", "popri_prompt_pool", POPRI],
            "popri.final_prompts",
            name="draw_final_prompts",
        ),
        popri_node(
            nodes.generate_final_texts,
            ["generator", "popri.final_prompts", "popri_checkpoint", POPRI, "params:chunking", *adapters],
            "popri.final_texts",
            name="generate_final_texts",
        ),
        popri_node(
            embed_candidates, ["popri.final_texts", "encoder"], "popri.final_embeddings", name="embed_final_texts"
        ),
        popri_node(
            nodes.select_synthetic,
            [*selected, "popri_released_mean"] if single else selected,
            ["popri_synthetic", "popri_synthetic_embeddings"],
            name="select_synthetic",
        ),
    ]


def _records(rounds: int, single: bool, unaccounted: bool) -> list[Node]:
    """What the evaluation and the report want to know of the rounds."""
    return [
        popri_node(
            nodes.collect_embeddings,
            candidate_embeddings(rounds, single, unaccounted),
            "popri_round_embeddings",
            name="collect_embeddings",
        ),
        popri_node(
            nodes.collect_training_logs,
            [round_dataset(NAME, t, "training_log") for t in range(1, rounds + 1)],
            "popri_training_log",
            name="collect_training_logs",
        ),
        popri_node(
            nodes.count_communication,
            ["popri.final_embeddings", "population", POPRI, "params:privacy"],
            "popri_cost",
            name="count_communication",
        ),
        popri_node(
            nodes.report_rounds,
            [last_state(rounds, single), "popri_checkpoint"],
            "popri_rounds",
            name="report_rounds",
        ),
    ]


def _privacy_report(ledger: str) -> Node:
    return popri_node(
        nodes.write_privacy_report,
        [ledger, "release_history"],
        ["popri_privacy_report", "popri_privacy_report_text"],
        name="write_privacy_report",
    )
