"""DP-SGD and generation (Yue et al., "Synthetic Text Generation with Differential Privacy", ACL 2023).

The generator is fine-tuned by DP-SGD on the private texts, each after its class as a control code, and then writes
texts of each class. It is a baseline of WASP's paper (Zou et al., ICML 2025).

What differs from theirs: batches are Poisson samples, as the privacy analysis assumes. Noise is an exact discrete
Gaussian, calibrated by privacy loss distributions. The class sizes are not read from private data, so every class gets
equally many texts. Adam's step has neither weight decay nor bias correction, and its rate is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int, Int32

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.query import Query
from fedtext.generation.control_codes import ControlCode
from fedtext.params.dp_sgd_generation import DpSgdGeneration
from fedtext.params.generation import prompts_for
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.training import coded_rows, dp_sgd

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

NAME = "dp_sgd_generation"


def planned_query(params: DpSgdGeneration, privacy: Privacy, population: int, *, dim: int) -> Query:
    """Plan the one release of a run: the steps of the adapter's training."""
    group = f"{NAME}.training"
    return dp_sgd.planned_query(f"{NAME}.gradients", params.training, privacy, population, dim=dim, group=group)


def planned_ledger(population: int, params: DpSgdGeneration, privacy: Privacy, *, dim: int) -> Ledger:
    """Return an empty ledger for `population` units, before any of them is read.

    Raises:
        BudgetExceeded: the training would overdraw the budget.
        ValueError: the declaration is invalid for this population, or a batch is larger than it.
    """
    return opened_ledger([planned_query(params, privacy, population, dim=dim)], privacy, population)


def row_width(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, params: DpSgdGeneration, length: int) -> int:
    """Return the largest number of tokens per row (`fedtext.training.coded_rows.row_width`)."""
    return coded_rows.row_width(model, tokenizer, [_code(params, label) for label in params.classes], length, NAME)


def training_rows(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], labels: Sequence[str | None], params: DpSgdGeneration,
    *, width: int,
) -> tuple[Int32[np.ndarray, "row width"], Int[np.ndarray, " row"]]:  # fmt: skip
    """Tokenise each text after its class, in rows filled up on the right to `width`, with each row's text index."""
    codes = [_code(params, label) for label in labels]
    return coded_rows.token_rows(tokenizer, codes, texts, width=width)


def of_a_class(labels: pd.Series, params: DpSgdGeneration) -> Bool[np.ndarray, " sample"]:
    """Return a mask of the samples of a declared class; all of them where none is declared."""
    return np.asarray(labels.isin(params.labels)) if params.labels else np.ones(len(labels), dtype=bool)


def final_prompts(params: DpSgdGeneration) -> pd.DataFrame:
    """Build the prompts of the final set, classes in turn: columns `prompt_id`, `prompt`, `label`."""
    count = prompts_for(params.synthetic_texts, params.final_responses, classes=len(params.classes))
    labels = [params.classes[k % len(params.classes)] for k in range(count)]
    prompts = [_code(params, label) for label in labels]
    return pd.DataFrame({"prompt_id": range(count), "prompt": prompts, "label": labels})


def _code(params: DpSgdGeneration, label: str | None) -> str:
    return form_of(params).request([], label if params.labels else None)


def form_of(params: DpSgdGeneration) -> ControlCode:
    """Return the prompt form, a control code."""
    return ControlCode(params.sampler.description)
