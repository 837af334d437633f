"""Report nodes of an algorithm that makes preference pairs."""

from typing import Any

import pandas as pd
from plotly.graph_objects import Figure

from fedtext.federation.communication import Cost
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.pipelines.report.nodes import CORPORA
from fedtext.reporting.preferences import gap_histogram, preference_scorecard, render_preferences
from fedtext.reporting.scorecard import Protection
from fedtext.reporting.terms import Terms


def build_preference_scorecard(
    privacy_report: dict[str, Any],
    cost: Cost,
    corpus: Corpus,
    evaluation: Evaluation,
    privacy: Privacy,
    accuracy: dict[str, Any] | None = None,
    pairs: pd.DataFrame | None = None,
    win_rates: dict[str, Any] | None = None,
    membership: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """`scorecard.json` of preference pairs: protection, held-out pairs ordered rightly, answers judged, and cost.

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
        membership=membership,
    )


def draw_gaps(pairs: pd.DataFrame) -> Figure:
    """How far the scores of the pairs' answers are apart."""
    return gap_histogram(pairs["gap"].to_numpy())


def write_preference_report(
    card: dict[str, Any],
    facts: dict[str, Any],
    pairs: pd.DataFrame | None = None,
    prompts: pd.DataFrame | None = None,
    by_policy: pd.DataFrame | None = None,
    by_generator: pd.DataFrame | None = None,
    **figures: Figure,
) -> str:
    """`report.html` of preference pairs, of which the first are shown, or of a policy.

    Where a policy answered `prompts`, some of its answers stand beside the generator's.
    """
    answers = None
    if prompts is not None and by_policy is not None and by_generator is not None:
        answers = prompts[["prompt"]].assign(policy=by_policy["text"], generator=by_generator["text"])
    return render_preferences(card, figures, pairs, facts, answers)
