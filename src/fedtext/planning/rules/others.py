"""Work of the pipelines beside the algorithms: contamination, pretraining, and the figures of LargeFedBench."""

from __future__ import annotations

from dataclasses import replace

from fedtext.params.contamination import Contamination
from fedtext.params.training import Pretraining
from fedtext.planning.rules.given import Given, Rule, nothing
from fedtext.planning.work import Kind, Work

TOKENS_A_WORD = 1.4  # of English, as a tokenizer of some 50,000 tokens cuts it
SPEECHES = 2000  # fedtext.pipelines.largefedbench.nodes.SPEECHES_ON_THE_MAP


def _contamination(given: Given) -> Contamination:
    return given.params("contamination", Contamination)


def _completions(given: Given) -> tuple[Work, ...]:
    own = _contamination(given)
    texts, tokens = 2 * own.texts, own.words * TOKENS_A_WORD
    written = Work(
        Kind.WRITING,
        tokens=texts * tokens,
        at_once=own.batch_size,
        row=2 * tokens,
        texts=texts,
        shown=texts * tokens,
        lower="contamination.batch_size",
    )
    return (written,)


def _likelihoods(given: Given) -> tuple[Work, ...]:
    own = _contamination(given)
    read = given.read(2 * own.texts, 2 * own.words * TOKENS_A_WORD)
    return tuple(replace(read, model=model) for model in given.models)


def _general_text(given: Given) -> tuple[Work, ...]:
    own = given.params("pretrain", Pretraining).general
    described, kinds = own.described, len(own.kinds)
    texts = kinds * own.texts * described.texts.oversample
    at, role = "pretrain.general.described", "generator"
    return (
        given.written(
            kinds * described.topics.lists, 1, described.topics.sampler, within=at, shown=0, model=role, whole=True
        ),
        given.written(texts, 1, described.texts.sampler, within=at, shown=0, model=role),
        given.read(texts, model="encoder"),
    )


RULES: dict[str, Rule] = {
    "complete_texts": _completions,
    "score_likelihoods": _likelihoods,
    "report_contamination": nothing,
    "write_general_text": _general_text,
    "train_on_device": nothing,  # of a model that is not there yet
    "draw_largefedbench": lambda given: (given.read(SPEECHES, given.length),),
}
