"""Nodes of preferences: held-out pairs, and a policy's answers to held-out prompts.

- Of held-out pairs only aggregates leave, by a declared held-out evaluation.
- A policy's answers to held-out public prompts are judged, and its own training pairs are inferred from its margins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.dpprefsyn.scorer import LengthRule, Scorer, scorer_of
from fedtext.corpora import public as corpora
from fedtext.embedding.similarity import differences_of
from fedtext.evaluation.judges import ModelJudge, learned_judge
from fedtext.evaluation.measures.preferences import PAIRWISE_ACCURACY, PAIRWISE_DRAWN
from fedtext.evaluation.membership import are_independent, attack, ceiling_of, log_ratio_margins
from fedtext.evaluation.paired import compare_scored
from fedtext.evaluation.pairwise import correctly_ordered, length_baselines, mixture_margin
from fedtext.evaluation.win_rate import Judge, RuleJudge, compared_answers
from fedtext.federation.units import unit_codes
from fedtext.generation.dialogue import embedded_answers, generate_answers
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator, TrainableGenerator
from fedtext.params.conditions import LONGER, POLICY, PREFERENCES, SHORTER
from fedtext.params.corpus import Corpus
from fedtext.params.dp_ft import DpFt
from fedtext.params.policies import Policies
from fedtext.params.privacy import Privacy
from fedtext.pipelines.pairs.nodes import dialogue_of
from fedtext.seeding import derived_seed, stream
from fedtext.training.preference_pairs import pair_log_probs, pair_rows

Counted = dict[str, Any]


def order_held_out_pairs(
    private_test: pd.DataFrame, encoder: Encoder, source: str, scorers: dict[str, np.ndarray], pairs: pd.DataFrame
) -> dict[str, Any]:
    """Count the test clients' pairs that the scorer orders rightly, beside the longer and the shorter answer.

    The scorer is the mixture of heads, or the head of a pair's topic, which does not know the label; and a random head.
    It is never the head of a pair's own cluster of differences, which the label decides.
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
    """Order pairs by the mixture, or by the head of a pair's topic; and by a random head."""
    prompts, answers = private_test["prompt"].tolist(), private_test[["chosen", "rejected"]].to_numpy().tolist()
    embedded = embedded_answers(encoder, dialogue_of(source), prompts, answers, label="held-out pairs")
    differences, middles = differences_of(embedded)
    margins = scorer.rewards(differences)
    if scorer.topics is None:
        margin = mixture_margin(margins, scorer.mixture)
    else:
        margin = np.take_along_axis(margins, scorer.topic_heads(middles)[:, None], axis=1)[:, 0]
    return correctly_ordered(margin), correctly_ordered(margins) @ scorer.mixture


def _ordered_by_length(private_test: pd.DataFrame, rule: LengthRule) -> tuple[np.ndarray, np.ndarray]:
    """Order pairs by a length rule, returned twice: it has no random head."""
    chosen, rejected = (rule.scores(private_test[side].tolist()) for side in ("chosen", "rejected"))
    right = correctly_ordered(chosen - rejected)
    return right, right


def order_by_policy(
    private_test: pd.DataFrame, generator: TrainableGenerator, source: str, policy: Path, dp_ft: DpFt
) -> dict[str, Any]:
    """Count the test clients' pairs that DPO's margin orders rightly, beside the longer and the shorter answer.

    The margin: how much more than the generator the policy prefers the chosen answer, in nats of whole answers.
    """
    rows = pair_rows(generator, private_test, dp_ft.tokens, dialogue_of(source, chat=dp_ft.chat))
    aligned, reference = (pair_log_probs(one, rows) for one in (generator.with_adapter(policy), generator))
    right = correctly_ordered(log_ratio_margins(aligned, reference))
    clients, _ = pd.factorize(private_test["client_id"], sort=True)
    return compare_scored(
        {POLICY.name: _counted(right, right, 0)} | _by_length(private_test), [PAIRWISE_ACCURACY], clients
    )


def _by_length(private_test: pd.DataFrame) -> dict[str, Counted]:
    lengths = length_baselines(private_test["chosen"].tolist(), private_test["rejected"].tolist())
    return {
        LONGER.name: _counted(lengths["longer"], lengths["longer"], 0),
        SHORTER.name: _counted(lengths["shorter"], lengths["shorter"], 0),
    }


def _counted(right: np.ndarray, drawn: np.ndarray, texts: int) -> Counted:
    return {"right": right, "right_drawn": drawn, "pairs": np.ones(len(right)), "texts": texts}


def hold_out_prompts(corpus: Corpus, policies: Policies, trained: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return public prompts, `prompt_id` and `prompt`, none of which is among `trained`, if an algorithm has such."""
    taken = [] if trained is None else trained["prompt"].tolist()
    asked = corpora.public_prompts(corpus, policies.prompts + len(taken), policies.seed)
    return corpora.held_out(asked, taken, policies.prompts)


def write_untuned_answers(generator: Generator, prompts: pd.DataFrame, source: str, policies: Policies) -> pd.DataFrame:
    """Write the generator's own answer to each prompt."""
    return generate_answers(
        generator,
        dialogue_of(source, chat=policies.sampler.prompt == "chat"),
        prompts,
        responses=1,
        sampler=policies.sampler,
        seed=derived_seed(policies.seed, "answers"),
        label="answers to held-out prompts",
    )


def write_answers(
    generator: TrainableGenerator, policy: Path, prompts: pd.DataFrame, source: str, policies: Policies
) -> pd.DataFrame:
    """Write the policy's answer to each prompt, sampled as the generator's."""
    return write_untuned_answers(generator.with_adapter(policy), prompts, source, policies)


def judge_by_rule(prompts: pd.DataFrame, decided: dict[str, Any], **answers: pd.DataFrame) -> dict[str, Any]:
    """Judge answers by the simulated annotators' rule, which is exact."""
    return _judged(RuleJudge(decided["sharpness"]), prompts, answers)


def judge_by_reward(
    private_validation: pd.DataFrame, private_test: pd.DataFrame, prompts: pd.DataFrame, **answers: pd.DataFrame
) -> dict[str, Any]:
    """Judge answers by a reward model of the validation clients' pairs, and measure it on the test clients' pairs."""
    return _judged(learned_judge(private_validation, private_test), prompts, answers)


def judge_by_model(
    judge: Generator, policies: Policies, prompts: pd.DataFrame, **answers: pd.DataFrame
) -> dict[str, Any]:
    """Judge answers by a language model; prompts are public and answers released, so it may be a server."""
    model = ModelJudge(
        judge,
        policies.verdicts,
        better=policies.better,
        chat=policies.verdicts.prompt == "chat",
        seed=derived_seed(policies.seed, "verdicts"),
    )
    return _judged(model, prompts, answers)


def score_membership(
    private_train: pd.DataFrame,
    private_test: pd.DataFrame,
    generator: TrainableGenerator,
    policy: Path,
    source: str,
    policies: Policies,
    privacy: Privacy,
) -> dict[str, np.ndarray]:
    """Score the policy's margin, in nats, on training clients' pairs (`members`) and test clients' (`others`).

    Beside them are the pairs' units, and whether units are in training `alone` (`fedtext.evaluation.membership`).
    """
    membership = policies.membership
    margins = {"alone": np.array(are_independent(private_train, privacy.unit))}
    form = dialogue_of(source, chat=membership.chat)
    for name, pairs in (("members", private_train), ("others", private_test)):
        drawn = stream(policies.seed, "membership", name).permutation(len(pairs))[: membership.pairs]
        rows = pair_rows(generator, pairs.iloc[np.sort(drawn)], membership.tokens, form)
        aligned, reference = (pair_log_probs(one, rows) for one in (generator.with_adapter(policy), generator))
        margins[name] = log_ratio_margins(aligned, reference)
        margins[f"clients_of_{name}"] = unit_codes(pairs["client_id"].iloc[np.sort(drawn)].tolist())
    return margins


def infer_membership(private_margins: dict[str, np.ndarray], privacy_report: dict[str, Any]) -> dict[str, Any]:
    """Infer members from the margins: the AUC with its interval, beside the bound that the budget gives."""
    members, others = private_margins["members"], private_margins["others"]
    clients = private_margins["clients_of_members"], private_margins["clients_of_others"]
    found = attack(members, others, ceiling_of(privacy_report), clients=clients)
    counted = {"members": len(members), "others": len(others), "alone": bool(private_margins["alone"])}
    return {**found._asdict(), "above": found.is_above, **counted}


def _judged(judge: Judge, prompts: pd.DataFrame, answers: dict[str, pd.DataFrame]) -> dict[str, Any]:
    said = {name: table["text"].tolist() for name, table in answers.items()}
    return compared_answers(judge, prompts["prompt"].tolist(), said)
