"""Best-of-n: of many written texts, those that the generator itself finds the most plausible of their kind.

A small model writes sense and nonsense from one prompt. Two likelihoods tell them apart better than one: how likely a
text is, and how much likelier it is where the prompt says what the texts are (their pointwise mutual information). A
likely text may be of any kind, and one of its kind may be an odd one. Both come from the public model, so choosing by
them costs no privacy (docs/decisions/0062).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.embedding.similarity import without_near_duplicates
from fedtext.generation.likelihood import mean_log_likelihoods
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import Generator, TrainableGenerator
from fedtext.params.for_reading import ForReading
from fedtext.params.generation import Sampler
from fedtext.system.missing import nullable

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder


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
    generator: Generator, encoder: Encoder, written: pd.DataFrame, sampler: Sampler, for_reading: ForReading
) -> pd.DataFrame:
    """Return the written texts that make the most sense to a reader, the most plausible first.

    Texts are ranked among those with the same opening and label: a likely one would leave the others no place. A text
    that says what an earlier one said is left out.

    Args:
        generator: A model that was told what the texts are. A server gives no likelihoods: its texts stay in order.
        encoder: Embeds texts to find near-duplicates.
        written: Columns `text` and `label`.
        sampler: Prompt form, description and openings.
        for_reading: How many texts are looked at, the share that is kept, and what counts as a near-duplicate.

    Returns:
        Columns `text`, `label` and `plausibility`: its place among the texts ranked with it, near 1 for the most
        plausible and near 0 for the least; None beside a server.
    """
    read = written[["text", "label"]].head(for_reading.texts).reset_index(drop=True)
    kept = math.ceil(for_reading.share * len(read))
    ranked = _ranked(generator, read, sampler)
    embeddings = encoder.encode(ranked["text"].tolist(), label="texts for reading")
    distinct = without_near_duplicates(embeddings, for_reading.similarity)
    return ranked.iloc[distinct].head(kept).reset_index(drop=True)


def _ranked(generator: Generator, read: pd.DataFrame, sampler: Sampler) -> pd.DataFrame:
    if not isinstance(generator, TrainableGenerator):
        return read.assign(plausibility=None)
    asked = read[["text"]].assign(topic=None, opening=[_opening(text, sampler.openings) for text in read["text"]])
    scores = pd.Series(plausibility(generator, asked, sampler), index=read.index)
    alike = scores.groupby([asked["opening"], read["label"]], dropna=False)
    place = 1 - (alike.rank("first", ascending=False) - 0.5) / alike.transform("size")
    return read.assign(plausibility=place).iloc[np.lexsort((-scores, -place))]


def _opening(text: str, openings: Sequence[str]) -> str:
    """Return the opening whose words the text begins with, the longest of several; nothing if it has none of them."""
    return max((opening for opening in openings if _begins(text, opening)), key=len, default="")


def _begins(text: str, opening: str) -> bool:
    """Return whether the text begins with the opening, and not in the middle of a word ("I" is no opening of "It")."""
    around = opening[-1:] + text[len(opening) : len(opening) + 1]
    return text.startswith(opening) and not (len(around) == 2 and all(map(_has_case, around)))


def _has_case(letter: str) -> bool:
    return letter.lower() != letter.upper()  # in a script without case a word may go on without a space


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
