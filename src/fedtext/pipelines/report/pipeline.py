"""report: scorecard, figures and the page, for any algorithm's run."""

from kedro.pipeline import Node, Pipeline

from fedtext.params.conditions import POLICY, UNTUNED
from fedtext.pipelines.evaluation.pipeline import COPIES, has_known_clusters
from fedtext.pipelines.report import nodes
from fedtext.privacy.tags import Tag
from fedtext.wiring.algorithm import Algorithm, OutputType
from fedtext.wiring.pipeline_settings import EvaluationVariant, Settings
from fedtext.wiring.unrolling import Namespace

FACTS = "run_facts"


def reporting(algorithm: Algorithm, settings: Settings) -> Pipeline:
    """Create the report of the algorithm's output."""
    reports = {
        OutputType.TEXTS: _of_texts,
        OutputType.MODEL: _of_model,
        OutputType.PREFERENCES: _of_preferences,
        OutputType.POLICY: _of_preferences,
    }
    return Pipeline([*_shared(algorithm, settings.evaluation), *reports[algorithm.makes](algorithm, settings)])


def _of_texts(algorithm: Algorithm, settings: Settings) -> list[Node]:
    made, place = algorithm.outputs, _place(algorithm)
    figures = {"accuracy": "accuracy", "privacy": "privacy", "trade_off": "trade_off", "pca_sets": "sets_map"}
    figures |= {"rounds": "rounds", "pca_rounds": "rounds_map"} if algorithm.rounds else {}
    figures |= {} if settings.evaluation.dp else {"tokens": "tokens"}
    figures |= {name: name for name in algorithm.figures}
    tasks = {task.name: made.downstream(task.name) for task in settings.evaluation.tasks}
    shown = {place_in_page: made.figure(name) for place_in_page, name in figures.items()}
    curves = place.node(
        nodes.draw_round_curves,
        [made.distances, made.rounds],
        made.figure("rounds"),
        name="draw_round_curves",
        tags=Tag.REPORT,
    )
    return [
        place.node(
            nodes.build_text_scorecard,
            {
                **_judged(algorithm, settings.evaluation),
                "distances": made.distances,
                "texts_alone": made.texts_alone,
                "synthetic": made.synthetic,
                **tasks,
            },
            made.scorecard,
            name="build_text_scorecard",
            tags=Tag.REPORT,
        ),
        *([curves] if algorithm.rounds else []),
        place.node(
            nodes.write_text_report,
            {"card": made.scorecard, "synthetic": made.synthetic, "facts": FACTS, **shown},
            made.report,
            name="write_text_report",
            tags=Tag.REPORT,
        ),
    ]


def _of_model(algorithm: Algorithm, settings: Settings) -> list[Node]:
    made, place = algorithm.outputs, _place(algorithm)
    return [
        place.node(
            nodes.build_model_scorecard,
            _judged(algorithm, settings.evaluation),
            made.scorecard,
            name="build_model_scorecard",
            tags=Tag.REPORT,
        ),
        place.node(
            nodes.write_model_report,
            {
                "card": made.scorecard,
                "facts": FACTS,
                **{name: made.figure(name) for name in ("accuracy", "privacy", "trade_off")},
            },
            made.report,
            name="write_model_report",
            tags=Tag.REPORT,
        ),
    ]


def _of_preferences(algorithm: Algorithm, settings: Settings) -> list[Node]:
    """Report on preference pairs, or on a policy that was trained on private ones and has none to show."""
    made, place = algorithm.outputs, _place(algorithm)
    declared = {name: f"params:{name}" for name in ("corpus", "evaluation", "privacy")}
    measured = {} if settings.evaluation.dp else {"accuracy": made.accuracy}
    answered = {}
    if algorithm.policies(settings):
        judged = settings.policies
        if judged.judge:
            measured |= {"win_rates": made.win_rates}
            answers = {"by_policy": made.answers(POLICY.name), "untuned": made.answers(UNTUNED.name)}
            answered = {"prompts": made.held_out_prompts, **answers}
        measured |= {"people": made.people} if judged.judge and judged.against_people else {}
        measured |= {"membership": made.membership} if judged.membership else {}
    shown = {} if settings.evaluation.dp else {"accuracy": made.figure("accuracy")}
    if not settings.evaluation.dp and has_known_clusters(algorithm, settings):
        measured |= {"purity": made.purity}
    pairs = {"pairs": made.pairs} if algorithm.makes is OutputType.PREFERENCES else {}
    gaps = place.node(nodes.draw_gaps, made.pairs, made.figure("gaps"), name="draw_gaps", tags=Tag.REPORT)
    return [
        place.node(
            nodes.build_preference_scorecard,
            {"privacy_report": made.privacy_report, "cost": made.cost, **pairs, **declared, **measured},
            made.scorecard,
            name="build_preference_scorecard",
            tags=Tag.REPORT,
        ),
        *([gaps] if pairs else []),
        place.node(
            nodes.write_preference_report,
            {
                "card": made.scorecard,
                "facts": FACTS,
                "privacy": made.figure("privacy"),
                "trade_off": made.figure("trade_off"),
                **({**pairs, "gaps": made.figure("gaps")} if pairs else {}),
                **answered,
                **shown,
            },
            made.report,
            name="write_preference_report",
            tags=Tag.REPORT,
        ),
    ]


def _judged(algorithm: Algorithm, variant: EvaluationVariant) -> dict[str, str]:
    """Return the scorecard's common inputs, and the test clients' privacy cost with DP evaluation."""
    made = algorithm.outputs
    paid = {"evaluation_report": made.evaluation_privacy_report} if variant.dp else {}
    copies = {"copies": COPIES} if variant.has_exact_private_control else {}
    declared = {name: f"params:{name}" for name in ("corpus", "evaluation", "privacy")}
    made_of = {"privacy_report": made.privacy_report, "accuracy": made.accuracy, "cost": made.cost}
    return {**made_of, **declared, **paid, **copies}


def _shared(algorithm: Algorithm, variant: EvaluationVariant) -> list[Node]:
    """Create the figures that every report has."""
    made, place = algorithm.outputs, _place(algorithm)
    measured = algorithm.makes not in (OutputType.PREFERENCES, OutputType.POLICY) or not variant.dp
    accuracies = place.node(
        nodes.draw_accuracies, made.accuracy, made.figure("accuracy"), name="draw_accuracies", tags=Tag.REPORT
    )
    return [
        *([accuracies] if measured else []),
        place.node(
            nodes.draw_privacy_price,
            made.privacy_report,
            made.figure("privacy"),
            name="draw_privacy_price",
            tags=Tag.REPORT,
        ),
        place.node(
            nodes.draw_trade_off,
            made.privacy_report,
            made.figure("trade_off"),
            name="draw_trade_off",
            tags=Tag.REPORT,
        ),
    ]


def _place(algorithm: Algorithm) -> Namespace:
    return Namespace(f"report.{algorithm.name}")
