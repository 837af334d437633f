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


def _dpprefsyn(given: Given) -> Dpprefsyn:
    return given.params("dpprefsyn", Dpprefsyn)


def _policies(given: Given) -> Policies:
    return given.params("policies", Policies)


def _annotation(given: Given) -> Annotation:
    return given.params("annotation", Annotation)


def _pair_tokens(given: Given) -> float:
    """Return the tokens of a prompt with one answer."""
    return REQUEST + float(_dpprefsyn(given).sampler.max_new_tokens)


def _calibration(given: Given) -> tuple[Work, ...]:
    own = _annotation(given)
    return (given.written(own.public_questions, 2, own.sampler, within="annotation", shown=0, whole=True),)


def _answers_to_annotators(given: Given) -> tuple[Work, ...]:
    own = _annotation(given)
    return (given.written(own.annotators * QUESTIONS, 2, own.sampler, within="annotation", shown=0, whole=True),)


def _private_pairs(given: Given) -> tuple[Work, ...]:
    return (given.read(2 * given.samples, _pair_tokens(given)),)


def _held_out_pairs(given: Given) -> tuple[Work, ...]:
    return (given.read(2 * given.test_samples, _pair_tokens(given)),)


def _answers(given: Given) -> tuple[Work, ...]:
    own = _dpprefsyn(given)
    return (given.written(own.prompts, own.answers, own.sampler, within="dpprefsyn", shown=0, whole=True),)


def _answer_embeddings(given: Given) -> tuple[Work, ...]:
    own = _dpprefsyn(given)
    return (given.read(own.prompts * own.answers, _pair_tokens(given)),)


def _preference(given: Given) -> tuple[Work, ...]:
    own = _dpprefsyn(given)
    answer = own.sampler.max_new_tokens
    return (preferred(own.prompts, REQUEST, answer, own.preference, within="dpprefsyn.preference"),)


def _chosen_answers(given: Given) -> tuple[Work, ...]:
    own = _dpprefsyn(given)
    lora = own.preference.lora
    return (trained(own.prompts, _pair_tokens(given), own.sft, within="dpprefsyn.sft", lora=lora),)


def _rewarded(given: Given) -> tuple[Work, ...]:
    own = _dpprefsyn(given)
    reinforced, at = own.rloo, "dpprefsyn.rloo"
    prompts = reinforced.steps * reinforced.prompts_per_step
    row = _pair_tokens(given)
    written = given.written(
        prompts, reinforced.completions, own.sampler, within="dpprefsyn", shown=0, whole=True, model="downstream"
    )
    texts = prompts * reinforced.completions
    training = Work(
        Kind.TRAINING,
        tokens=texts * row,
        at_once=reinforced.completions * reinforced.prompts_per_step,
        row=row,
        referred=texts * row,
        lora=own.preference.lora,
        lower=f"{at}.prompts_per_step",
        model="downstream",
    )
    return (written, training, given.read(texts, row, model="encoder"))


def _dp_ft(given: Given) -> DpFt:
    return given.params("dp_ft", DpFt)


def _half_training(given: Given, training: DpSgd, tokens: float, *, within: str) -> tuple[Work, ...]:
    """Return a training on half of the pairs, or on all without protection."""
    own = _dp_ft(given)
    pairs = given.samples * (1.0 if own.form == "unprotected" else 0.5)
    at = f"dp_ft.{within}.units_at_once"
    return (private(pairs, tokens, training.epochs, training.units_at_once, within=at, lora=own.lora),)


def _tuning(given: Given) -> tuple[Work, ...]:
    own = _dp_ft(given)
    return _half_training(given, own.sft, own.tokens.prompt + own.tokens.answer, within="sft")


def _preferring(given: Given) -> tuple[Work, ...]:
    own = _dp_ft(given)
    return _half_training(given, own.dpo, 2 * (own.tokens.prompt + own.tokens.answer), within="dpo")


def _held_out_answers(given: Given) -> tuple[Work, ...]:
    own = _policies(given)
    return (given.written(own.prompts, 1, own.sampler, within="policies", shown=0, whole=True),)


def _verdicts(given: Given) -> tuple[Work, ...]:
    own = _policies(given)
    asked = 2 * own.prompts * (1 + len(own.controls))  # in both orders, of the policy and its controls
    return (given.written(asked, 1, own.verdicts, within="policies", shown=0, whole=True),)


def _neural_reward(given: Given) -> tuple[Work, ...]:
    own = _policies(given).neural_reward
    row = float(own.tokens.prompt + own.tokens.answer)
    learned = trained(2 * given.samples, row, own.training, within="policies.neural_reward.training")
    return (learned, given.read(2 * given.test_samples, row))


def _margins(given: Given) -> tuple[Work, ...]:
    own = _policies(given).membership
    return (given.read(2 * 2 * 2 * own.pairs, own.tokens.prompt + own.tokens.answer),)


RULES: dict[str, Rule] = {
    "pairs.set_sharpness": _calibration,
    "pairs.answer_questions": _answers_to_annotators,
    "pairs.embed_private_pairs": _private_pairs,
    "dpprefsyn.open_dpprefsyn_ledger": nothing,
    "dpprefsyn.write_candidates": _answers,
    "dpprefsyn.embed_candidates": _answer_embeddings,
    "dpprefsyn.learn_public_scorer": nothing,
    "dpprefsyn.prefer": _preference,
    "dpprefsyn.tune_on_chosen": _chosen_answers,
    "dpprefsyn.reinforce": _rewarded,
    "dp_ft.start_weights": nothing,
    "dp_ft.tokenise_pairs": nothing,
    "dp_ft.tune_": _tuning,
    "dp_ft.prefer_": _preferring,
    "dp_ft.write_": nothing,
    "evaluation.prefer_": _preference,
    "evaluation.tune_on_chosen": _chosen_answers,
    "evaluation.write_untuned_answers": _held_out_answers,
    "evaluation.write_answers": _held_out_answers,
    "evaluation.judge_by_model": _verdicts,
    "evaluation.judge_by_reward": _held_out_pairs,
    "evaluation.order_by_policy": _held_out_pairs,
    "evaluation.order_held_out_pairs": _held_out_pairs,
    "evaluation.score_membership": _margins,
    "evaluation.score_by_neural_reward": _neural_reward,
    "evaluation.measure_purity": _held_out_pairs,
}
