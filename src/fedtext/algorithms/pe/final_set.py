"""Private Evolution's synthetic data set: survivors expanded by few-shot prompts, or all generated texts.

The paper of WASP runs Aug-PE and PrE-Text in the second way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from fedtext.generation.few_shot import prompts_by_class
from fedtext.generation.prompt_forms import prompt_form
from fedtext.params.generation import prompts_for
from fedtext.params.pe import Pe
from fedtext.seeding import stream


def seed_prompts(public: pd.DataFrame, survivors: Sequence[pd.DataFrame], evolution: Pe) -> pd.DataFrame:
    """Build the prompts of the final set, each with three distinct survivors of its class from any round.

    A class with fewer distinct survivors than a prompt shows is filled up with public texts.

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


def accumulated(candidates: Sequence[pd.DataFrame], evolution: Pe) -> pd.DataFrame:
    """Collect all rounds' candidates and the last survivors' variations, each text once per class, the newest first.

    Classes take turns, so that any first part of the table has about as many texts of each.

    A survivor that Aug-PE keeps beside its variations counts for the round that wrote it. PrE-Text's first candidates
    are public texts, which no model wrote: they are left out.

    Args:
        candidates: Columns `text`, `label`, of round 1, 2, ..., and of the variations after the last vote.
        evolution: Says whether the first candidates were generated.

    Returns:
        Columns `text`, `label`, `round`, `prompt_id`.
    """
    by_round = [table[["text", "label"]].assign(round=t) for t, table in enumerate(candidates, start=1)]
    if evolution.form == "pre_text":
        public, by_round = set(by_round[0]["text"]), by_round[1:]
        by_round = [table[~table["text"].isin(public)] for table in by_round]
    written = pd.concat(by_round, ignore_index=True).drop_duplicates(["text", "label"])
    turn = written.groupby(["round", "label"], dropna=False).cumcount()
    newest = written.assign(turn=turn).sort_values(["round", "turn"], ascending=[False, True], kind="stable")
    return newest.drop(columns="turn").reset_index(drop=True).assign(prompt_id=np.arange(len(newest)))
