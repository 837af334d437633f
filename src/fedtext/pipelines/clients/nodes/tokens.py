"""The clients' node of every algorithm that trains the on-device model on their own text."""

import numpy as np
import pandas as pd

from fedtext.evaluation.next_token import padded, text_windows
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking
from fedtext.pipelines.clients.units import units_of


def tokenise_private_samples(
    private_train: pd.DataFrame, on_device: LanguageModel, chunking: Chunking
) -> dict[str, np.ndarray]:
    """Clients tokenise their samples as the evaluation does.

    Arrays `features` (padded rows), `client`, `record`, `label`. Rows are as wide as a window, whoever holds it.
    """
    windows = text_windows(on_device.tokenizer(), private_train["text"].tolist(), chunking.length)
    return {
        "features": padded(windows.rows, width=chunking.length + 1).astype(np.int32),
        **{name: codes[windows.sample] for name, codes in units_of(private_train).items()},
        "label": np.zeros(len(windows.rows), dtype=np.int64),
    }
