"""The clients' node of every algorithm that trains the on-device model on their own text."""

import numpy as np
import pandas as pd

from fedtext.evaluation.next_token import padded, token_rows
from fedtext.generation.language_model import LanguageModel
from fedtext.params.corpus import Chunking


def tokenise_private_samples(
    private_train: pd.DataFrame, on_device: LanguageModel, chunking: Chunking
) -> dict[str, np.ndarray]:
    """Clients tokenise their samples as the evaluation does. Arrays `features` (padded rows), `client`, `label`."""
    clients, _ = pd.factorize(private_train["client_id"], sort=True)
    rows = token_rows(on_device.tokenizer(), private_train["text"].tolist(), chunking.length)
    return {
        "features": padded(rows).astype(np.int32),
        "client": np.asarray(clients, dtype=np.int64),
        "label": np.zeros(len(rows), dtype=np.int64),
    }
