"""Labelled texts from several generators, balanced over generators, classes and attributes.

Prompts contain only the task's own words and texts that generators wrote. Without examples this is ZeroGen, the first
round of WASP and FuseGen. With examples of the class it is what WASP calls a plain prompt.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from jaxtyping import Int

from fedtext.generation.apportionment import split_evenly
from fedtext.generation.few_shot import sampled_texts
from fedtext.generation.prompt_forms import PromptForm, prompt_form
from fedtext.models.generator import Generator
from fedtext.params.generation import Sampler, prompts_for
from fedtext.params.labelled import LabelledWriting
from fedtext.params.task import Task
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError


def texts_side_by_side(
    generators: Mapping[str, Generator],
    prompts: Mapping[str, pd.DataFrame],
    *,
    responses: int,
    sampler: Sampler,
    length: int,
    seed: int,
    label: str,
) -> pd.DataFrame:
    """Generate texts with every generator for its own prompts, in the order of the generators' names.

    Each generator samples from a random stream of its own name, so another one does not change its texts.

    Returns:
        Columns `generator`, `prompt_id`, `response`, `text`, `label`.
    """
    tables = [
        sampled_texts(
            generators[name],
            prompts[name],
            responses=responses,
            sampler=sampler,
            length=length,
            seed=derived_seed(seed, "generator", name),
            label=f"{label}, {name}",
        ).assign(generator=name)
        for name in sorted(generators)
    ]
    columns = ["generator", "prompt_id", "response", "text", "label"]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


LOG = logging.getLogger(__name__)
COLUMNS = ["text", "label", "attribute", "generator", "prompt_id"]
Examples = Mapping[str, Sequence[str]]  # texts to show, by class


def labelled_texts_of(
    generators: Mapping[str, Generator],
    task: Task,
    writing: LabelledWriting,
    *,
    count: int,
    examples: Examples | None = None,
    length: int,
    seed: int,
    label: str,
) -> pd.DataFrame:
    """Generate at most `count` texts, divided evenly among generators; fewer where one has too few usable texts.

    Args:
        generators: By name; each samples from a random stream of its own name.
        task: Classes and attributes.
        writing: How texts are generated, and which are dropped.
        count: Texts wanted of all generators together.
        examples: Examples for the prompts, by class; None: no examples.
        length: Most tokens of a text.
        seed: Seed of the sampling.
        label: Names progress bars.

    Returns:
        Columns `COLUMNS`; generators in the order of their names, each with its classes and attributes in turn.

    Raises:
        ValueError: no classes, fewer texts than one of each generator and class, or no usable text was generated.
    """
    task.validate_classes(label)
    cells, shares = _cells(task), split_evenly(count, len(generators))
    if count < len(generators) * len(task.labels):
        raise InputError(
            f"{count} texts of {len(generators)} generators and {len(task.labels)} classes: ask for one of each at "
            f"least, {len(generators) * len(task.labels)}",
            code="too-few-texts-to-share",
            parameter="count",
            value=count,
        )
    per_cell = -(-max(shares) // len(cells))
    prompts = {
        name: class_prompts(prompt_form(one.own(writing.sampler)), task, writing, each=per_cell, examples=examples)
        for name, one in generators.items()
    }
    written = texts_side_by_side(
        generators,
        prompts,
        responses=writing.responses,
        sampler=writing.sampler,
        length=length,
        seed=seed,
        label=label,
    )
    cell = (written["prompt_id"] % len(cells)).to_numpy()
    written = written.assign(attribute=[cells[number][1] for number in cell], cell=cell)
    usable = written[[len(text.split()) >= writing.min_words for text in written["text"]]]
    wanted = {name: split_evenly(share, len(cells)) for name, share in zip(sorted(generators), shares, strict=True)}
    kept = _first_of_each(usable, wanted)
    _report_shortfall(kept, count, label)
    return kept[COLUMNS].reset_index(drop=True)


def class_prompts(
    form: PromptForm, task: Task, writing: LabelledWriting, *, each: int, examples: Examples | None = None
) -> pd.DataFrame:
    """Build enough prompts for `each` texts of every class and attribute, these in turn.

    Returns:
        Columns `prompt_id`, `prompt`, `label`; a prompt's class and attribute are those of `prompt_id` modulo their
        number.
    """
    cells, repeats = _cells(task), prompts_for(each, writing.responses, writing.oversample)
    requests = [form.request((examples or {}).get(label, ()), label, topic) for label, topic in cells]
    return pd.DataFrame(
        {
            "prompt_id": np.arange(repeats * len(cells)),
            "prompt": requests * repeats,
            "label": [label for label, _ in cells] * repeats,
        }
    )


def _cells(task: Task) -> list[tuple[str, str | None]]:
    """Return every class with every attribute, attributes changing last, so that the first texts differ in class."""
    return [(label, attribute) for attribute, label in product(task.attributes or (None,), task.labels)]


def _first_of_each(usable: pd.DataFrame, wanted: Mapping[str, Sequence[int]]) -> pd.DataFrame:
    """Return the first texts of every generator and cell, as many as are wanted of it, cells in turn."""
    turn = usable.groupby(["generator", "cell"]).cumcount().to_numpy()
    most = np.asarray([wanted[name][cell] for name, cell in zip(usable["generator"], usable["cell"], strict=True)])
    kept = usable.assign(turn=turn)[turn < most] if len(usable) else usable.assign(turn=turn)
    return kept.sort_values(["generator", "turn", "cell"], kind="stable")


def _report_shortfall(kept: pd.DataFrame, count: int, label: str) -> None:
    if kept.empty:
        raise InputError(
            f"{label}: the generators wrote no text that can be used: lower writing.min_words, set "
            "writing.sampler.legible_only=false, or name other generators (models.plms)",
            code="no-usable-text-of-class",
        )
    if len(kept) < count:
        by = ", ".join(f"{name} {texts}" for name, texts in kept["generator"].value_counts(sort=False).items())
        LOG.warning("%s: %s texts of the %s wanted can be used (%s)", label, len(kept), count, by)


def class_indices(task: Task, texts: pd.DataFrame) -> Int[np.ndarray, " text"]:
    """Return each text's class as its index among the task's labels."""
    return np.asarray([task.labels.index(label) for label in texts["label"]], dtype=np.int64)
