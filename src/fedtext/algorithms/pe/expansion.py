"""After the rounds: the survivors as seeds of the few-shot prompts that expand them to a data set."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fedtext.generation.few_shot import prompts_by_class
from fedtext.generation.prompt_forms import prompt_form
from fedtext.params.generation import prompts_for
from fedtext.params.pe import Pe
from fedtext.seeding import stream


def seed_prompts(public: pd.DataFrame, survivors: Sequence[pd.DataFrame], evolution: Pe) -> pd.DataFrame:
    """Prompts of the final set: three distinct survivors of any round each, of the prompt's class.

    A class with fewer distinct survivors than a prompt shows borrows public texts.

    Returns:
        Columns `prompt_id`, `prompt`, `label`, classes in turn.
    """
    return prompts_by_class(
        pd.concat([table[["text", "label"]] for table in survivors], ignore_index=True),
        public,
        count=prompts_for(evolution.synthetic_texts, evolution.final_responses, classes=len(evolution.classes)),
        classes=evolution.classes,
        form=prompt_form(evolution.sampler),
        rng=stream(evolution.seed, "prompts", "final"),
    )
