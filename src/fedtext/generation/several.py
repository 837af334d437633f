"""Several generators side by side: the same requests to each, one table of what they write."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from fedtext.generation.few_shot import sampled_texts
from fedtext.models.generator import Generator
from fedtext.params.generation import Sampler
from fedtext.seeding import derived_seed


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
    """What every generator writes for its own prompts, generator by generator, in the order of their names.

    Each draws from a stream of its own name, so that one more generator changes nothing of what the others write.

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
