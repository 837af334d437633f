"""Work that runs have in common: public texts, clients' embeddings, federated training, and the evaluation."""

from __future__ import annotations

from fedtext.params.corpus import Corpus
from fedtext.params.described import Described
from fedtext.params.evaluation import Classification, Evaluation
from fedtext.params.federated import DpFedavg, DpFtrl, LocalTraining
from fedtext.params.for_reading import ForReading
from fedtext.params.generation import prompts_for
from fedtext.params.training import CausalTraining
from fedtext.planning.rules.given import Given, Rule, nothing, private, trained
from fedtext.planning.work import Work


def _topics(given: Given) -> tuple[Work, ...]:
    own = given.params("described", Described).topics
    return (
        given.written(own.lists, 1, own.sampler, within="described.topics", shown=0, model="describer", whole=True),
    )


def _described_texts(given: Given) -> tuple[Work, ...]:
    own, corpus = given.params("described", Described).texts, given.params("corpus", Corpus)
    texts = corpus.public_texts * own.oversample * own.best_of
    written = given.written(texts, 1, own.sampler, within="described.texts", shown=0, model="describer")
    embedded = given.read(texts, model="encoder")
    if own.best_of == 1:
        return (written, embedded)
    return (written, embedded, given.read(2 * texts, model="describer"))  # behind the request, and behind any other


def _for_reading(given: Given) -> tuple[Work, ...]:
    texts = given.params("for_reading", ForReading).texts
    return (given.read(2 * texts), given.read(texts, model="encoder"))  # behind the request, and behind any other


def _federated(given: Given, local: LocalTraining, asked: float, *, within: str) -> tuple[Work, ...]:
    """Return a round's training of the asked clients."""
    samples = asked * given.samples / given.population.training
    at = f"{within}.local.clients_at_once"
    return (private(samples, given.tokens, local.epochs, local.clients_at_once, within=at, lora=None),)


def _fedavg_round(given: Given) -> tuple[Work, ...]:
    asked = given.parameters["privacy"]["clients_per_round"] or given.population.training
    return _federated(given, given.params("dp_fedavg", DpFedavg).local, asked, within="dp_fedavg")


def _ftrl_round(given: Given) -> tuple[Work, ...]:
    own = given.params("dp_ftrl", DpFtrl)
    return _federated(given, own.local, given.population.training / own.separation, within="dp_ftrl")


def _evaluation(given: Given) -> Evaluation:
    return given.params("evaluation", Evaluation)


def _held_out(given: Given) -> float:
    """Return how many held-out samples are scored."""
    return min(given.test_samples, _evaluation(given).max_eval_samples)


def _conditions(given: Given, texts: float, number: float) -> tuple[Work, ...]:
    """Return `number` trainings of the on-device model on `texts` texts in all, and what they score."""
    own = _evaluation(given)
    causal: CausalTraining = own.training.at(own.training.learning_rates[0])
    rates = len(own.training.learning_rates)
    training = trained(texts, given.tokens, causal, within="evaluation.training", passes=rates)
    return (training, given.read(_held_out(given) * number))


ALWAYS = 4  # inputs of a node that trains on sets of texts: the model, held-out samples and two groups of parameters


def _untuned_texts(given: Given) -> tuple[Work, ...]:
    own = _evaluation(given)
    prompts = prompts_for(own.texts, own.untuned.responses, own.untuned.oversample)
    return (given.written(prompts, own.untuned.responses, own.untuned.sampler, within="evaluation.untuned"),)


def _controls(given: Given) -> tuple[Work, ...]:
    own = _evaluation(given)
    private = given.samples if own.private_texts is None else min(own.private_texts, given.samples)
    drawn = own.private_draws * private + sum(own.private_curve)
    public = given.inputs - ALWAYS - 1  # the private samples are one more
    return _conditions(given, public * own.texts + drawn, public + own.private_draws + len(own.private_curve))


def _own_texts(given: Given) -> tuple[Work, ...]:
    sets = given.inputs - ALWAYS
    return _conditions(given, sets * _evaluation(given).texts, sets)


def _scored(given: Given) -> tuple[Work, ...]:
    return (given.read(_held_out(given)),)


def _classified(given: Given) -> tuple[Work, ...]:
    own = given.params("classification", Classification)
    texts = _evaluation(given).texts + _held_out(given)
    epochs = own.training.fine_tuning.epochs if own.training.kind == "fine_tuned" else 1.0
    if own.training.kind == "tfidf":
        return ()
    return (given.read(texts * epochs),)


def _tagged(given: Given) -> tuple[Work, ...]:
    own, held_out = _evaluation(given), _held_out(given)
    tagged = given.read(own.texts + held_out, model="tagger")
    if own.entities.head == "logistic":
        return (tagged,)
    return (tagged, given.read(own.texts * own.entities.fine_tuning.epochs + held_out, model="classifier"))


def _asked(given: Given) -> tuple[Work, ...]:
    return (given.read(_evaluation(given).texts + _held_out(given)),)


def _features(given: Given) -> tuple[Work, ...]:
    public = given.params("corpus", Corpus).public_texts
    return (given.read(_evaluation(given).texts + public + _held_out(given), model="features"),)


RULES: dict[str, Rule] = {
    "propose_topics": _topics,
    "write_described_texts": _described_texts,
    "outputs.choose_for_reading": _for_reading,
    "judge_generator": nothing,
    "embed_public_samples": lambda given: (given.read(given.public_samples),),
    "embed_private_samples": lambda given: (given.read(given.samples),),
    "tokenise_private_samples": nothing,
    "dp_fedavg.start_server": nothing,
    "dp_fedavg.release_rows": _fedavg_round,
    "dp_fedavg.write_model": nothing,
    "dp_ftrl.start_server": nothing,
    "dp_ftrl.release_rows": _ftrl_round,
    "dp_ftrl.write_model": nothing,
    "evaluation.embed_test_samples": lambda given: (given.read(_held_out(given)),),
    "evaluation.generate_untuned_texts": _untuned_texts,
    "evaluation.score_controls": _controls,
    "evaluation.score_public_model": _scored,
    "evaluation.score_trained_model": _scored,
    "evaluation.score_public_texts": _own_texts,
    "evaluation.score_untuned_texts": _own_texts,
    "evaluation.score_texts": _own_texts,
    "evaluation.score_private": _own_texts,
    "evaluation.open_": nothing,
    "evaluation.guess_accuracy": _scored,
    "evaluation.classify": _classified,
    "evaluation.tag_": _tagged,
    "evaluation.compare_entity_scores": nothing,
    "evaluation.ask_": _asked,
    "evaluation.measure_": nothing,
    "evaluation.measure_distances_and_mauve": _features,
}
