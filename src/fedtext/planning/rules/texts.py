"""Work of the algorithms that write texts with one generator: POPri, Private Evolution, DP-SGD, CTCL and others."""

from __future__ import annotations

from fedtext.generation.prompt_forms import LISTED
from fedtext.params.ctcl import Ctcl
from fedtext.params.dp_prediction import DpPrediction
from fedtext.params.dp_rft import DpRft
from fedtext.params.dp_sgd_generation import DpSgdGeneration
from fedtext.params.flexible import Flexible
from fedtext.params.for_reading import ForReading
from fedtext.params.generation import prompts_for
from fedtext.params.pe import Pe
from fedtext.params.pe_sft import PeSft
from fedtext.params.popri import Popri
from fedtext.params.silos import Silos
from fedtext.planning.rules.given import HEADING, Given, Rule, nothing, preferred, private, trained
from fedtext.planning.work import Work


def _popri(given: Given) -> Popri:
    return given.params("popri", Popri)


def _candidates(given: Given) -> tuple[Work, ...]:
    own = _popri(given)
    return (given.written(own.prompts, own.responses, own.sampler, within="popri"),)


def _candidate_embeddings(given: Given) -> tuple[Work, ...]:
    own = _popri(given)
    return (given.read(own.prompts * own.responses),)


def _policy(given: Given) -> tuple[Work, ...]:
    own = _popri(given)
    prompt = _candidates(given)[0].shown / own.prompts
    return (preferred(own.prompts, prompt, given.tokens, own.preference, within="popri.preference"),)


def _final_texts(given: Given) -> tuple[Work, ...]:
    own = _popri(given)
    prompts = prompts_for(own.synthetic_texts, own.final_responses, own.oversample)
    return (given.written(prompts, own.final_responses, own.sampler, within="popri"),)


def _reading_pool(given: Given) -> tuple[Work, ...]:
    own = _popri(given)
    prompts = prompts_for(own.synthetic_texts, own.final_responses, own.oversample)
    asked, responses = given.params("for_reading", ForReading).shared_out(prompts, own.sampler.batch_size)
    return (given.written(asked, responses, own.sampler, within="popri"),)


def _control_texts(given: Given) -> tuple[Work, ...]:
    own = _popri(given)
    public = int(given.parameters["corpus"]["public_texts"])
    prompts = max(own.written_texts - public, 0) / own.responses
    return (given.written(prompts, own.responses, own.sampler, within="popri"),)


def _prediction(given: Given) -> DpPrediction:
    return given.params("dp_prediction", DpPrediction)


def _predicted_tokens(given: Given) -> tuple[Work, ...]:
    """Return the reading of all clients' prompts, and every client's pass for each token of its group's texts."""
    own = _prediction(given)
    tokens = given.population.training * (own.example_tokens + own.texts_per_group * own.sampler.max_new_tokens)
    return (given.read(tokens / given.tokens, model="generator"),)


def _pe(given: Given) -> Pe:
    return given.params("pe", Pe)


def _filled_masks(own: Pe, given: Given, texts: float) -> Work:
    """Return the variation of texts by a masked model: one pass for every mask, all of them one after another."""
    masks = own.masks
    read = given.read(texts * masks.passes * masks.share * given.tokens)
    return Work(read.kind, read.tokens, masks.batch_size, read.row, texts=round(texts), lower="pe.masks.batch_size")


def _varied(given: Given, survivors: float, number: int) -> tuple[Work, ...]:
    own = _pe(given)
    if own.variation == "mask_filling":
        return (_filled_masks(own, given, survivors * number),)
    return (given.written(survivors, number, own.sampler, within="pe", shown=1),)


def _variations(given: Given) -> tuple[Work, ...]:
    own = _pe(given)
    share = (own.rounds - 1) / own.rounds  # the first round votes on the start itself
    return _varied(given, own.survivors * share, own.variations)


def _last_variations(given: Given) -> tuple[Work, ...]:
    own = _pe(given)
    return _varied(given, own.survivors, own.variations)


def _looked_ahead(given: Given) -> tuple[Work, ...]:
    own = _pe(given)
    return _varied(given, own.population, own.lookahead)


def _random_texts(given: Given) -> tuple[Work, ...]:
    own = _pe(given)
    return (given.written(own.population, 1, own.sampler, within="pe"),)


def _population_embeddings(given: Given) -> tuple[Work, ...]:
    return (given.read(_pe(given).population),)


def _lookahead_embeddings(given: Given) -> tuple[Work, ...]:
    own = _pe(given)
    return (given.read(own.population * own.lookahead),)


def _expansion(given: Given) -> tuple[Work, ...]:
    own = _pe(given)
    prompts = prompts_for(own.synthetic_texts, own.final_responses)
    return (given.written(prompts, own.final_responses, own.sampler, within="pe"),)


def _pe_sft(given: Given) -> PeSft:
    return given.params("pe_sft", PeSft)


def _tuning(given: Given) -> tuple[Work, ...]:
    own = _pe_sft(given)
    row = LISTED * (given.tokens + HEADING)
    return (trained(own.lists, row, own.training, within="pe_sft.training", lora=own.lora),)


def _tuned_texts(given: Given) -> tuple[Work, ...]:
    own = _pe_sft(given)
    prompts = prompts_for(own.synthetic_texts, own.final_responses)
    return (given.written(prompts, own.final_responses, own.sampler, within="pe_sft"),)


def _dp_sgd(given: Given) -> DpSgdGeneration:
    return given.params("dp_sgd_generation", DpSgdGeneration)


def _private_steps(own: Ctcl | DpSgdGeneration, name: str, given: Given) -> Work:
    training, at = own.training, f"{name}.training.units_at_once"
    return private(given.samples, given.tokens, training.epochs, training.units_at_once, within=at, lora=own.lora)


def _class_texts(given: Given) -> tuple[Work, ...]:
    own = _dp_sgd(given)
    prompts = prompts_for(own.synthetic_texts, own.final_responses, classes=len(own.classes))
    return (given.written(prompts, own.final_responses, own.sampler, within="dp_sgd_generation", shown=0),)


def _ctcl(given: Given) -> Ctcl:
    return given.params("ctcl", Ctcl)


def _taught_keywords(given: Given) -> tuple[Work, ...]:
    own, at = _ctcl(given), "ctcl.public_training"
    return (trained(given.public_samples, given.tokens, own.public_training, within=at, lora=own.lora),)


def _rft(given: Given) -> DpRft:
    return given.params("dp_rft", DpRft)


def _voted_texts(given: Given) -> tuple[Work, ...]:
    own = _rft(given)
    return (given.written(own.prompts, own.responses, own.sampler, within="dp_rft"),)


def _reinforcement(given: Given) -> tuple[Work, ...]:
    own, texts = _rft(given), _voted_texts(given)[0]
    row = texts.shown / own.prompts + given.tokens
    return (trained(texts.texts, row, own.training, within="dp_rft.training", lora=own.lora),)


def _policy_texts(given: Given) -> tuple[Work, ...]:
    own = _rft(given)
    prompts = prompts_for(own.synthetic_texts, own.final_responses)
    return (given.written(prompts, own.final_responses, own.sampler, within="dp_rft"),)


def _topic_texts(given: Given) -> tuple[Work, ...]:
    own = _ctcl(given)
    prompts = prompts_for(own.synthetic_texts, own.final_responses, classes=own.topics)
    return (given.written(prompts, own.final_responses, own.sampler, within="ctcl", shown=0),)


def _flexible(given: Given) -> Flexible:
    return given.params("flexible", Flexible)


def _silo_training(given: Given) -> tuple[Work, ...]:
    own, silos = _flexible(given), given.params("silos", Silos)
    strong = len(silos.strong) if isinstance(silos.strong, tuple) else 1
    if not isinstance(silos.strong, tuple):
        strong = max(round(silos.strong * (len(silos.units) or silos.groups or given.population.enrolled)), 1)
    units = strong * own.training.steps * own.training.batch_size
    at = "flexible.training.units_at_once"
    return (private(units, given.tokens, 1.0, own.training.units_at_once, within=at, lora=own.lora),)


def _profiled_texts(given: Given) -> tuple[Work, ...]:
    own = _flexible(given)
    prompts = own.candidates / own.final_responses
    return (given.written(prompts, own.final_responses, own.sampler, within="flexible", shown=0),)


def _expanded_embeddings(given: Given) -> tuple[Work, ...]:
    own = _pe(given)
    return (given.read(own.synthetic_texts),)


RULES: dict[str, Rule] = {
    "popri.open_popri_ledger": nothing,
    "popri.start_adapter": nothing,
    "popri.write_control_texts": _control_texts,
    "popri.embed_control_texts": lambda given: (given.read(_control_texts(given)[0].texts),),
    "popri.generate_candidates": _candidates,
    "popri.embed_candidates": _candidate_embeddings,
    "popri.train_policy": _policy,
    "popri.generate_final_texts": _final_texts,
    "popri.write_for_reading": _reading_pool,
    "popri.embed_final_texts": lambda given: (given.read(_final_texts(given)[0].texts),),
    "embed_validation_samples": lambda given: (given.read(given.test_samples),),
    "pe.write_random_texts": _random_texts,
    "pe.vary_survivors": _variations,
    "pe.vary_last_survivors": _last_variations,
    "pe.embed_texts": _population_embeddings,
    "pe.look_ahead": _looked_ahead,
    "pe.embed_lookahead": _lookahead_embeddings,
    "pe.expand_seeds": _expansion,
    "pe.embed_final_texts": _expanded_embeddings,
    "pe_sft.train_on_best_samples": _tuning,
    "pe_sft.write_tuned_texts": _tuned_texts,
    "pe_sft.embed_final_texts": lambda given: (given.read(_tuned_texts(given)[0].texts),),
    "dp_prediction.tokenise_prompts": nothing,
    "dp_prediction.write_tokens": _predicted_tokens,
    "dp_prediction.read_texts": nothing,
    "dp_prediction.embed_final_texts": lambda given: (given.read(_prediction(given).synthetic_texts),),
    "dp_sgd_generation.start_weights": nothing,
    "dp_sgd_generation.tokenise_behind_classes": nothing,
    "dp_sgd_generation.train_privately": lambda given: (_private_steps(_dp_sgd(given), "dp_sgd_generation", given),),
    "dp_sgd_generation.write_adapter": nothing,
    "dp_sgd_generation.write_class_texts": _class_texts,
    "dp_sgd_generation.embed_final_texts": lambda given: (given.read(_class_texts(given)[0].texts),),
    "ctcl.teach_keywords": _taught_keywords,
    "ctcl.tokenise_behind_keywords": nothing,
    "ctcl.train_privately": lambda given: (_private_steps(_ctcl(given), "ctcl", given),),
    "ctcl.write_adapter": nothing,
    "ctcl.write_by_topic": _topic_texts,
    "ctcl.embed_final_texts": lambda given: (given.read(_ctcl(given).synthetic_texts),),
    "dp_rft.start_adapter": nothing,
    "dp_rft.write_candidates": _voted_texts,
    "dp_rft.embed_candidates": lambda given: (given.read(_voted_texts(given)[0].texts),),
    "dp_rft.reinforce": _reinforcement,
    "dp_rft.write_final_texts": _policy_texts,
    "dp_rft.embed_final_texts": lambda given: (given.read(_policy_texts(given)[0].texts),),
    "flexible.start_weights": nothing,
    "flexible.open_flexible_ledger": nothing,
    "flexible.tokenise_behind_codes": nothing,
    "flexible.train_strong_silos": _silo_training,
    "flexible.write_adapter": nothing,
    "flexible.write_by_profile": _profiled_texts,
    "flexible.embed_candidates": lambda given: (given.read(_flexible(given).candidates),),
}
