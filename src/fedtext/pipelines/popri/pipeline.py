"""popri: setup, T unrolled rounds and the final synthetic data set.

The graph depends on the scoring mode. With a single release private data are read once, before the rounds, and the
rounds are post-processing; with ballots every round reads them and charges the ledger.

- Before the rounds: with a single release, private data are read here. Word weights that guide candidates follow from
  the release and public texts, before the first candidate.
- The rounds are copies of one round's nodes; each passes adapter, state and (with ballots) ledger to the next.
- After the rounds come the checkpoint, the synthetic data set and the rounds' figures.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedro.pipeline import Node, Pipeline, node

from fedtext.algorithms.popri.checkpoints import Checkpoints
from fedtext.params.conditions import MATCHED_CONTROL
from fedtext.params.popri import OF_WORDS, SINGLE_RELEASE, WITH_CANDIDATES
from fedtext.pipelines.outputs import pipeline as outputs
from fedtext.pipelines.popri import nodes
from fedtext.pipelines.popri.nodes import embed_candidates
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, Control, Outputs, OutputType
from fedtext.wiring.pipeline_settings import Settings
from fedtext.wiring.unrolling import Namespace, unroll

POPRI = Namespace("popri")
PARAMS, PRIVACY = "params:popri", "params:privacy"
HELD = ("private_enrolment", "private_noise_key")
PAIRED = ("candidates", "candidate_embeddings", "pairs")  # of a round, which tell the chosen and the rejected ones
POOL, RELEASED, WORDS = "popri_prompt_pool", "popri_released_mean", "popri_word_weights"


@dataclass(frozen=True)
class Guidance:
    """What the words of the release guide: the candidates of every round, the final texts, or neither."""

    candidates: bool
    texts: bool


def setup_pipeline(single: bool, guidance: Guidance) -> Pipeline:
    """Create ledger, adapter 0, first state, prompt pool, and the single release with its word weights, if any."""
    weights = [_word_weights()] if guidance.candidates else []
    return Pipeline([*_start(), *([*_single_release(), *weights] if single else [_whole_pool()])])


def _start() -> list[Node]:
    return [
        POPRI.node(
            nodes.open_popri_ledger,
            ["population", "encoder", PARAMS, PRIVACY],
            POPRI("ledger_open"),
            name="open_popri_ledger",
            tags=Tag.BUDGET,
        ),
        POPRI.node(nodes.start_adapter, ["generator", PARAMS], POPRI("adapter"), name="start_adapter"),
        POPRI.node(nodes.start_state, None, POPRI("state"), name="start_state"),
    ]


def _single_release() -> list[Node]:
    """Create the one release and its uses for public text: the prompt pool and a baseline."""
    return [
        POPRI.node(
            nodes.release_mean_features,
            ["private_train", "private_embeddings", *HELD, POPRI("ledger_open"), PARAMS],
            [RELEASED, POPRI("ledger")],
            name="release_mean_features",
            tags=Tag.RELEASE,
        ),
        POPRI.node(
            nodes.match_public_samples,
            ["public_samples", "public_embeddings", RELEASED, PARAMS],
            POOL,
            name="match_public_samples",
        ),
        POPRI.node(
            nodes.write_control_texts,
            ["generator", POPRI("adapter"), "public_samples", PARAMS, "params:chunking"],
            POPRI("control_texts"),
            name="write_control_texts",
        ),
        POPRI.node(
            embed_candidates,
            [POPRI("control_texts"), "encoder"],
            POPRI("control_embeddings"),
            name="embed_control_texts",
        ),
        POPRI.node(
            nodes.match_public_control,
            [
                *("public_samples", "public_embeddings"),
                *(POPRI("control_texts"), POPRI("control_embeddings"), RELEASED, PARAMS),
            ],
            Outputs(POPRI.name).matched_public,
            name="match_public_control",
        ),
    ]


def _word_weights() -> Node:
    """Weigh words before the first candidate, against public samples alone."""
    return POPRI.node(nodes.weigh_words, ["public_samples", PARAMS, RELEASED], WORDS, name="weigh_words")


def _whole_pool() -> Node:
    return POPRI.node(nodes.all_public_samples, "public_samples", POOL, name="all_public_samples")


SHARED = ("public_samples", POOL, "generator", "encoder", RELEASED, WORDS)


def rounds_pipeline(made: Checkpoints, guidance: Guidance) -> Pipeline:
    """Create all rounds, and the last adapter's candidates, not trained on, if that adapter can be the checkpoint.

    With a single release they are scored as well, at no privacy cost; the unaccounted choice reads them itself.
    """
    single = made.single_release
    carried = {"adapter_before": "adapter", "state_before": "state"}
    first = {"adapter_before": POPRI("adapter"), "state_before": POPRI("state")}
    if not single:
        carried["ledger_before"], first["ledger_before"] = "ledger", POPRI("ledger_open")
    one_round = Pipeline([*_candidates(guidance), *_judgement(single), _training()])
    unrolled = unroll(one_round, rounds=made.rounds, namespace=POPRI.name, carried=carried, first=first)
    return unrolled + _last_candidates(made, guidance) if made.last_writes else unrolled


def last_state(made: Checkpoints) -> str:
    """Return the state after everything that was scored."""
    return POPRI("closing.state") if made.single_release else POPRI.round(made.rounds, "state")


def last_ledger(made: Checkpoints) -> str:
    """Return the ledger after the last release."""
    return POPRI("ledger") if made.single_release else POPRI.round(made.rounds, "ledger")


def of_each_adapter(made: Checkpoints, dataset: str) -> list[str]:
    """Return the `candidates` or `candidate_embeddings` of adapter 0, 1, ...: adapter t writes those of round t + 1."""
    closing = [POPRI(f"closing.{dataset}")] if made.last_writes else []
    return [*POPRI.rounds(made.rounds, dataset), *closing]


def _candidates(guidance: Guidance) -> list[Node]:
    write, words = (
        (nodes.generate_guided_candidates, [WORDS]) if guidance.candidates else (nodes.generate_candidates, [])
    )
    return [
        node(
            nodes.draw_prompts,
            ["public_samples", POOL, "state_before", PARAMS],
            "prompts",
            name="draw_prompts",
        ),
        node(
            write,
            ["generator", "adapter_before", "prompts", "state_before", PARAMS, "params:chunking", *words],
            "candidates",
            name="generate_candidates",
        ),
        node(embed_candidates, ["candidates", "encoder"], "candidate_embeddings", name="embed_candidates"),
    ]


def _judgement(single: bool) -> list[Node]:
    """Create scores, pairs and the next state."""
    judged = ["state_before", "candidates", "candidate_embeddings", "scores", "pairs", PARAMS]
    if single:
        judged.append(RELEASED)
    return [
        _score_by_release() if single else _score_candidates(),
        node(
            nodes.choose_preference_pairs,
            ["prompts", "candidates", "scores", PARAMS],
            "pairs",
            name="choose_preference_pairs",
        ),
        node(nodes.close_round, judged, "state", name="close_round"),
    ]


def _score_by_release() -> Node:
    return node(
        nodes.score_by_release,
        ["candidates", "candidate_embeddings", RELEASED, PARAMS],
        "scores",
        name="score_by_release",
    )


def _score_candidates() -> Node:
    private = ["private_embeddings", "private_enrolment", "private_noise_key", "ledger_before"]
    return node(
        nodes.score_candidates,
        [*private, "candidates", "candidate_embeddings", "state_before", PARAMS],
        ["scores", "ledger"],
        name="score_candidates",
        tags=Tag.RELEASE,
    )


def _training() -> Node:
    return node(
        nodes.train_policy,
        ["generator", "adapter_before", "pairs", "state_before", PARAMS],
        ["adapter", "training_log"],
        name="train_policy",
    )


def _last_candidates(made: Checkpoints, guidance: Guidance) -> Pipeline:
    """Create the last adapter's candidates, not trained on."""
    before = {f"{name}_before": POPRI.round(made.rounds, name) for name in ("adapter", "state")}
    closing = Pipeline([*_candidates(guidance), *(_judgement(single=True) if made.single_release else ())])
    return Pipeline(
        closing,
        inputs=before | {name: name for name in SHARED if name in closing.inputs()},
        parameters={PARAMS, "params:chunking"},
        namespace=POPRI("closing"),
    )


OWN, CHECKPOINT = Outputs(POPRI.name), "popri_checkpoint"


def final_pipeline(made: Checkpoints, guidance: Guidance, *, has_readers: bool) -> Pipeline:
    """Create the nodes from the last round to the synthetic data set, and to texts for readers, if there are any."""
    return Pipeline(
        [
            *(_unaccounted_choice(made) if made.unaccounted else _choice(made)),
            *(_guided_texts(made, guidance) if guidance.texts else _texts(made)),
            *_synthetic(made),
            *([_for_reading(made, guidance)] if has_readers else []),
            *_records(made),
        ]
    )


def _choice(made: Checkpoints) -> list[Node]:
    return [
        POPRI.node(nodes.choose_checkpoint, [last_state(made), PARAMS], CHECKPOINT, name="choose_checkpoint"),
        outputs.last_ledger(POPRI.name, last_ledger(made)),
    ]


def _unaccounted_choice(made: Checkpoints) -> list[Node]:
    """Choose as the paper does: by private validation text, and so unaccounted."""
    return [
        node(
            nodes.embed_validation_samples,
            ["private_validation", "encoder"],
            "private_validation_embeddings",
            name="embed_validation_samples",
        ),
        POPRI.node(
            nodes.choose_checkpoint_unaccounted,
            ["private_validation_embeddings", last_ledger(made), *of_each_adapter(made, "candidate_embeddings")],
            [CHECKPOINT, OWN.ledger],
            name="choose_checkpoint_unaccounted",
            tags=Tag.RELEASE,
        ),
    ]


def _texts(made: Checkpoints) -> list[Node]:
    return [
        POPRI.node(
            nodes.generate_final_texts,
            [*_prompt_inputs(), *_adapters(made)],
            POPRI("final_texts"),
            name="generate_final_texts",
        )
    ]


def _guided_texts(made: Checkpoints, guidance: Guidance) -> list[Node]:
    """Create the texts by the words of the release, weighed here against all candidates where these are unguided."""
    weights = POPRI.node(
        nodes.weigh_words_by_candidates,
        ["public_samples", PARAMS, RELEASED, *of_each_adapter(made, "candidates")],
        WORDS,
        name="weigh_words",
    )
    return [
        *([] if guidance.candidates else [weights]),
        POPRI.node(
            nodes.generate_guided_texts,
            [*_prompt_inputs(), WORDS, *_adapters(made)],
            POPRI("final_texts"),
            name="generate_final_texts",
        ),
    ]


def _for_reading(made: Checkpoints, guidance: Guidance) -> Node:
    write, words = (nodes.write_guided_for_reading, [WORDS]) if guidance.texts else (nodes.write_for_reading, [])
    return POPRI.node(
        write,
        [*_prompt_inputs(), "params:for_reading", *words, *_adapters(made)],
        OWN.reading_pool,
        name="write_for_reading",
    )


def _prompt_inputs() -> list[str]:
    return ["generator", POPRI("final_prompts"), CHECKPOINT, PARAMS, "params:chunking"]


def _adapters(made: Checkpoints) -> list[str]:
    return [POPRI("adapter"), *POPRI.rounds(made.rounds, "adapter")]


def _synthetic(made: Checkpoints) -> list[Node]:
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
            nodes.select_synthetic_by_release if made.single_release else nodes.select_synthetic,
            [*selected, RELEASED, *of_each_adapter(made, "candidates"), *of_each_adapter(made, "candidate_embeddings")]
            if made.single_release
            else selected,
            [OWN.synthetic, OWN.synthetic_embeddings],
            name="select_synthetic",
        ),
    ]


def _records(made: Checkpoints) -> list[Node]:
    """Create the rounds' figures for the evaluation and the report."""
    return [
        outputs.round_embeddings(POPRI.name, of_each_adapter(made, "candidate_embeddings")),
        POPRI.node(
            nodes.collect_training_logs,
            POPRI.rounds(made.rounds, "training_log"),
            "popri_training_log",
            name="collect_training_logs",
        ),
        POPRI.node(
            nodes.count_communication,
            [POPRI("final_embeddings"), "population", PARAMS, "params:privacy"],
            OWN.exchange,
            name="count_communication",
        ),
        POPRI.node(
            nodes.report_rounds,
            [
                last_state(made),
                CHECKPOINT,
                PARAMS,
                *(one for name in PAIRED for one in POPRI.rounds(made.rounds, name)),
            ],
            OWN.rounds,
            name="report_rounds",
        ),
    ]


def create_pipeline(settings: Settings) -> Pipeline:
    """Create POPri for the rounds, the scoring mode and the checkpoint choice of the active parameters."""
    chosen = settings.group("popri")
    made = Checkpoints(settings.rounds("popri"), chosen["scoring"], chosen["checkpoint"])
    texts = chosen["scoring"] == OF_WORDS and chosen["word_guidance"] > 0
    guidance = Guidance(candidates=texts and chosen["guided"] == WITH_CANDIDATES, texts=texts)
    return Pipeline(
        [
            setup_pipeline(made.single_release, guidance),
            rounds_pipeline(made, guidance),
            final_pipeline(made, guidance, has_readers=settings.has_readers),
        ]
    )


def controls(settings: Settings) -> tuple[Control, ...]:
    """Return the baselines: with a single release, the public texts that match it."""
    single = settings.group("popri")["scoring"] in SINGLE_RELEASE
    return (Control(MATCHED_CONTROL.name, ALGORITHM.outputs.matched_public),) if single else ()


ALGORITHM = Algorithm(
    name="popri",
    title="POPri",
    paper="Hou et al., ICML 2025",
    makes=OutputType.TEXTS,
    pipeline=create_pipeline,
    rounds=True,
    writes_for_reading=True,
    controls=controls,
)
