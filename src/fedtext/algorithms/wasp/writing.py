"""Generation of one model's texts in a round, and the table of all rounds' texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int

from fedtext.algorithms.wasp.prompts import QuotedPrompt, round_prompt
from fedtext.generation.few_shot import sampled_texts
from fedtext.models.generator import Generator
from fedtext.params.wasp import Wasp
from fedtext.seeding import derived_seed, stream
from fedtext.system.errors import InputError

COLUMNS = ("text", "label", "model", "round", "prompt_id")


def no_texts() -> pd.DataFrame:
    """Return the empty table of candidates before the first round."""
    kinds = {"text": str, "label": object, "model": str, "round": np.int64, "prompt_id": np.int64}
    return pd.DataFrame({name: pd.Series(dtype=kinds[name]) for name in COLUMNS})


def written_texts(
    generator: Generator,
    model: str,
    counts: Int[np.ndarray, " class"],
    examples: pd.DataFrame,
    round_number: int,
    wasp: Wasp,
    length: int,
) -> pd.DataFrame:
    """Generate `counts` texts of each class by one model; a failed text is empty, so that the counts hold.

    A class has up to `prompts_per_class` prompts, which its texts share, and which take the attributes in turn through
    the rounds. The random stream is named by model and round,
    so that another model changes none of this model's texts.

    Returns:
        Columns `text`, `label`, `model`, `round`, `prompt_id`.
    """
    form, place = QuotedPrompt.of(wasp, generator.own(wasp.sampler)), (model, str(round_number))
    rng = stream(wasp.seed, "wasp prompts", *place)
    prompts = np.minimum(counts, wasp.prompts_per_class)  # prompts of each class
    kind = np.repeat(np.arange(len(counts)), prompts)  # the class of each prompt
    labels = [wasp.classes[c] for c in kind]
    of_class = pd.Series(kind).groupby(kind).cumcount().to_numpy() + (round_number - 1) * wasp.prompts_per_class
    asked = [
        round_prompt(examples, label, form, wasp, rng, wasp.attribute_of(number))
        for label, number in zip(labels, of_class.tolist(), strict=True)
    ]
    texts = sampled_texts(
        generator,
        pd.DataFrame({"prompt_id": np.arange(len(kind)), "prompt": asked, "label": labels}),
        responses=int(np.max(-(-counts // np.maximum(prompts, 1)), initial=1)),
        sampler=wasp.sampler,
        length=length,
        seed=derived_seed(wasp.seed, "wasp texts", *place),
        label=f"round {round_number}, {model}",
        form=form,
    )
    in_turn = texts.sort_values("response", kind="stable")
    own = kind[in_turn["prompt_id"].to_numpy(dtype=np.int64)]
    number = pd.Series(own).groupby(own).cumcount().to_numpy()  # of a text in its class
    kept: pd.DataFrame = in_turn[number < counts[own]].sort_values(["prompt_id", "response"])
    return kept.assign(model=model, round=round_number).reset_index(drop=True)[list(COLUMNS)]


def gathered(before: pd.DataFrame, new: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join all texts so far; a text that its class has already, such as a copied example, becomes empty.

    Raises:
        ValueError: no model has written anything: there would be no candidate to vote on.
    """
    tables = [table for table in (before, *new) if len(table)]
    table = pd.concat(tables, ignore_index=True) if tables else before
    again = table.duplicated(["text", "label"])
    found: pd.DataFrame = table.assign(text=table["text"].mask(again, ""))
    if len(found) and not (found["text"] != "").any():
        raise InputError(
            f"none of {', '.join(sorted(found['model'].unique()))} has written a text: name models in "
            "models.plms that do, or let wasp.sampler keep more (legible_only, max_new_tokens)",
            code="no-model-has-written",
        )
    return found
