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
    """RANDOM_API: about `pe.population` texts, prompted with public samples and the class, in turn.

    Returns:
        Columns `text`, `label`; no empty text.
    """
    prompts = few_shot.draw_prompts(
        public,
        np.arange(len(public)),
        count=evolution.population,
        classes=evolution.classes,
        form=prompt_form(evolution.sampler),
        rng=stream(evolution.seed, "prompts", "start"),
    )
    texts = few_shot.sampled_texts(
        generator,
        prompts,
        responses=1,
        sampler=evolution.sampler,
        length=chunking.length,
        seed=derived_seed(evolution.seed, "responses", "start"),
        label="first candidates",
    )
    return texts.loc[texts["text"] != "", ["text", "label"]].reset_index(drop=True)
