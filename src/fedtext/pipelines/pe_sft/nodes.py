"""PE+SFT's nodes. Their only input from private data are Private Evolution's released survivors: post-processing."""

from pathlib import Path

import pandas as pd

from fedtext.algorithms import pe_sft as algorithm
from fedtext.generation.few_shot import sampled_texts
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.pe_sft import PeSft
from fedtext.seeding import derived_seed
from fedtext.training.lora import Trained
from fedtext.training.preference_pairs import completion
from fedtext.training.supervised import train_on_texts


def choose_best_samples(survivors: pd.DataFrame, pe_sft: PeSft) -> pd.DataFrame:
    """Choose the survivors with the most votes."""
    return algorithm.best_samples(survivors, pe_sft)


def train_on_best_samples(
    generator: TrainableGenerator, best: pd.DataFrame, pe_sft: PeSft
) -> tuple[Trained, pd.DataFrame]:
    """Fine-tune the generator on them, and return the adapter with its training log."""
    examples, framing = algorithm.training_examples(best, pe_sft), prompt_form(pe_sft.sampler).framing
    beginnings, end = generator.completion_prompts(examples["prompt"].tolist(), framing), generator.ending(framing)
    trained, history = train_on_texts(
        generator,
        [begun + completion(text, end, framing.lead) for begun, text in zip(beginnings, examples["text"], strict=True)],
        pe_sft.training,
        pe_sft.lora,
        seed=derived_seed(pe_sft.seed, "training"),
        label="supervised fine-tuning",
    )
    return trained, pd.DataFrame(history)


def draw_tuned_prompts(best: pd.DataFrame, public_samples: pd.DataFrame, pe_sft: PeSft) -> pd.DataFrame:
    """Draw few-shot prompts of the final set."""
    return algorithm.final_prompts(best, public_samples, pe_sft)


def write_tuned_texts(
    generator: TrainableGenerator, adapter: Path, prompts: pd.DataFrame, pe_sft: PeSft, chunking: Chunking
) -> pd.DataFrame:
    """Write texts of the fine-tuned generator, `final_responses` a prompt."""
    return sampled_texts(
        generator.with_adapter(adapter),
        prompts,
        responses=pe_sft.final_responses,
        sampler=pe_sft.sampler,
        length=chunking.length,
        seed=derived_seed(pe_sft.seed, "responses", "final"),
        label="texts of the fine-tuned generator",
    ).assign(round=1)
