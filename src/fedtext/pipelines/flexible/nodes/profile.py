"""The profile of all silos, and the texts that are written in proportion to it."""

from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.algorithms.flexible import budget, profile, unprotected, writing
from fedtext.embedding.blanks import encode_written
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.flexible import Flexible
from fedtext.pipelines.flexible.nodes.held import by_silos
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey


def count_codes(
    private_embeddings: dict[str, np.ndarray],
    private_enrolment: dict[str, np.ndarray],
    private_silos: pd.DataFrame,
    private_noise_key: NoiseKey,
    ledger: Ledger,
    flexible: Flexible,
) -> tuple[np.ndarray, Ledger]:
    """The release of the profile: records of each code in all silos together."""
    samples = by_silos(private_embeddings, flexible.labels, private_enrolment, private_silos, ledger)
    if not flexible.noise:
        return unprotected.plain_profile(samples, flexible), unprotected.told(budget.PROFILE, ledger)
    query = budget.profile_query(flexible, ledger.declaration)
    counted, charged = profile.noised_profile(query, samples, flexible, ledger, private_noise_key)
    return counted, charged


def share_out_texts(counted: np.ndarray, flexible: Flexible) -> np.ndarray:
    """How many texts of each code are written, in proportion to its noised count.

    A node of its own, since it alone asks how texts are chosen: choices of as many texts share what is written.
    """
    return np.array(profile.text_counts(counted, flexible), dtype=np.int64)


def write_by_profile(
    generator: TrainableGenerator,
    adapter: Path,
    trained: np.ndarray,
    counts: np.ndarray,
    flexible: Flexible,
    chunking: Chunking,
) -> pd.DataFrame:
    """Texts of the trained generator, so many of each code."""
    tuned = generator.with_adapter(adapter)
    return writing.written_texts(tuned, counts.tolist(), flexible, chunking.length, tuned=trained.size > 0)


def embed_candidates(candidates: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Unit embeddings of the written texts."""
    return encode_written(encoder, candidates["text"].tolist(), label="written texts")
