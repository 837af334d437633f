"""A policy's answers to held-out public prompts, judged; and whether it tells its own pairs from others."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.corpora import public_prompts as corpora
from fedtext.evaluation.membership import are_alone, attack, ceiling_of, log_ratio_margins
from fedtext.evaluation.model_judge import ModelJudge
from fedtext.evaluation.policies import compared_answers
from fedtext.evaluation.reward_judge import learned_judge
from fedtext.evaluation.win_rate import Judge, RuleJudge
from fedtext.federation.units import unit_codes
from fedtext.generation.dialogue import written_answers
from fedtext.models.generator import Generator, TrainableGenerator
from fedtext.params.corpus import Corpus
from fedtext.params.policies import Policies
from fedtext.params.privacy import Privacy
from fedtext.pipelines.pairs.form import dialogue_of
from fedtext.seeding import derived_seed, stream
from fedtext.training.pair_rows import pair_log_probs, pair_rows


def hold_out_prompts(corpus: Corpus, policies: Policies, trained: pd.DataFrame | None = None) -> pd.DataFrame:
    """Public prompts, `prompt_id` and `prompt`, none of which is among `trained`, if an algorithm trains on any."""
    taken = [] if trained is None else trained["prompt"].tolist()
    asked = corpora.public_prompts(corpus, policies.prompts + len(taken), policies.seed)
    return corpora.held_out(asked, taken, policies.prompts)


def write_untuned_answers(generator: Generator, prompts: pd.DataFrame, source: str, policies: Policies) -> pd.DataFrame:
    """The generator's own answer to each prompt."""
    return written_answers(
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
    """The policy's answer to each prompt, drawn as the generator's."""
    return write_untuned_answers(generator.with_adapter(policy), prompts, source, policies)


def judge_by_rule(prompts: pd.DataFrame, decided: dict[str, Any], **answers: pd.DataFrame) -> dict[str, Any]:
    """By the made-up annotators' rule, which is exact."""
    return _judged(RuleJudge(decided["sharpness"]), prompts, answers)


def judge_by_reward(
    private_validation: pd.DataFrame, private_test: pd.DataFrame, prompts: pd.DataFrame, **answers: pd.DataFrame
) -> dict[str, Any]:
    """By a reward model of the validation clients' pairs, whose own accuracy on the test clients' stands beside it."""
    return _judged(learned_judge(private_validation, private_test), prompts, answers)


def judge_by_model(
    judge: Generator, policies: Policies, prompts: pd.DataFrame, **answers: pd.DataFrame
) -> dict[str, Any]:
    """By a model that is asked; prompts are public and answers released, so it may be a server."""
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
    """The policy's margin, in nats, of training clients' pairs (`members`) and of test clients' (`others`).

    Beside them, whose pairs they are, and whether units are in training `alone` (`fedtext.evaluation.membership`).
    """
    membership = policies.membership
    margins = {"alone": np.array(are_alone(private_train, privacy.unit))}
    form = dialogue_of(source, chat=membership.chat)
    for name, pairs in (("members", private_train), ("others", private_test)):
        drawn = stream(policies.seed, "membership", name).permutation(len(pairs))[: membership.pairs]
        rows = pair_rows(generator, pairs.iloc[np.sort(drawn)], membership.tokens, form)
        told, reference = (pair_log_probs(one, rows) for one in (generator.with_adapter(policy), generator))
        margins[name] = log_ratio_margins(told, reference)
        margins[f"clients_of_{name}"] = unit_codes(pairs["client_id"].iloc[np.sort(drawn)].tolist())
    return margins


def infer_membership(private_margins: dict[str, np.ndarray], privacy_report: dict[str, Any]) -> dict[str, Any]:
    """How well the margins tell members from others: the AUC with its interval, beside what the budget allows."""
    members, others = private_margins["members"], private_margins["others"]
    clients = private_margins["clients_of_members"], private_margins["clients_of_others"]
    found = attack(members, others, ceiling_of(privacy_report), clients=clients)
    counted = {"members": len(members), "others": len(others), "alone": bool(private_margins["alone"])}
    return {**found._asdict(), "above": found.is_above, **counted}


def _judged(judge: Judge, prompts: pd.DataFrame, answers: dict[str, pd.DataFrame]) -> dict[str, Any]:
    said = {name: table["text"].tolist() for name, table in answers.items()}
    return compared_answers(judge, prompts["prompt"].tolist(), said)
