"""Prompts of private prediction: one text is shown, a client's or a public one, in rows of tokens of one width.

A row has the width of the form's prompt and `example_tokens`, filled up on the left: a width that followed the longest
text would let one client change the shape in which all others are computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int32

from fedtext.generation.cleaning import cut_to
from fedtext.generation.few_shot import with_openings
from fedtext.generation.prompt_forms import PromptForm, prompt_form
from fedtext.models.generator import Framing, TrainableGenerator
from fedtext.params.dp_prediction import DpPrediction
from fedtext.params.generation import Sampler

NO_TOKEN = -1
_SPARE = 4  # tokens more, where a text and its prompt meet in other tokens than each alone

Rows = Int32[np.ndarray, "row position"]


def sampler_of(generator: TrainableGenerator, params: DpPrediction) -> Sampler:
    """Return the sampler with the generator's own prompt form; the temperature is that of the plan."""
    return generator.own(params.sampler).model_copy(update={"temperature": params.sampler.temperature})


def form_of(generator: TrainableGenerator, params: DpPrediction) -> PromptForm:
    """Return the prompt form."""
    return prompt_form(sampler_of(generator, params))


def framing_of(generator: TrainableGenerator, params: DpPrediction, number: int) -> Framing:
    """Return the framing of the text with this number, which begins with one of the sampler's openings in turn."""
    return with_openings(form_of(generator, params).framing, params.sampler, [number])


def client_rows(generator: TrainableGenerator, texts: Sequence[str], params: DpPrediction) -> Rows:
    """Return a row for each private text: the prompt that shows it."""
    form = form_of(generator, params)
    _, tokenizer = generator.load()
    shown = cut_to(texts, tokenizer, [params.example_tokens] * len(texts))
    (around,) = _tokens(generator, form, [form.request([""])])
    width = len(around) + params.example_tokens + _SPARE
    return left_filled(_tokens(generator, form, [form.request([text]) for text in shown]), width)


def public_row(generator: TrainableGenerator, example: str | None, params: DpPrediction) -> Rows:
    """Return the one row of the public prompt, which shows a public text or none."""
    form = form_of(generator, params)
    (tokens,) = _tokens(generator, form, [form.request([] if example is None else [example])])
    return left_filled([tokens], len(tokens))


def left_filled(rows: Sequence[Sequence[int]], width: int) -> Rows:
    """Return the last `width` tokens of each row, behind `NO_TOKEN` where it is shorter."""
    filled = np.full((len(rows), width), NO_TOKEN, dtype=np.int32)
    for row, tokens in zip(filled, rows, strict=True):
        kept = tokens[-width:]
        row[width - len(kept) :] = kept
    return filled


def _tokens(generator: TrainableGenerator, form: PromptForm, requests: Sequence[str]) -> list[list[int]]:
    if not requests:
        return []
    prompts = generator.completion_prompts(requests, form.framing)
    _, tokenizer = generator.load()
    tokens: list[list[int]] = tokenizer(prompts, verbose=False)["input_ids"]
    return tokens


def filled(texts: Sequence[Sequence[int]], width: int) -> Rows:
    """Return the tokens of each text, with `NO_TOKEN` behind them."""
    rows = np.full((len(texts), width), NO_TOKEN, dtype=np.int32)
    for row, tokens in zip(rows, texts, strict=True):
        row[: len(tokens)] = tokens
    return rows
