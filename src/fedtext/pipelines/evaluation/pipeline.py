"""evaluation: one scorecard for every algorithm's output, text or a model, in one of two variants.

The baselines are trained and scored once for a data root, whatever is compared with them. Without DP evaluation, nodes
that read held-out private text and still write aggregates are tagged `held_out_evaluation`, and test clients are not
protected by it. With it, test clients contribute to noisy sums in declared releases (private_evaluation.py). In both
only the report reads the figures.
"""

from collections.abc import Callable
from typing import Any

from kedro.pipeline import Node, Pipeline

from fedtext.pipelines.evaluation import downstream, private_evaluation
from fedtext.pipelines.evaluation.nodes import conditions, held_out, preferences
from fedtext.pipelines.evaluation.policies import of_policies
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import EvaluationVariant, Settings
from fedtext.wiring.unrolling import Namespace

EVALUATION = Namespace("evaluation")
SETTINGS = ["params:chunking", "params:evaluation"]
COPIES = "held_out_copies"  # how much of the held-out text stands in the training text
CEILING = "private_counts_private"
DRAWS = "private_counts_draws"  # of private samples, of several sizes


def controls_pipeline(settings: Settings) -> Pipeline:
    """Create the conditions that all algorithms share, and the held-out samples' embeddings."""
    settings.validate_measures()
    form = settings.evaluation
    controls = [
        EVALUATION.node(
            held_out.embed_test_samples,
            ["private_test_sample", "encoder"],
            "private_test_embeddings",
            name="embed_test_samples",
        ),
        _scored(EVALUATION, "public_model", conditions.score_public_model, [], ["private_counts_eps0"]),
        _scored_controls(form),
    ]
    if form.has_exact_private_control:
        controls += _copies()
    if form.untuned_control:
        asked_with = ["generator", "public_samples", *SETTINGS]
        controls.append(
            EVALUATION.node(
                conditions.generate_untuned_texts, asked_with, "untuned_texts", name="generate_untuned_texts"
            )
        )
    for task in form.tasks:
        controls += downstream.controls(task, form)
    return Pipeline([*(private_evaluation.opening() if form.dp else [_drawn_samples()]), *controls])


def _copies() -> list[Node]:
    """Create the count of held-out text that stands in the training text."""
    found = EVALUATION.node(
        conditions.find_copies,
        ["private_train", "private_test_sample"],
        "private_copies",
        name="find_copies",
        tags=Tag.CONTROL,
    )
    counted = EVALUATION.node(conditions.count_copies, "private_copies", COPIES, name="count_copies", tags=Tag.HELD_OUT)
    return [found, counted]


def _scored_controls(form: EvaluationVariant) -> Node:
    public, chosen = form.public_controls, form.chosen_on_validation
    counts = [f"private_counts_{name}" for name in public]
    if not form.private_control:
        texts = list(public.values())
        return _scored(EVALUATION, "public_texts", conditions.score_texts, texts, counts, chosen=chosen)
    texts, counts = ["private_train", *public.values()], [*counts, CEILING]
    function: Callable[..., Any] = conditions.score_controls
    if form.has_exact_private_control:
        function, counts = conditions.score_controls_and_draws, [*counts, DRAWS]
    return _scored(EVALUATION, "controls", function, texts, counts, tags=Tag.CONTROL, chosen=chosen)


def judgement(algorithm: Algorithm, settings: Settings) -> Pipeline:
    """Create the evaluation of the algorithm's output on the test clients."""
    judges = {
        OutputType.TEXTS: _of_texts,
        OutputType.MODEL: _of_model,
        OutputType.PREFERENCES: _of_preferences,
        OutputType.POLICY: _of_policy,
    }
    return judges[algorithm.makes](algorithm, settings)


def _of_texts(algorithm: Algorithm, settings: Settings) -> Pipeline:
    made, place = algorithm.outputs, _place(algorithm)
    own = {control.condition: control.made for control in algorithm.controls(settings)}
    judged = {"synthetic": made.synthetic, **own}
    counts = {name: made.counts(name) for name in judged}
    scored = [
        _scored(
            place,
            "texts",
            conditions.score_texts,
            list(judged.values()),
            list(counts.values()),
            chosen=settings.evaluation.chosen_on_validation,
        ),
        place.node(
            conditions.measure_texts,
            {"evaluation": "params:evaluation", **settings.evaluation.public_controls, **judged},
            made.texts_alone,
            name="measure_texts",
        ),
    ]
    form = settings.evaluation
    compared = _controls(form) | counts
    for task in form.tasks:
        scored += downstream.of_texts(task, algorithm, judged)
    scores = {task: downstream.scores_of_all(task, algorithm, judged, form) for task in form.tasks}
    if form.dp:
        return Pipeline([*scored, *private_evaluation.of_texts(algorithm, form, compared, judged, scores)])
    scored += [downstream.compared(task, place, own, made.downstream(task.name)) for task, own in scores.items()]
    return Pipeline([*scored, _comparison(algorithm, compared, form), *_distances(algorithm, settings)])


def _of_model(algorithm: Algorithm, settings: Settings) -> Pipeline:
    """Evaluate an on-device model trained on the private text itself."""
    made = algorithm.outputs
    counts = {"trained_model": made.counts("trained_model")}
    scored = _place(algorithm).node(
        conditions.score_trained_model,
        [made.model, "on_device", "private_test_sample", *SETTINGS],
        list(counts.values()),
        name="score_trained_model",
    )
    compared = _controls(settings.evaluation) | counts
    if settings.evaluation.dp:
        return Pipeline([scored, *private_evaluation.of_model(algorithm, settings.evaluation, compared)])
    return Pipeline([scored, _comparison(algorithm, compared, settings.evaluation)])


def _of_preferences(algorithm: Algorithm, settings: Settings) -> Pipeline:
    """Evaluate pairs, by how the scorer orders test clients' own without DP evaluation; and a policy's answers."""
    answered = of_policies(algorithm, settings)
    if settings.evaluation.dp:
        return Pipeline(answered)
    made, place = algorithm.outputs, _place(algorithm)
    neural, scored = (
        (_by_neural_reward(algorithm), [made.reward_margins]) if settings.policies.neural_reward else ([], [])
    )
    ordering = place.node(
        preferences.order_held_out_pairs,
        [*OF_TEST_PAIRS, made.scorers, made.pairs, *scored],
        made.accuracy,
        name="order_held_out_pairs",
        tags=Tag.HELD_OUT,
    )
    purity = _purity(algorithm) if has_known_clusters(algorithm, settings) else []
    return Pipeline([*neural, ordering, *purity, *answered])


OF_TEST_PAIRS = ["pairs.private_test", "encoder", "params:corpus.source"]


def _by_neural_reward(algorithm: Algorithm) -> list[Node]:
    """Create a reward model of the training pairs themselves, which no budget protects."""
    return [
        _place(algorithm).node(
            preferences.score_by_neural_reward,
            ["pairs.private_train", "pairs.private_test", "downstream", "params:corpus.source", "params:policies"],
            algorithm.outputs.reward_margins,
            name="score_by_neural_reward",
            tags=Tag.CONTROL,
        )
    ]


def _purity(algorithm: Algorithm) -> list[Node]:
    candidates, made = f"{algorithm.name}.candidate_embeddings", algorithm.outputs
    return [
        _place(algorithm).node(
            preferences.measure_purity,
            [*OF_TEST_PAIRS, made.scorers, candidates, "params:annotation", f"params:{algorithm.name}"],
            made.purity,
            name="measure_purity",
            tags=Tag.HELD_OUT,
        )
    ]


def has_known_clusters(algorithm: Algorithm, settings: Settings) -> bool:
    """Whether pairs are clustered by their differences, and their annotators are simulated, so of known kinds."""
    made_up = settings.group("corpus")["source"] == "docstrings"
    if algorithm.makes is not OutputType.PREFERENCES or not made_up:
        return False
    clustered = settings.group(algorithm.name)
    return bool(clustered["form"] == "clustered" and clustered["heads_by"] == "difference")


def _of_policy(algorithm: Algorithm, settings: Settings) -> Pipeline:
    """Evaluate a policy, by how it orders test clients' own pairs without DP evaluation; and by its answers."""
    answered = of_policies(algorithm, settings)
    if settings.evaluation.dp:
        return Pipeline(answered)
    made, place = algorithm.outputs, _place(algorithm)
    ordering = place.node(
        preferences.order_by_policy,
        ["pairs.private_test", "downstream", "params:corpus.source", made.policy, f"params:{algorithm.name}"],
        made.accuracy,
        name="order_by_policy",
        tags=Tag.HELD_OUT,
    )
    return Pipeline([ordering, *answered])


def _place(algorithm: Algorithm) -> Namespace:
    return Namespace(EVALUATION(algorithm.name))


def _drawn_samples() -> Node:
    return EVALUATION.node(
        held_out.draw_held_out_samples,
        ["private_test", "params:evaluation"],
        "private_test_sample",
        name="draw_held_out_samples",
    )


def _controls(form: EvaluationVariant) -> dict[str, str]:
    return {name: f"private_counts_{name}" for name in ("eps0", *form.controls)}


def _scored(
    place: Namespace,
    name: str,
    function: Callable[..., Any],
    texts: list[str],
    counts: list[str],
    tags: Tag | None = None,
    *,
    chosen: bool = False,
) -> Node:
    """Train the on-device model on texts, each set of them by itself, and count what it gets right in held-out text.

    `chosen`: rates and epochs are chosen on the validation clients' text.
    """
    inputs = ["on_device", "private_test_sample", *SETTINGS, *texts]
    if chosen:
        function, inputs = conditions.chosen_on_validation(function), ["private_validation", *inputs]
    return place.node(function, inputs, counts, name=f"score_{name}", tags=tags)


def _comparison(algorithm: Algorithm, counts: dict[str, str], form: EvaluationVariant) -> Node:
    return _place(algorithm).node(
        conditions.compare_accuracies,
        {"private_test_sample": "private_test_sample", "partition": "params:partition", **_draws(form), **counts},
        algorithm.outputs.accuracy,
        name="compare_accuracies",
        tags=Tag.HELD_OUT,
    )


def _draws(form: EvaluationVariant) -> dict[str, str]:
    return {"private_draws": DRAWS} if form.has_exact_private_control else {}


def _distances(algorithm: Algorithm, settings: Settings) -> list[Node]:
    made, place = algorithm.outputs, _place(algorithm)
    sets = {"synthetic_embeddings": made.synthetic_embeddings, "public_embeddings": "public_embeddings"}
    held = {"private_test_embeddings": "private_test_embeddings"}
    who = {"private_test_sample": "private_test_sample"}
    rounds = {"round_embeddings": made.round_embeddings}
    measured = {**held, **sets, "evaluation": "params:evaluation"}
    drawn = [
        place.node(
            conditions.draw_sets_map,
            {**held, **who, **sets},
            made.figure("sets_map"),
            name="draw_sets_map",
            tags=Tag.HELD_OUT,
        ),
        place.node(
            conditions.draw_client_tokens,
            "private_test",
            made.figure("tokens"),
            name="draw_client_tokens",
            tags=Tag.HELD_OUT,
        ),
    ]
    if algorithm.rounds:
        measured |= {**rounds, "rounds": made.rounds}
        drawn.append(
            place.node(
                conditions.draw_rounds_map,
                {**held, **who, **rounds},
                made.figure("rounds_map"),
                name="draw_rounds_map",
                tags=Tag.HELD_OUT,
            )
        )
    function: Callable[..., Any] = conditions.measure_distances
    name = "measure_distances"
    if settings.has_mauve_of_features:
        function, name = conditions.measure_distances_and_mauve, "measure_distances_and_mauve"
        measured |= {**who, "synthetic": made.synthetic, "public_samples": "public_samples", "features": "features"}
    return [place.node(function, measured, made.distances, name=name, tags=Tag.HELD_OUT), *drawn]
