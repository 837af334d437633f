"""The pairs' nodes: read, split by client, embedded by their owners."""

import numpy as np
import pandas as pd

from fedtext.corpora.private_pairs import as_records, private_pairs, refuse_private_prompts
from fedtext.corpora.public_prompts import public_prompts
from fedtext.corpora.records import SPLITS
from fedtext.corpora.splits import client_splits
from fedtext.embedding.differences import differences_of
from fedtext.federation.private_samples import label_codes
from fedtext.federation.units import record_codes, unit_codes
from fedtext.generation.dialogue import embedded_answers
from fedtext.models.encoder import Encoder
from fedtext.params.corpus import Corpus, Partition
from fedtext.params.privacy import Privacy
from fedtext.pipelines.pairs.form import dialogue_of

Arrays = dict[str, np.ndarray]
ALL = 10**9  # prompts of a public file that are compared with the private ones


def read_private_pairs(corpus: Corpus, privacy: Privacy, partition: Partition) -> pd.DataFrame:
    """The pairs of `corpus.path`: `prompt`, `chosen`, `rejected`, `client_id`, and `text`, all that each holds.

    What cannot be split into training, validation and test clients is refused here, before anything is made of it.
    """
    pairs = private_pairs(corpus, privacy)
    if corpus.public_path is not None:
        refuse_private_prompts(pairs, public_prompts(corpus, ALL, 0), corpus.public_path)
    client_splits(pairs, partition)
    return as_records(pairs)


def split_pairs(private_pairs: pd.DataFrame, partition: Partition) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Pairs of the training, validation and test clients, by a hash of the client id."""
    split = private_pairs["client_id"].map(client_splits(private_pairs, partition))
    train, validation, test = (private_pairs[split == name].reset_index(drop=True) for name in SPLITS)
    return train, validation, test


def embed_private_pairs(private_train: pd.DataFrame, encoder: Encoder, source: str) -> Arrays:
    """Clients embed their pairs. Arrays `features` (d), `middle`, `client`, `record`, `label` (none)."""
    ids, texts = private_train["client_id"].tolist(), private_train["text"].tolist()
    answers = private_train[["chosen", "rejected"]].to_numpy().tolist()
    embedded = embedded_answers(
        encoder, dialogue_of(source), private_train["prompt"].tolist(), answers, label="private pairs"
    )
    features, middle = differences_of(embedded)
    return {
        "features": features,
        "middle": middle,
        "client": unit_codes(ids),
        "record": record_codes(ids, texts),
        "label": label_codes([None] * len(ids)),
    }
