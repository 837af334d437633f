"""The card of a bundled language model: data, recipe, loss and held-out accuracy, all measured.

Its text is a template, `model_card.md.j2`; its front matter is what a hub searches by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fedtext.evaluation.measures.next_token_accuracy import top
from fedtext.evaluation.next_token import next_token_accuracy
from fedtext.params.training import Recipe
from fedtext.reporting.templates import markdown

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

HELD_OUT_SAMPLES, RANKS = 1500, (1, 3, 5)


class Reading(NamedTuple):
    """A model's training data, and what it therefore knows."""

    text: str
    known: str


def model_card(
    name: str,
    read: Reading,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    recipe: Recipe,
    tokens: int,
    history: Sequence[dict[str, float]],
    held_out: Sequence[str],
    length: int,
) -> str:
    """Return the card of `model`, trained on `tokens` tokens, with its accuracy on `held_out` samples."""
    from huggingface_hub import ModelCard, ModelCardData

    model.eval()
    accuracy = next_token_accuracy(model, tokenizer, held_out[:HELD_OUT_SAMPLES], length=length, top=RANKS)
    text = markdown(
        "model_card",
        name=name,
        read=read,
        recipe=recipe,
        parameters=model.num_parameters(),
        vocabulary=len(tokenizer),
        tokens=tokens,
        last=history[-1] if history else {"step": 0, "loss": float("nan")},
        accuracy=accuracy,
        reached=", ".join(f"{each.column} {each.shown(accuracy[each.name])}" for each in map(top, RANKS)),
    )
    front = ModelCardData(
        language="en", license="apache-2.0", library_name="transformers", pipeline_tag="text-generation"
    )
    return str(ModelCard(f"---\n{front}\n---\n\n{text}"))
