"""The clients' node of every algorithm that trains the on-device model on their own text."""

import numpy as np
import pandas as pd

from fedtext.evaluation.next_token import padded, token_rows
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking
from fedtext.pipelines.clients.units import units_of


def tokenise_private_samples(
    private_train: pd.DataFrame, on_device: LanguageModel, chunking: Chunking
) -> dict[str, np.ndarray]:
    """Clients tokenise their samples as the evaluation does.

    Arrays `features` (padded rows), `client`, `record`, `label`. Rows are as wide as a sample may be, whoever holds it.
    """
    rows = token_rows(on_device.tokenizer(), private_train["text"].tolist(), chunking.length)
    return {
        "features": padded(rows, width=chunking.length + 1).astype(np.int32),
        **units_of(private_train),
        "label": np.zeros(len(rows), dtype=np.int64),
    }
