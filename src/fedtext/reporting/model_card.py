"""The card of a bundled language model: data, recipe, loss and held-out accuracy, all measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fedtext.evaluation.measures.next_token_accuracy import top
from fedtext.evaluation.next_token import next_token_accuracy
from fedtext.params.training import Recipe

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

HELD_OUT_SAMPLES, RANKS = 1500, (1, 3, 5)


class Reading(NamedTuple):
    """What a model was trained on, and what it therefore knows."""

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
    """Markdown card of `model`, trained on `tokens` tokens, with its accuracy on `held_out` samples of `length` tokens."""
    model.eval()
    accuracy = next_token_accuracy(model, tokenizer, held_out[:HELD_OUT_SAMPLES], length=length, top=RANKS)
    reached = ", ".join(f"{each.column} {each.shown(accuracy[each.name])}" for each in map(top, RANKS))
    last = history[-1] if history else {"step": 0, "loss": float("nan")}
    shape = recipe.shape
    return f"""# fedtext {name}

A Llama-architecture language model of {model.num_parameters() / 1e6:.2f}M parameters, made by this project and shipped with it
(Apache-2.0). It serves the offline runs and the tests; it knows little beyond {read.known}.

| what | value |
|---|---|
| training text | {read.text} |
| form | {recipe.few_shot_share:.0%} few-shot lists of POPri's Figure 5, the rest plain documents, rows of {recipe.row_length} tokens |
| shape | hidden {shape.hidden_size}, {shape.layers} layers, {shape.heads} heads, feed-forward {shape.feed_forward}, vocabulary {len(tokenizer)} |
| tokens, steps | {tokens:,} tokens, {int(last["step"]):,} steps of {recipe.training.batch_size} rows |
| optimiser | AdamW, learning rate {recipe.training.learning_rate:g}, cosine, weight decay {recipe.training.weight_decay:g} |
| seeds | weights and order {recipe.seed}, rows {recipe.data_seed} |
| last training loss | {last["loss"]:.3f} nats a token |
| held-out samples of public text | {accuracy["tokens"]:,} tokens, cross-entropy {accuracy["cross_entropy"]:.3f} nats |
| held-out next-token accuracy | {reached} |

Made again by `kedro run --pipelines pretrain`; the recipe is `conf/base/parameters/pretrain.yml`.
"""
