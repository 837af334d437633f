"""Records -> clients -> samples -> training, validation and test clients."""

import pandas as pd

from fedtext.corpora.samples import sample_records
from fedtext.corpora.splits import split_clients
from fedtext.federation.partition import partition
from fedtext.generation.language_model import LanguageModel
from fedtext.params.corpus import Chunking, Partition


def assign_clients(private_records: pd.DataFrame, params: Partition) -> pd.DataFrame:
    """Records with the client ids that `params.method` gives them."""
    clients = partition(
        private_records["client_id"].to_numpy(dtype=str),
        private_records["label"].fillna("").to_numpy(dtype=str),
        params,
    )
    return private_records.assign(client_id=clients)


def chunk_private_records(private_clients: pd.DataFrame, generator: LanguageModel, chunking: Chunking) -> pd.DataFrame:
    """Every client's samples: successive spans of `chunking.length` tokens of the generator's tokenizer."""
    return sample_records(private_clients, generator.tokenizer(), chunking)


def chunk_public_records(public_records: pd.DataFrame, generator: LanguageModel, chunking: Chunking) -> pd.DataFrame:
    """Public samples of the same form."""
    return sample_records(public_records, generator.tokenizer(), chunking)


def split_samples(private_samples: pd.DataFrame, params: Partition) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Samples of the training, validation and test clients; a client's split is a hash of its id."""
    split = split_clients(
        private_samples["client_id"].tolist(),
        validation_share=params.validation_share,
        test_share=params.test_share,
        seed=params.seed,
    )
    parts = (private_samples[[s == name for s in split]] for name in ("train", "validation", "test"))
    train, validation, test = (part.reset_index(drop=True) for part in parts)
    return train, validation, test
