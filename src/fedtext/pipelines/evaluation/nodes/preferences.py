"""Held-out pairs of preferences: aggregates only, by a declared held-out evaluation."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.dpprefsyn.scorer import LengthRule, Scorer, scorer_of
from fedtext.embedding.differences import differences_of
from fedtext.evaluation.measures.pairwise_accuracy import PAIRWISE_ACCURACY, PAIRWISE_DRAWN
from fedtext.evaluation.membership import log_ratio_margins
from fedtext.evaluation.paired import compare_scored
from fedtext.evaluation.pairwise import by_length, mixed_margin, rightly_ordered
from fedtext.generation.dialogue import embedded_answers
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.conditions import LONGER, POLICY, PREFERENCES, SHORTER
from fedtext.params.dp_ft import DpFt
from fedtext.pipelines.pairs.form import dialogue_of
from fedtext.training.pair_rows import pair_log_probs, pair_rows

Counted = dict[str, Any]


def order_held_out_pairs(
    private_test: pd.DataFrame, encoder: Encoder, source: str, scorers: dict[str, np.ndarray], pairs: pd.DataFrame
) -> dict[str, Any]:
    """How many of the test clients' pairs the scorer orders rightly, beside the longer and the shorter answer.

    By the mixture of heads, or by the head of a pair's topic, which does not know the label; and by a drawn head. Never
    by the head of a pair's own cluster of differences, which the label decides.
    """
    scorer = scorer_of(scorers)
    mixed, drawn = (
        _ordered_by_length(private_test, scorer)
        if isinstance(scorer, LengthRule)
        else _ordered(private_test, encoder, source, scorer)
    )
    counted = {PREFERENCES.name: _counted(mixed, drawn, len(pairs))} | _by_length(private_test)
    clients, _ = pd.factorize(private_test["client_id"], sort=True)
    return compare_scored(counted, [PAIRWISE_ACCURACY, PAIRWISE_DRAWN], clients)


def _ordered(
    private_test: pd.DataFrame, encoder: Encoder, source: str, scorer: Scorer
) -> tuple[np.ndarray, np.ndarray]:
    """By the mixture, or by the head of a pair's topic; and by a drawn head."""
    prompts, answers = private_test["prompt"].tolist(), private_test[["chosen", "rejected"]].to_numpy().tolist()
    embedded = embedded_answers(encoder, dialogue_of(source), prompts, answers, label="held-out pairs")
    differences, middles = differences_of(embedded)
    margins = scorer.rewards(differences)
    if scorer.topics is None:
        margin = mixed_margin(margins, scorer.mixture)
    else:
        margin = np.take_along_axis(margins, scorer.topic_heads(middles)[:, None], axis=1)[:, 0]
    return rightly_ordered(margin), rightly_ordered(margins) @ scorer.mixture


def _ordered_by_length(private_test: pd.DataFrame, rule: LengthRule) -> tuple[np.ndarray, np.ndarray]:
    """The same twice: there is nothing to draw."""
    chosen, rejected = (rule.scores(private_test[side].tolist()) for side in ("chosen", "rejected"))
    right = rightly_ordered(chosen - rejected)
    return right, right


def order_by_policy(
    private_test: pd.DataFrame, generator: TrainableGenerator, source: str, policy: Path, dp_ft: DpFt
) -> dict[str, Any]:
    """How many of the test clients' pairs DPO's margin orders rightly, beside the longer and the shorter answer.

    The margin: how much more than the generator the policy prefers the chosen answer, in nats of whole answers.
    """
    rows = pair_rows(generator, private_test, dp_ft.tokens, dialogue_of(source, chat=dp_ft.chat))
    policy_told, reference = (pair_log_probs(one, rows) for one in (generator.with_adapter(policy), generator))
    right = rightly_ordered(log_ratio_margins(policy_told, reference))
    clients, _ = pd.factorize(private_test["client_id"], sort=True)
    return compare_scored(
        {POLICY.name: _counted(right, right, 0)} | _by_length(private_test), [PAIRWISE_ACCURACY], clients
    )


def _by_length(private_test: pd.DataFrame) -> dict[str, Counted]:
    lengths = by_length(private_test["chosen"].tolist(), private_test["rejected"].tolist())
    return {
        LONGER.name: _counted(lengths["longer"], lengths["longer"], 0),
        SHORTER.name: _counted(lengths["shorter"], lengths["shorter"], 0),
    }


def _counted(right: np.ndarray, drawn: np.ndarray, texts: int) -> Counted:
    return {"right": right, "right_drawn": drawn, "pairs": np.ones(len(right)), "texts": texts}
