"""The rounds: one round's nodes, unrolled, each copy handing adapter, state and (with ballots) ledger to the next."""

from kedro.pipeline import Node, Pipeline, node

from fedtext.pipelines.popri.nodes import rounds as nodes
from fedtext.pipelines.popri.nodes.sampling import embed_candidates
from fedtext.pipelines.popri.setup import PARAMS, POOL, POPRI, RELEASED
from fedtext.privacy.tags import Tag
from fedtext.wiring.unrolling import unroll

SHARED = ("public_samples", POOL, "generator", "encoder", RELEASED)


def rounds_pipeline(rounds: int, single: bool, unaccounted: bool) -> Pipeline:
    """All rounds; where the checkpoint can be the last adapter for what it writes, its candidates too, not trained on.

    With a single release they are scored as well, which is free; the unaccounted choice looks at them itself.
    """
    carried = {"adapter_before": "adapter", "state_before": "state"}
    first = {"adapter_before": POPRI("adapter"), "state_before": POPRI("state")}
    if not single:
        carried["ledger_before"], first["ledger_before"] = "ledger", POPRI("ledger_open")
    one_round = Pipeline([*_candidates(), *_judgement(single), _training()])
    unrolled = unroll(one_round, rounds=rounds, namespace=POPRI.name, carried=carried, first=first)
    return unrolled + _closing(rounds, single) if single or unaccounted else unrolled


def last_state(rounds: int, single: bool) -> str:
    """The state after everything that was scored."""
    return POPRI("closing.state") if single else POPRI.round(rounds, "state")


def last_ledger(rounds: int, single: bool) -> str:
    """The ledger after the last release."""
    return POPRI("ledger") if single else POPRI.round(rounds, "ledger")


def candidates(rounds: int) -> list[str]:
    """Candidates of adapter 0, 1, ... with a single release, those that no round trained on last."""
    return [*POPRI.rounds(rounds, "candidates"), POPRI("closing.candidates")]


def candidate_embeddings(rounds: int, single: bool, unaccounted: bool) -> list[str]:
    """Embeddings of the candidates of adapter 0, 1, ...: adapter t makes those of round t + 1."""
    closing = [POPRI("closing.candidate_embeddings")] if single or unaccounted else []
    return [*POPRI.rounds(rounds, "candidate_embeddings"), *closing]


def _candidates() -> list[Node]:
    return [
        node(
            nodes.draw_prompts,
            ["public_samples", POOL, "state_before", PARAMS],
            "prompts",
            name="draw_prompts",
        ),
        node(
            nodes.generate_candidates,
            ["generator", "adapter_before", "prompts", "state_before", PARAMS, "params:chunking"],
            "candidates",
            name="generate_candidates",
        ),
        node(embed_candidates, ["candidates", "encoder"], "candidate_embeddings", name="embed_candidates"),
    ]


def _judgement(single: bool) -> list[Node]:
    """Scores, pairs and the state handed on."""
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


def _closing(rounds: int, judged: bool) -> Pipeline:
    """The last adapter's candidates, not trained on."""
    before = {f"{name}_before": POPRI.round(rounds, name) for name in ("adapter", "state")}
    closing = Pipeline([*_candidates(), *(_judgement(single=True) if judged else ())])
    return Pipeline(
        closing,
        inputs=before | {name: name for name in SHARED if name in closing.inputs()},
        parameters={PARAMS, "params:chunking"},
        namespace=POPRI("closing"),
    )
