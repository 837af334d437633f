"""Next-token accuracy. A condition is one training and one measurement; conditions of one node run side by side.

What a condition got right in each held-out text is as private as the text; only aggregates leave, by the node that
compares them (comparison.py), a declared held-out evaluation.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.corpora.samples import spread_samples
from fedtext.evaluation.scoring import evenly_spaced, score_conditions
from fedtext.generation.few_shot import draw_prompts, first_written, sampled_texts
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import Generator
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking
from fedtext.params.evaluation import Evaluation
from fedtext.params.generation import prompts_for
from fedtext.seeding import derived_seed, stream

Counts = dict[str, np.ndarray]


def _scored(
    on_device: LanguageModel,
    conditions: Mapping[str, Sequence[str]],
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
) -> list[Counts]:
    held_out = private_test_sample["text"].tolist()
    return list(score_conditions(on_device, conditions, held_out, evaluation, length=chunking.length).values())


def generate_untuned_texts(
    generator: Generator, public_samples: pd.DataFrame, chunking: Chunking, evaluation: Evaluation
) -> pd.DataFrame:
    """What the public generator writes by itself, prompted with any public samples: a control without private data."""
    prompts = draw_prompts(
        public_samples,
        np.arange(len(public_samples)),
        count=prompts_for(evaluation.texts, evaluation.untuned.responses, evaluation.untuned.oversample),
        classes=(None,),
        form=prompt_form(evaluation.untuned.sampler),
        rng=stream(evaluation.seed, "prompts", "untuned"),
        examples=evaluation.untuned.sampler.examples,
    )
    texts = sampled_texts(
        generator,
        prompts,
        responses=evaluation.untuned.responses,
        sampler=evaluation.untuned.sampler,
        length=chunking.length,
        seed=derived_seed(evaluation.seed, "responses", "untuned"),
        label="texts of the untuned generator",
    )
    return texts.iloc[first_written(texts, evaluation.texts)].reset_index(drop=True)


def score_public_model(
    on_device: LanguageModel, private_test_sample: pd.DataFrame, chunking: Chunking, evaluation: Evaluation
) -> list[Counts]:
    """Epsilon = 0: the public on-device model as it is."""
    return _scored(on_device, {"public model": []}, private_test_sample, chunking, evaluation)


def score_texts(
    on_device: LanguageModel,
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
    *texts: pd.DataFrame,
) -> list[Counts]:
    """After training on `evaluation.texts` of each set of texts: synthetic ones, or a control's; side by side."""
    return _scored(on_device, _as_many(texts, evaluation), private_test_sample, chunking, evaluation)


def score_controls(
    on_device: LanguageModel,
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
    private_train: pd.DataFrame,
    *texts: pd.DataFrame,
) -> list[Counts]:
    """The same of public texts, and last, epsilon = infinity: of `evaluation.private_texts` private samples themselves.

    In one node, for a training takes one core: by themselves each would leave the others idle.
    """
    private = spread_samples(private_train, evaluation.private_texts)["text"].tolist()
    conditions = _as_many(texts, evaluation) | {"private texts": private}
    return _scored(on_device, conditions, private_test_sample, chunking, evaluation)


def _as_many(texts: Sequence[pd.DataFrame], evaluation: Evaluation) -> dict[str, list[str]]:
    """`evaluation.texts` of each set."""
    return {
        f"texts {i} of {len(texts)}": evenly_spaced(one["text"].tolist(), evaluation.texts)
        for i, one in enumerate(texts, start=1)
    }


def score_trained_model(
    trained_model: Path,
    on_device: LanguageModel,
    private_test_sample: pd.DataFrame,
    chunking: Chunking,
    evaluation: Evaluation,
) -> list[Counts]:
    """The on-device model that an algorithm trained on the private text itself, under differential privacy.

    It never saw doubly tokenised text, so the released code's metric would say nothing of it.
    """
    trained = dataclasses.replace(on_device, source=str(trained_model))
    evaluation = evaluation.model_copy(update={"published_metric": False})
    return _scored(trained, {"privately trained model": []}, private_test_sample, chunking, evaluation)
