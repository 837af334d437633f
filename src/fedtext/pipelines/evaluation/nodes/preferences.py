"""Nodes of preferences: held-out pairs, and a policy's answers to held-out prompts.

- Of held-out pairs only aggregates leave, by a declared held-out evaluation.
- A policy's answers to held-out public prompts are judged, and its own training pairs are inferred from its margins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.purity import clusters_of, purity
from fedtext.algorithms.dpprefsyn.scorer import LengthRule, Scorer, scorer_of
from fedtext.corpora import public as corpora
from fedtext.corpora.annotators import annotators
from fedtext.corpora.preferences import preferred
from fedtext.embedding.similarity import differences_of
from fedtext.evaluation.judges import ModelJudge, learned_judge
from fedtext.evaluation.measures.preferences import PAIRWISE_ACCURACY, PAIRWISE_DRAWN
from fedtext.evaluation.membership import are_independent, attack, ceiling_of, log_ratio_margins
from fedtext.evaluation.paired import compare_scored
from fedtext.evaluation.pairwise import correctly_ordered, length_baselines, mixture_margin
from fedtext.evaluation.win_rate import Judge, RuleJudge, compared_answers, compared_with_people
from fedtext.federation.units import unit_codes
from fedtext.generation.dialogue import SUMMARY, embedded_answers, generate_answers
from fedtext.models.encoder import Encoder
from fedtext.models.generator import Generator, TrainableGenerator
from fedtext.params.annotation import Annotation
from fedtext.params.conditions import LONGER, NEURAL_REWARD, POLICY, PREFERENCES, SHORTER
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.dp_ft import DpFt
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.params.policies import Policies
from fedtext.params.privacy import Privacy
from fedtext.pipelines.pairs.nodes import ask_annotators, dialogue_of, read_private_pairs, split_pairs
from fedtext.seeding import derived_seed, stream
from fedtext.training.preference_pairs import pair_log_probs, pair_rows
from fedtext.training.reward_model import reward_margins

Counted = dict[str, Any]


def order_held_out_pairs(
    private_test: pd.DataFrame,
    encoder: Encoder,
    source: str,
    scorers: dict[str, np.ndarray],
    pairs: pd.DataFrame,
    neural: dict[str, np.ndarray] | None = None,
) -> dict[str, Any]:
    """Count the test clients' pairs that the scorer orders rightly, beside the longer and the shorter answer.

    A neural reward model's margins on the same pairs, if there are any, are a baseline that no budget protects.

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
    if neural is not None:
        right = correctly_ordered(neural["margins"])
        counted[NEURAL_REWARD.name] = _counted(right, right, 0)
    clients, _ = pd.factorize(private_test["client_id"], sort=True)
    return compare_scored(counted, [PAIRWISE_ACCURACY, PAIRWISE_DRAWN], clients)


def measure_purity(
    private_test: pd.DataFrame,
    encoder: Encoder,
    source: str,
    scorers: dict[str, np.ndarray],
    candidate_embeddings: np.ndarray,
    annotation: Annotation,
    dpprefsyn: Dpprefsyn,
) -> dict[str, Any]:
    """Count the kinds of simulated annotators among the test pairs of each cluster (DPPrefSyn, C.7)."""
    test = preferred(private_test)
    prompts, answers = test["prompt"].tolist(), test[["chosen", "rejected"]].to_numpy().tolist()
    embedded = embedded_answers(encoder, dialogue_of(source), prompts, answers, label="held-out pairs")
    people = annotators(annotation.annotators, annotation.seed)
    scorer, kinds = Scorer.of(scorers), {one.client_id: one.taste.value for one in people}
    own = clusters_of(differences_of(embedded)[0], scorer, Candidates(candidate_embeddings), dpprefsyn)
    return purity(own, [kinds[client] for client in test["client_id"]], len(scorer.heads))


def score_by_neural_reward(
    private_train: pd.DataFrame,
    private_test: pd.DataFrame,
    downstream: TrainableGenerator,
    source: str,
    policies: Policies,
) -> dict[str, np.ndarray]:
    """Train a reward model on the training pairs, without protection, and score its margins on the test pairs."""
    reward, form = policies.neural_reward, dialogue_of(source)
    train, held = (
        pair_rows(downstream, pairs, reward.tokens, form) for pairs in (preferred(private_train), private_test)
    )
    seed = derived_seed(policies.seed, "neural reward")
    return {"margins": reward_margins(downstream, train, held, reward.training, seed=seed, label="neural reward model")}


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


def read_test_prompts(corpus: Corpus, privacy: Privacy, partition: Partition, policies: Policies) -> pd.DataFrame:
    """Read test pairs of a corpus that is declared public once more, as public text: `prompt` and `chosen`."""
    return _test_prompts(read_private_pairs(corpus, privacy, partition), corpus, partition, policies)


def ask_for_test_prompts(
    shown: pd.DataFrame,
    decided: dict[str, Any],
    corpus: Corpus,
    privacy: Privacy,
    annotation: Annotation,
    partition: Partition,
    policies: Policies,
) -> pd.DataFrame:
    """Return test pairs of simulated annotators, who choose once more as they did: `prompt` and `chosen`."""
    return _test_prompts(ask_annotators(shown, decided, corpus, privacy, annotation), corpus, partition, policies)


def _test_prompts(pairs: pd.DataFrame, corpus: Corpus, partition: Partition, policies: Policies) -> pd.DataFrame:
    """Draw `policies.prompts` test pairs of different prompts."""
    *_, test = split_pairs(pairs, corpus, partition)
    distinct = preferred(test).drop_duplicates("prompt", ignore_index=True)
    rows = stream(policies.seed, "test prompts").permutation(len(distinct))[: policies.prompts]
    return distinct.loc[rows, ["prompt", "chosen"]].assign(prompt_id=range(len(rows))).reset_index(drop=True)


def judge_by_rule(prompts: pd.DataFrame, decided: dict[str, Any], **answers: pd.DataFrame) -> dict[str, Any]:
    """Judge answers by the simulated annotators' rule, which is exact."""
    return _judged(RuleJudge(decided["sharpness"]), prompts, answers)


def judge_by_reward(
    private_validation: pd.DataFrame, private_test: pd.DataFrame, prompts: pd.DataFrame, **answers: pd.DataFrame
) -> dict[str, Any]:
    """Judge answers by a reward model of the validation clients' pairs, and measure it on the test clients' pairs."""
    return _judged(learned_judge(private_validation, private_test), prompts, answers)


def judge_by_model(
    judge: Generator, source: str, policies: Policies, prompts: pd.DataFrame, **answers: pd.DataFrame
) -> dict[str, Any]:
    """Judge answers, or summaries, by a language model; prompts are public and answers released: it may be a server."""
    model = ModelJudge(
        judge,
        policies.verdicts,
        better=policies.better,
        summaries=dialogue_of(source).answer_name == SUMMARY,
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
    """Compare answers with each other, or, where the prompts have people's answers, with these."""
    said = {name: table["text"].tolist() for name, table in answers.items()}
    asked = prompts["prompt"].tolist()
    if "chosen" in prompts:
        return compared_with_people(judge, asked, prompts["chosen"].tolist(), said)
    return compared_answers(judge, asked, said)
