"""Work of the algorithms that write labelled texts with several generators: WASP, FuseGen, zero-shot."""

from __future__ import annotations

from fedtext.params.labelled import Fusegen, LabelledWriting, ZeroShot
from fedtext.params.task import Task
from fedtext.params.wasp import Wasp
from fedtext.planning.rules.given import Given, Rule, nothing
from fedtext.planning.work import Work


def _wasp(given: Given) -> Wasp:
    return given.params("wasp", Wasp)


def _round_texts(given: Given) -> tuple[Work, ...]:
    """Return one model's part of a round, at equal weights."""
    own = _wasp(given)
    texts = own.texts / own.rounds / given.generators
    prompts = min(len(own.classes) * own.prompts_per_class, texts)
    return (given.written(prompts, round(texts / prompts), own.sampler, within="wasp", shown=2 * own.shown),)


def _new_embeddings(given: Given) -> tuple[Work, ...]:
    own = _wasp(given)
    return (given.read(own.texts / own.rounds),)


def _labelled(given: Given, texts: float, writing: LabelledWriting, *, within: str, shown: int) -> tuple[Work, ...]:
    """Return what each generator writes of `texts` texts of all of them together."""
    each = texts * writing.oversample / len(given.models)
    attributes = max(len(given.params("task", Task).attributes), 1)
    prompts = max(each / writing.responses, attributes)
    return tuple(
        given.written(prompts, writing.responses, writing.sampler, within=f"{within}.writing", shown=shown, model=model)
        for model in given.models
    )


def _fusegen_round(given: Given) -> tuple[Work, ...]:
    own = given.params("fusegen", Fusegen)
    return _labelled(given, own.texts / own.rounds, own.writing, within="fusegen", shown=own.shown)


def _zero_shot_texts(given: Given) -> tuple[Work, ...]:
    own = given.params("zero_shot", ZeroShot)
    return _labelled(given, own.texts, own.writing, within="zero_shot", shown=0)


RULES: dict[str, Rule] = {
    "wasp.start_models": nothing,
    "wasp.start_texts": nothing,
    "wasp.open_wasp_ledger": nothing,
    "wasp.write_": _round_texts,
    "wasp.embed_new_texts": _new_embeddings,
    "fusegen.write_round_texts": _fusegen_round,
    "fusegen.choose_examples": lambda given: (given.read(given.params("fusegen", Fusegen).texts / 2),),
    "dp_classifier.open_dp_classifier_ledger": nothing,
    "dp_classifier.embed_labelled_samples": lambda given: (given.read(given.samples),),
    "dp_classifier.train_classifier_privately": nothing,
    "evaluation.classify_by_trained": lambda given: (given.read(given.test_samples),),
    "fusegen.keep_written_texts": lambda given: (given.read(given.params("fusegen", Fusegen).texts),),
    "zero_shot.write_zero_shot_texts": _zero_shot_texts,
    "zero_shot.keep_written_texts": lambda given: (given.read(given.params("zero_shot", ZeroShot).texts),),
}
