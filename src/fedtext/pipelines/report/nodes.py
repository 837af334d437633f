"""Report nodes: the scorecard, its figures, and the page, of texts, of a model, or of preference pairs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pandas as pd
from plotly.graph_objects import Figure

from fedtext.corpora.published.known import PUBLISHED
from fedtext.evaluation.distribution import Bias
from fedtext.evaluation.rounds import Rounds
from fedtext.federation.communication import Cost
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.reporting.figures import accuracy_bars, privacy_price, round_curves, trade_off_curve
from fedtext.reporting.glossary import Terms
from fedtext.reporting.html import SHOWN_SEED, Sample, render_report
from fedtext.reporting.preferences import gap_histogram, preference_scorecard, render_preferences
from fedtext.reporting.scorecard import Distribution, Protection, copies_sentence, epsilon_after, scorecard

LOG = logging.getLogger(__name__)
CORPORA: dict[str, str] = {
    "docstrings": "the docstrings of Python's standard library",
    "table": "a table of texts",
    "snapshot": "a LargeFedBench snapshot",
    **{name: known.title for name, known in PUBLISHED.items()},
}


def build_text_scorecard(
    privacy_report: dict[str, Any],
    accuracy: dict[str, Any],
    cost: Cost,
    corpus: Corpus,
    evaluation: Evaluation,
    privacy: Privacy,
    distances: dict[str, Any],
    texts_alone: dict[str, Any],
    synthetic: pd.DataFrame,
    evaluation_report: dict[str, Any] | None = None,
    copies: dict[str, Any] | None = None,
    **tasks: dict[str, Any],
) -> dict[str, Any]:
    """Build `scorecard.json` of a synthetic data set: protection, accuracy, distances and cost of one run.

    `tasks` are the documents of the downstream tasks that were measured, by their names.
    """
    distribution = Distribution(**{**distances, "bias": _bias(distances)})
    terms = Terms.of(corpus, evaluation, privacy, evaluation_report, accuracy["conditions"])
    measured: dict[str, Any] = {"texts_alone": texts_alone, "copies": copies, "tasks": tasks}
    return _scorecard(privacy_report, accuracy, cost, corpus, terms, distribution, len(synthetic), **measured)


def build_model_scorecard(
    privacy_report: dict[str, Any],
    accuracy: dict[str, Any],
    cost: Cost,
    corpus: Corpus,
    evaluation: Evaluation,
    privacy: Privacy,
    evaluation_report: dict[str, Any] | None = None,
    copies: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Build `scorecard.json` of a privately trained model: protection, accuracy and cost of one run."""
    terms = Terms.of(corpus, evaluation, privacy, evaluation_report, accuracy["conditions"])
    return _scorecard(privacy_report, accuracy, cost, corpus, terms, None, 0, copies=copies)


def _scorecard(
    privacy_report: dict[str, Any],
    accuracy: dict[str, Any],
    cost: Cost,
    corpus: Corpus,
    terms: Terms,
    distribution: Distribution | None,
    synthetic_texts: int,
    texts_alone: dict[str, Any] | None = None,
    copies: dict[str, Any] | None = None,
    tasks: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    if copies is not None and (said := copies_sentence(copies)):
        LOG.warning("%s", said)
    return scorecard(
        algorithm=cost.algorithm,
        corpus=CORPORA[corpus.source],
        protection=Protection.of(privacy_report),
        accuracy=accuracy,
        distribution=distribution,
        costs=[cost],
        synthetic_texts=synthetic_texts,
        terms=terms,
        texts=texts_alone,
        copies=copies,
        tasks=tasks or {},
    )


def _bias(distances: dict[str, Any]) -> Bias | None:
    """Return FID's floor, if there is an FID."""
    return Bias(**distances["bias"]) if "bias" in distances else None


def draw_accuracies(accuracy: dict[str, Any]) -> Figure:
    """Draw the accuracy of every condition."""
    return accuracy_bars(accuracy)


def draw_privacy_price(privacy_report: dict[str, Any]) -> Figure:
    """Draw epsilon after each release, against the budget."""
    return privacy_price(epsilon_after(privacy_report), privacy_report["budget"])


def draw_trade_off(privacy_report: dict[str, Any]) -> Figure:
    """Draw what an attacker can find at each share of false alarms."""
    return trade_off_curve(privacy_report["attacker"])


def draw_round_curves(distances: dict[str, Any], rounds: Rounds) -> Figure:
    """Draw curves over the rounds, with a mark at the one that made the final set."""
    return round_curves(
        distances["rounds"],
        chosen=rounds["chosen"],
        bias=_bias(distances),
        held_out_distance=distances.get("held_out_distance"),
    )


def write_model_report(card: dict[str, Any], facts: dict[str, Any], **figures: Figure) -> str:
    """Write `report.html` of a model, with its figures by name."""
    return render_report(card, figures, [], facts)


def write_text_report(
    card: dict[str, Any],
    synthetic: pd.DataFrame,
    facts: dict[str, Any],
    **figures: Figure,
) -> str:
    """Write `report.html` of a synthetic data set, with the figures that its run has drawn, by name."""
    return render_report(card, figures, _samples(synthetic), facts)


def _samples(synthetic: pd.DataFrame) -> list[Sample]:
    """Return the texts in a random order of a fixed seed, so that nobody picks the ones that are shown."""
    drawn = synthetic.sample(frac=1, random_state=SHOWN_SEED)
    return [Sample(text, None if pd.isna(label) else label) for text, label in drawn[["text", "label"]].to_numpy()]


def build_preference_scorecard(
    privacy_report: dict[str, Any],
    cost: Cost,
    corpus: Corpus,
    evaluation: Evaluation,
    privacy: Privacy,
    accuracy: dict[str, Any] | None = None,
    pairs: pd.DataFrame | None = None,
    win_rates: dict[str, Any] | None = None,
    people: dict[str, Any] | None = None,
    membership: dict[str, Any] | None = None,
    purity: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Build `scorecard.json` of preference pairs: protection, held-out pairs ordered rightly, win rates, and cost.

    Without pairs it is that of a policy that was trained on private ones.
    """
    return preference_scorecard(
        corpus="made-up annotators" if corpus.source == "docstrings" else CORPORA[corpus.source],
        protection=Protection.of(privacy_report),
        cost=cost,
        pairs=None if pairs is None else len(pairs),
        terms=Terms.of(corpus, evaluation, privacy).model_copy(update={"private_control": False}),
        accuracy=accuracy,
        win_rates=win_rates,
        people=people,
        membership=membership,
        purity=purity,
    )


def draw_gaps(pairs: pd.DataFrame) -> Figure:
    """Draw the distribution of the gap between the scores of the pairs' answers."""
    return gap_histogram(pairs["gap"].to_numpy())


def write_preference_report(
    card: dict[str, Any],
    facts: dict[str, Any],
    pairs: pd.DataFrame | None = None,
    prompts: pd.DataFrame | None = None,
    by_policy: pd.DataFrame | None = None,
    untuned: pd.DataFrame | None = None,
    **figures: Figure,
) -> str:
    """Write `report.html` of preference pairs, with the first of them, or of a policy.

    Where a policy answered `prompts`, some of its answers stand beside the untuned model's.
    """
    answers = None
    if prompts is not None and by_policy is not None and untuned is not None:
        answers = prompts[["prompt"]].assign(policy=by_policy["text"], untuned=untuned["text"])
    return render_preferences(card, figures, pairs, facts, answers)
