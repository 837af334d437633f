"""The first candidates: public texts (PrE-Text), or texts that the generator writes (Aug-PE's RANDOM_API)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedtext.generation import few_shot
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import Generator
from fedtext.params.corpus import Chunking
from fedtext.params.pe import Pe
from fedtext.seeding import derived_seed, stream
from fedtext.system.errors import InputError


def public_texts(public: pd.DataFrame, evolution: Pe) -> pd.DataFrame:
    """`pe.population` public texts, each at most once if there are enough, classes in turn.

    Returns:
        Columns `text`, `label`.

    Raises:
        ValueError: there is no public text.
    """
    if public.empty:
        raise InputError("no public text to begin with: add public samples, or set pe.form to aug_pe")
    rng = stream(evolution.seed, "start")
    size = evolution.population
    rows = np.concatenate([rng.permutation(len(public)) for _ in range(-(-size // len(public)))])[:size]
    labels = [evolution.classes[i % len(evolution.classes)] for i in range(size)]
    return pd.DataFrame({"text": public["text"].to_numpy()[rows], "label": labels})


def random_texts(generator: Generator, public: pd.DataFrame, evolution: Pe, chunking: Chunking) -> pd.DataFrame:
    """RANDOM_API: about `pe.population` texts, classes in turn, prompted with public samples.

    With classes a prompt shows public samples that are labelled with its own. A class without enough of them is asked
    for by its name alone, as Aug-PE asks: samples of anything else draw the texts away from the class.

    Returns:
        Columns `text`, `label`; no empty text.

    Raises:
        ValueError: the generator wrote none.
    """
    prompts = first_prompts(public, evolution)
    texts = few_shot.sampled_texts(
        generator,
        prompts,
        responses=1,
        sampler=evolution.sampler,
        length=chunking.length,
        seed=derived_seed(evolution.seed, "responses", "start"),
        label="first candidates",
    )
    few_shot.refuse_unwritten(texts, generator, "first candidates")
    return texts.loc[texts["text"] != "", ["text", "label"]].reset_index(drop=True)


def first_prompts(public: pd.DataFrame, evolution: Pe) -> pd.DataFrame:
    """What RANDOM_API asks: columns `prompt_id`, `prompt`, `label`, one row a text."""
    form, rng = prompt_form(evolution.sampler), stream(evolution.seed, "prompts", "start")
    count, classes = evolution.population, evolution.classes
    if evolution.labels:
        return few_shot.prompts_by_class(public, None, count=count, classes=classes, form=form, rng=rng)
    return few_shot.draw_prompts(
        public,
        np.arange(len(public)),
        count=count,
        classes=classes,
        form=form,
        rng=rng,
        examples=evolution.sampler.examples,
    )
