"""As many texts of each kind as are wanted of it, from one generator; a kind is one request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fedtext.generation.few_shot import sampled_texts
from fedtext.generation.prompt_forms import PromptForm
from fedtext.models.generator import Generator
from fedtext.params.generation import Sampler, prompts_for


def texts_by_count(
    generator: Generator,
    requests: Sequence[str],
    counts: Sequence[int],
    *,
    responses: int,
    sampler: Sampler,
    length: int,
    seed: int,
    label: str,
    form: PromptForm,
) -> pd.DataFrame:
    """Generate at most `counts[k]` non-empty texts for each request k, kinds in order.

    Each kind is asked for a few more texts than are kept, since some come out empty.

    Returns:
        Columns `text`, `prompt_id`, `kind` (k).
    """
    kinds = [kind for kind, count in enumerate(counts) for _ in range(prompts_for(count, responses) if count else 0)]
    asked = {"prompt_id": range(len(kinds)), "prompt": [requests[kind] for kind in kinds], "label": kinds}
    texts = sampled_texts(
        generator,
        pd.DataFrame(asked),
        responses=responses,
        sampler=sampler,
        length=length,
        seed=seed,
        label=label,
        form=form,
    ).rename(columns={"label": "kind"})
    full = texts.loc[texts["text"] != "", ["text", "prompt_id", "kind"]]
    place = full.groupby("kind").cumcount().to_numpy()
    kept = full[place < np.asarray(counts, dtype=np.int64)[full["kind"].to_numpy(dtype=np.int64)]]
    return pd.DataFrame(kept).reset_index(drop=True)
