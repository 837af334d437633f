"""Best-of-n: of many written texts, those that the generator itself finds the most plausible of their kind.

A small model writes sense and nonsense from one prompt. Two likelihoods tell them apart better than one: how likely a
text is, and how much likelier it is where the prompt says what the texts are (their pointwise mutual information). A
likely text may be of any kind, and one of its kind may be an odd one. Both come from the public model, so choosing by
them costs no privacy (docs/decisions/0062).
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.generation.likelihood import mean_log_likelihoods
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import Generator, TrainableGenerator
from fedtext.params.for_reading import ForReading
from fedtext.params.generation import Sampler
from fedtext.system.missing import nullable


def best_first(generator: TrainableGenerator, texts: pd.DataFrame, sampler: Sampler) -> Int[np.ndarray, " text"]:
    """Return the rows of the texts, the most plausible one of each prompt first, then the second of each, and so on.

    Args:
        generator: The model that wrote them.
        texts: Columns `text`, `topic` and `opening`, as they were asked for; no topic is None.
        sampler: Prompt form and description.
    """
    scores = pd.Series(plausibility(generator, texts, sampler), index=texts.index)
    rank: pd.Series = scores.groupby([texts["topic"], texts["opening"]], dropna=False).rank("first", ascending=False)
    return np.asarray(np.lexsort((-scores, rank)))


def most_plausible(
    generator: Generator, synthetic: pd.DataFrame, sampler: Sampler, for_reading: ForReading
) -> pd.DataFrame:
    """Return the synthetic texts that make the most sense to a reader, the most plausible first.

    Args:
        generator: A model that was told what the texts are. A server gives no likelihoods: its texts stay in order.
        synthetic: Columns `text` and `label`.
        sampler: Prompt form and description.
        for_reading: How many texts are looked at, and the share that is kept.

    Returns:
        Columns `text`, `label` and `plausibility`: the share of the texts looked at that are less plausible; None
        beside a server.
    """
    read = synthetic[["text", "label"]].head(for_reading.texts).reset_index(drop=True)
    kept = math.ceil(for_reading.share * len(read))
    if not isinstance(generator, TrainableGenerator):
        return read.head(kept).assign(plausibility=None)
    scores = plausibility(generator, read[["text"]].assign(topic=None, opening=""), sampler)
    order = np.argsort(-scores, kind="stable")
    less_plausible = 1 - (np.arange(len(read)) + 1) / max(len(read), 1)
    return read.iloc[order].assign(plausibility=less_plausible).head(kept).reset_index(drop=True)


def plausibility(generator: TrainableGenerator, texts: pd.DataFrame, sampler: Sampler) -> Float[np.ndarray, " text"]:
    """Return how plausible each text is: mean log-likelihood and mean PMI a token, each standardised over all texts.

    The opening that a text was given does not count. A text that is nothing else comes last.
    """
    described = _log_likelihoods(generator, texts, sampler)
    of_any_kind = _log_likelihoods(
        generator, texts.assign(topic=None), sampler.model_copy(update={"description": None})
    )
    both = _standardised(described) + _standardised(described - of_any_kind)
    return np.asarray(np.nan_to_num(both, nan=-np.inf))


def _log_likelihoods(
    generator: TrainableGenerator, texts: pd.DataFrame, sampler: Sampler
) -> Float[np.ndarray, " text"]:
    """Return the mean log-likelihood of each text behind its prompt and its opening; NaN where nothing is behind it."""
    form, openings = prompt_form(sampler), texts["opening"].tolist()
    requests = [form.request([], topic=topic) for topic in nullable(texts["topic"])]
    begun = generator.completion_prompts(requests, form.framing)
    prompts = [before + opening for before, opening in zip(begun, openings, strict=True)]
    rest = [text.removeprefix(opening) for text, opening in zip(texts["text"], openings, strict=True)]
    return mean_log_likelihoods(generator, prompts, rest, label="plausibility")


def _standardised(values: Float[np.ndarray, " text"]) -> Float[np.ndarray, " text"]:
    """Return the values less their mean, over their standard deviation; all zero where they are equal."""
    spread = float(np.nanstd(values)) if np.isfinite(values).any() else 0.0
    return (values - np.nanmean(values)) / spread if spread > 0 else values * 0.0
