"""Candidates of Private Evolution: the first ones and variations of survivors (VARIATION_API).

The first candidates are public texts (PrE-Text), or texts that the generator writes (RANDOM_API of Aug-PE). Variations
are written by few-shot prompts, by instruction or by mask filling.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.algorithms.pe.instructions import instruction_form, instruction_prompts
from fedtext.embedding.nonempty import nonempty_mask
from fedtext.generation import few_shot
from fedtext.generation.cleaning import cut_to, token_counts
from fedtext.generation.mask_filling import fill_masks
from fedtext.generation.prompt_forms import SHOTS, PromptForm, prompt_form
from fedtext.models.generator import Generator
from fedtext.models.language_model import MaskedModel
from fedtext.params.corpus import Chunking
from fedtext.params.pe import Pe
from fedtext.seeding import derived_seed, stream
from fedtext.system.errors import InputError
from fedtext.system.missing import nullable


def public_texts(public: pd.DataFrame, evolution: Pe) -> pd.DataFrame:
    """Sample `pe.population` public texts, each at most once if there are enough, classes in turn.

    Returns:
        Columns `text`, `label`.

    Raises:
        ValueError: there is no public text.
    """
    if public.empty:
        raise InputError(
            "no public text to begin with: add public samples, or set pe.form to aug_pe", code="no-public-text"
        )
    rng = stream(evolution.seed, "start")
    size = evolution.population
    rows = np.concatenate([rng.permutation(len(public)) for _ in range(-(-size // len(public)))])[:size]
    labels = [evolution.classes[i % len(evolution.classes)] for i in range(size)]
    return pd.DataFrame({"text": public["text"].to_numpy()[rows], "label": labels})


def random_texts(generator: Generator, public: pd.DataFrame, evolution: Pe, chunking: Chunking) -> pd.DataFrame:
    """Generate about `pe.population` texts, classes in turn, prompted with public samples (RANDOM_API).

    With classes, a prompt shows public samples of its own class. A class without enough of them is prompted by its name
    alone, as in Aug-PE: samples of another class would draw the texts away from it.

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
    few_shot.validate_generated(texts, generator, "first candidates")
    return texts.loc[texts["text"] != "", ["text", "label"]].reset_index(drop=True)


def first_prompts(public: pd.DataFrame, evolution: Pe) -> pd.DataFrame:
    """Build the prompts of RANDOM_API: columns `prompt_id`, `prompt`, `label`, one row per text."""
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


def variations(
    model: Generator | MaskedModel,
    parents: pd.DataFrame,
    count: int,
    stage: str,
    evolution: Pe,
    chunking: Chunking,
) -> pd.DataFrame:
    """Write `count` variations of every parent, parent by parent; some may be empty.

    Returns:
        Columns `text`, `label`, `parent` (row of `parents`).
    """
    rows = np.repeat(np.arange(len(parents)), count)
    if isinstance(model, MaskedModel):
        filler, tokenizer = model.load()
        texts = fill_masks(
            filler,
            tokenizer,
            parents["text"].to_numpy()[rows].tolist(),
            evolution.masks,
            length=chunking.length,
            seed=derived_seed(evolution.seed, "masks", stage),
            label=f"variations, {stage}",
        )
    else:
        texts = _prompted(model, parents, count, stage, evolution, chunking)
    return pd.DataFrame({"text": texts, "label": parents["label"].to_numpy()[rows], "parent": rows})


def next_population(survivors: pd.DataFrame, varied: pd.DataFrame, evolution: Pe) -> pd.DataFrame:
    """Return the next candidates: the non-empty variations, in Aug-PE after the survivors themselves.

    Returns:
        Columns `text`, `label`.

    Raises:
        ValueError: there is none: the next round would spend its privacy cost on no candidate.
    """
    new = varied.loc[varied["text"] != "", ["text", "label"]]
    parts = [survivors[["text", "label"]], new] if evolution.keeps_parents else [new]
    candidates = pd.concat(parts, ignore_index=True)
    if candidates.empty:
        raise InputError(
            f"none of the {len(varied)} variations holds a text that can be used: look at what the generator writes, "
            "set pe.sampler.legible_only=false if that drops them, or take another generator",
            code="no-usable-variation",
        )
    return candidates


def lookahead_mean(
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    varied_embeddings: Float[np.ndarray, "variation dim"],
    parent: Int[np.ndarray, " variation"],
) -> Float[np.ndarray, "candidate dim"]:
    """Compute the vectors that are voted on with `lookahead`: the unit mean embedding of each candidate's variations.

    A candidate whose variations are all empty keeps its own embedding.
    """
    sums = np.zeros(candidate_embeddings.shape)
    np.add.at(sums, parent, varied_embeddings)
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    voted = np.where(nonempty_mask(sums)[:, None], sums / np.maximum(norms, 1e-12), candidate_embeddings)
    return np.asarray(voted, dtype=candidate_embeddings.dtype)


def variation_prompts(parents: pd.DataFrame, form: PromptForm, rng: np.random.Generator) -> pd.DataFrame:
    """Build a prompt for every parent, which is shown last, after distinct other texts of its class.

    A model attends most to the last example. Where a class has too few distinct texts, the parent fills the places.

    Returns:
        Columns `prompt_id`, `prompt`, `label`.
    """
    labels = nullable(parents["label"])
    kin: dict[str | None, dict[str, int]] = {}  # the distinct texts of every class, each with its position
    for text, label in zip(parents["text"], labels, strict=True):
        own = kin.setdefault(label, {})
        own.setdefault(text, len(own))
    listed = {label: list(own) for label, own in kin.items()}
    prompts = []
    for text, label in zip(parents["text"], labels, strict=True):
        texts, at = listed[label], kin[label][text]
        drawn = rng.choice(len(texts) - 1, size=min(SHOTS - 1, len(texts) - 1), replace=False)
        others = [texts[i + (i >= at)] for i in drawn]
        prompts.append(form.request([*others, *[text] * (SHOTS - len(others))], label))
    return pd.DataFrame({"prompt_id": np.arange(len(parents)), "prompt": prompts, "label": labels})


def _prompted(
    generator: Generator,
    parents: pd.DataFrame,
    count: int,
    stage: str,
    evolution: Pe,
    chunking: Chunking,
) -> list[str]:
    """Generate `count` texts for every parent's prompt, with adaptive length if the parameters say so."""
    rng = stream(evolution.seed, "variation prompts", stage)
    if evolution.variation == "few_shot":
        form, prompts = None, variation_prompts(parents, prompt_form(evolution.sampler), rng)
    else:
        own = generator.own(evolution.sampler)
        form, prompts = instruction_form(own), instruction_prompts(parents, evolution, own, stage)
    varied = few_shot.sampled_texts(
        generator,
        prompts,
        responses=count,
        sampler=evolution.sampler,
        length=chunking.length,
        seed=derived_seed(evolution.seed, "responses", stage),
        label=f"variations, {stage}",
        form=form,
    )
    texts: list[str] = varied["text"].tolist()
    if evolution.length_spread is None:
        return texts
    tokenizer = generator.length_tokenizer()
    parent_lengths = np.repeat(token_counts(parents["text"].tolist(), tokenizer), count)
    return cut_to(texts, tokenizer, adapted_lengths(parent_lengths, evolution.length_spread, chunking, rng))


def adapted_lengths(
    parent_lengths: Int[np.ndarray, " text"] | Sequence[int],
    spread: float,
    chunking: Chunking,
    rng: np.random.Generator,
) -> list[int]:
    """Sample Aug-PE's adaptive lengths: the parent's plus normal noise of `spread` tokens, within chunk bounds."""
    drawn = np.rint(np.asarray(parent_lengths) + spread * rng.standard_normal(len(parent_lengths)))
    lengths: list[int] = np.clip(drawn, chunking.min_tokens, chunking.length).astype(int).tolist()
    return lengths
