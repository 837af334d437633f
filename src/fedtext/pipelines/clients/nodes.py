"""Clients' nodes: the noise key, the number of protected units, and the embeddings that any algorithm may ask of."""

import numpy as np
import pandas as pd

from fedtext.embedding.encoder import Encoder
from fedtext.federation.private_samples import label_codes
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import NoiseKey, new_noise_key


def create_noise_key(noise_seed: int | None) -> NoiseKey:
    """The run's secret 256-bit key, from the operating system unless the run is a seeded simulation."""
    return new_noise_key(noise_seed)


def count_units(private_train: pd.DataFrame, privacy: Privacy) -> dict[str, int]:
    """The number of protected units: public under zero_out and replace_one, where neighbours have the same units."""
    units = private_train["client_id"].nunique() if privacy.unit == "client" else len(private_train)
    return {"units": int(units)}


def embed_private_samples(private_train: pd.DataFrame, encoder: Encoder) -> dict[str, np.ndarray]:
    """Clients embed their samples. Arrays `features`, `client`, `label` (a code of each sample's label)."""
    clients, _ = pd.factorize(private_train["client_id"], sort=True)
    labels = private_train["label"].where(private_train["label"].notna(), None).tolist()
    return {
        "features": encoder.encode(private_train["text"].tolist(), label="private samples"),
        "client": np.asarray(clients, dtype=np.int64),
        "label": label_codes(labels),
    }


def embed_public_samples(public_samples: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Unit embeddings of the public samples, one row a sample."""
    return encoder.encode(public_samples["text"].tolist(), label="public samples")
