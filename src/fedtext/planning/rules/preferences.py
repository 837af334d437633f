"""Work with preference pairs: simulated annotators, DPPrefSyn, DP-FT, and the evaluation of policies."""

from __future__ import annotations

from fedtext.params.annotation import Annotation
from fedtext.params.dp_ft import DpFt
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.params.policies import Policies
from fedtext.params.training import DpSgd
from fedtext.planning.rules.given import REQUEST, Given, Rule, nothing, preferred, private, trained
from fedtext.planning.work import Kind, Work

QUESTIONS = 4.5  # of an annotator, from 1 to 8 (fedtext.corpora.annotators)


def dpprefsyn(given: Given) -> Dpprefsyn:
    return given.params("dpprefsyn", Dpprefsyn)


def policies(given: Given) -> Policies:
    return given.params("policies", Policies)


def annotation(given: Given) -> Annotation:
    return given.params("annotation", Annotation)


def pair_tokens(given: Given) -> float:
    """Return the tokens of a prompt with one answer."""
    return REQUEST + float(dpprefsyn(given).sampler.max_new_tokens)


def calibration(given: Given) -> tuple[Work, ...]:
    own = annotation(given)
    return (given.written(own.public_questions, 2, own.sampler, within="annotation", shown=0),)


def answers_to_annotators(given: Given) -> tuple[Work, ...]:
    own = annotation(given)
    return (given.written(own.annotators * QUESTIONS, 2, own.sampler, within="annotation", shown=0),)


def private_pairs(given: Given) -> tuple[Work, ...]:
    return (given.read(2 * given.samples, pair_tokens(given)),)


def held_out_pairs(given: Given) -> tuple[Work, ...]:
    return (given.read(2 * given.test_samples, pair_tokens(given)),)


def answers(given: Given) -> tuple[Work, ...]:
    own = dpprefsyn(given)
    return (given.written(own.prompts, own.answers, own.sampler, within="dpprefsyn", shown=0),)


def answer_embeddings(given: Given) -> tuple[Work, ...]:
    own = dpprefsyn(given)
    return (given.read(own.prompts * own.answers, pair_tokens(given)),)


def preference(given: Given) -> tuple[Work, ...]:
    own = dpprefsyn(given)
    answer = own.sampler.max_new_tokens
    return (preferred(own.prompts, REQUEST, answer, own.preference, within="dpprefsyn.preference"),)


def chosen_answers(given: Given) -> tuple[Work, ...]:
    own = dpprefsyn(given)
    lora = own.preference.lora
    return (trained(own.prompts, pair_tokens(given), own.sft, within="dpprefsyn.sft", lora=lora),)


def rewarded(given: Given) -> tuple[Work, ...]:
    own = dpprefsyn(given)
    reinforced, at = own.rloo, "dpprefsyn.rloo"
    prompts = reinforced.steps * reinforced.prompts_per_step
    row = pair_tokens(given)
    written = given.written(prompts, reinforced.completions, own.sampler, within="dpprefsyn", shown=0, model="generator")
    texts = prompts * reinforced.completions
    training = Work(
        Kind.TRAINING,
        tokens=texts * row,
        at_once=reinforced.completions * reinforced.prompts_per_step,
        row=row,
        referred=texts * row,
        lora=own.preference.lora,
        lower=f"{at}.prompts_per_step",
        model="generator",
    )
    return (written, training, given.read(texts, row, model="encoder"))


def dp_ft(given: Given) -> DpFt:
    return given.params("dp_ft", DpFt)


def half_training(given: Given, training: DpSgd, tokens: float, *, within: str) -> tuple[Work, ...]:
    """Return a training on half of the pairs, or on all without protection."""
    own = dp_ft(given)
    pairs = given.samples * (1.0 if own.form == "unprotected" else 0.5)
    at = f"dp_ft.{within}.units_at_once"
    return (private(pairs, tokens, training.epochs, training.units_at_once, within=at, lora=own.lora),)


def tuning(given: Given) -> tuple[Work, ...]:
    own = dp_ft(given)
    return half_training(given, own.sft, own.tokens.prompt + own.tokens.answer, within="sft")


def preferring(given: Given) -> tuple[Work, ...]:
    own = dp_ft(given)
    return half_training(given, own.dpo, 2 * (own.tokens.prompt + own.tokens.answer), within="dpo")


def held_out_answers(given: Given) -> tuple[Work, ...]:
    own = policies(given)
    return (given.written(own.prompts, 1, own.sampler, within="policies", shown=0),)


def verdicts(given: Given) -> tuple[Work, ...]:
    own = policies(given)
    asked = 2 * own.prompts * (1 + len(own.controls))  # in both orders, of the policy and its controls
    return (given.written(asked, 1, own.verdicts, within="policies", shown=0),)


def margins(given: Given) -> tuple[Work, ...]:
    own = policies(given).membership
    return (given.read(2 * 2 * 2 * own.pairs, own.tokens.prompt + own.tokens.answer),)


RULES: dict[str, Rule] = {
    "pairs.set_sharpness": calibration,
    "pairs.answer_questions": answers_to_annotators,
    "pairs.embed_private_pairs": private_pairs,
    "dpprefsyn.open_dpprefsyn_ledger": nothing,
    "dpprefsyn.write_candidates": answers,
    "dpprefsyn.embed_candidates": answer_embeddings,
    "dpprefsyn.learn_public_scorer": nothing,
    "dpprefsyn.prefer": preference,
    "dpprefsyn.tune_on_chosen": chosen_answers,
    "dpprefsyn.reinforce": rewarded,
    "dp_ft.start_weights": nothing,
    "dp_ft.tokenise_pairs": nothing,
    "dp_ft.tune_": tuning,
    "dp_ft.prefer_": preferring,
    "dp_ft.write_": nothing,
    "evaluation.prefer_": preference,
    "evaluation.tune_on_chosen": chosen_answers,
    "evaluation.write_untuned_answers": held_out_answers,
    "evaluation.write_answers": held_out_answers,
    "evaluation.judge_by_model": verdicts,
    "evaluation.judge_by_reward": held_out_pairs,
    "evaluation.order_by_policy": held_out_pairs,
    "evaluation.order_held_out_pairs": held_out_pairs,
    "evaluation.score_membership": margins,
}
