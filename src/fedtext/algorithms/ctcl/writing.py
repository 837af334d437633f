"""A text behind its keywords: learned on public texts, trained on private ones, asked for in the end.

The prompt is the same in all three, a control code: the keywords with commas, a blank line, the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Int, Int32

from fedtext.algorithms.ctcl.keywords import Keywords
from fedtext.algorithms.ctcl.plan import NAME
from fedtext.algorithms.ctcl.topics import joined
from fedtext.generation.apportionment import apportion, proportions
from fedtext.generation.by_count import texts_by_count
from fedtext.generation.control_codes import ControlCode
from fedtext.models.generator import TrainableGenerator
from fedtext.params.ctcl import Ctcl
from fedtext.seeding import derived_seed
from fedtext.training import coded_rows
from fedtext.training.causal_lm import train_causal_lm
from fedtext.training.local_steps import NO_TOKEN
from fedtext.training.lora import adapted_model, adapter_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def adapter_seed(params: Ctcl) -> int:
    """Return the seed of the untrained adapter."""
    return derived_seed(params.seed, "adapter")


def form_of(params: Ctcl) -> ControlCode:
    """Return the prompt form, a control code."""
    return ControlCode(params.sampler.description)


def requests(keywords: Sequence[str], params: Ctcl) -> list[str]:
    """Return the prompt of each list of keywords."""
    form = form_of(params)
    return [form.request([], words or None) for words in keywords]


def taught_weights(
    generator: TrainableGenerator, texts: Sequence[str], params: Ctcl, length: int
) -> Float32[np.ndarray, " dim"]:
    """Train an adapter to write public texts, each behind its own keywords, and return its weights."""
    model, tokenizer = generator.load()
    known = Keywords(texts)
    codes = requests([joined(known.of([text], params.keywords)) for text in texts], params)
    width = coded_rows.row_width(model, tokenizer, codes, length, NAME)
    rows, _ = coded_rows.token_rows(tokenizer, codes, texts, width=width)
    adapted = adapted_model(generator, params.lora, seed=adapter_seed(params))
    train_causal_lm(
        adapted,
        rows.astype(np.int64),
        params.public_training,
        seed=derived_seed(params.seed, "public training"),
        pad_token_id=NO_TOKEN,
        label="texts from keywords",
    )
    return adapter_weights(adapted)


def training_rows(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], topic: Int[np.ndarray, " text"],
    keywords: Sequence[str], params: Ctcl, length: int,
) -> tuple[Int32[np.ndarray, "row width"], Int[np.ndarray, " row"]]:  # fmt: skip
    """Tokenise each text behind its topic's keywords, with each row's text index; rows are as wide as topics allow."""
    codes = requests(keywords, params)
    width = coded_rows.row_width(model, tokenizer, codes, length, NAME)
    return coded_rows.token_rows(tokenizer, [codes[number] for number in topic.tolist()], texts, width=width)


def written_by_topic(
    generator: TrainableGenerator,
    keywords: Sequence[str],
    counts: Float[np.ndarray, " topic"],
    params: Ctcl,
    length: int,
) -> pd.DataFrame:
    """Write texts of each topic in proportion to the noisy counts: columns `text`, `prompt_id`, `label` (none)."""
    written = texts_by_count(
        generator,
        requests(keywords, params),
        apportion(params.synthetic_texts, proportions(counts).tolist()),
        responses=params.final_responses,
        sampler=params.sampler,
        length=length,
        seed=derived_seed(params.seed, "responses"),
        label="texts of the topics",
        form=form_of(params),
    )
    return written[["text", "prompt_id"]].assign(label=None)
