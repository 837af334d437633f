"""Nodes that align the generator on released preferences: post-processing, free of privacy cost."""

from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.algorithms.dpprefsyn.scorer import Scorer
from fedtext.generation.dialogue import Dialogue, begun_prompts, embedded_answers
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.pipelines.pairs.form import dialogue_of
from fedtext.seeding import derived_seed
from fedtext.training.adapters import saved_adapter, stacked
from fedtext.training.lora import TrainedAdapter
from fedtext.training.pairs import completion
from fedtext.training.preference import train_preferences
from fedtext.training.rl import train_on_rewards
from fedtext.training.supervised import train_on_texts

Made = tuple[TrainedAdapter, pd.DataFrame]
Arrays = dict[str, np.ndarray]


def tune_on_chosen(generator: TrainableGenerator, pairs: pd.DataFrame, source: str, dpprefsyn: Dpprefsyn) -> Made:
    """SFT on the chosen answers; the prompts are shown and not learned."""
    form = _form(source, dpprefsyn)
    end = generator.ending(form.framing)
    trained, log = train_on_texts(
        generator,
        [completion(text, end, form.framing.lead) for text in pairs["chosen"]],
        dpprefsyn.sft,
        dpprefsyn.preference.lora,
        seed=derived_seed(dpprefsyn.seed, "sft"),
        label="tuning on chosen answers",
        prompts=begun_prompts(generator, form, pairs["prompt"]),
    )
    return trained, pd.DataFrame(log)


def prefer(generator: TrainableGenerator, pairs: pd.DataFrame, source: str, dpprefsyn: Dpprefsyn) -> Made:
    """Preference optimisation of the generator as it is; it is the reference."""
    form = _form(source, dpprefsyn)
    trained, log = train_preferences(
        generator,
        pairs[["chosen", "rejected"]].assign(prompt=begun_prompts(generator, form, pairs["prompt"])),
        dpprefsyn.preference,
        seed=derived_seed(dpprefsyn.seed, "preference"),
        label="preference training",
        end=generator.ending(form.framing),
        lead=form.framing.lead,
    )
    return trained, pd.DataFrame(log)


def prefer_after_tuning(
    generator: TrainableGenerator, pairs: pd.DataFrame, source: str, dpprefsyn: Dpprefsyn, tuned: Path
) -> Made:
    """Preference optimisation of the tuned generator, which is the reference; the policy has both updates."""
    trained, log = prefer(generator.with_adapter(tuned), pairs, source, dpprefsyn)
    return stacked(saved_adapter(tuned), trained), log


def reinforce(
    generator: TrainableGenerator,
    public_prompts: pd.DataFrame,
    encoder: Encoder,
    scorers: Arrays,
    source: str,
    dpprefsyn: Dpprefsyn,
) -> Made:
    """RLOO with the scorer's mean over heads as the reward of an answer to a public prompt."""
    form, scorer = _form(source, dpprefsyn), Scorer.of(scorers)
    prompts = public_prompts["prompt"].tolist()
    began = dict(zip(begun_prompts(generator, form, prompts), prompts, strict=True))

    def rewards(asked: list[str], answers: list[str]) -> list[float]:
        cut = [[form.cut(answer)] for answer in answers]
        rows = embedded_answers(encoder, dialogue_of(source), [began[one] for one in asked], cut, label="rewards")
        found = scorer.reward(rows[:, 0])
        return [
            float(reward) for reward in np.where(rows[:, 0].any(axis=1), found, found.min())
        ]  # nothing said is worst

    trained, log = train_on_rewards(
        generator,
        list(began),
        rewards,
        dpprefsyn.rloo,
        dpprefsyn.preference.lora,
        sampler=dpprefsyn.sampler,
        seed=derived_seed(dpprefsyn.seed, "rloo"),
    )
    return trained, pd.DataFrame(log)


def _form(source: str, dpprefsyn: Dpprefsyn) -> Dialogue:
    """As candidates were asked for, and as the policy will be."""
    return dialogue_of(source, chat=dpprefsyn.sampler.prompt == "chat")
