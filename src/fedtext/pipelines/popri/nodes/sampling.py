"""Texts of the generator and their embeddings, for the rounds and the final set alike."""

from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.embedding.blanks import encode_written
from fedtext.generation import few_shot
from fedtext.models.encoder import Encoder
from fedtext.models.generator import TrainableGenerator
from fedtext.params.corpus import Chunking
from fedtext.params.popri import Popri
from fedtext.seeding import derived_seed


def sampled_texts(
    generator: TrainableGenerator,
    adapter: Path,
    prompts: pd.DataFrame,
    stage: str,
    responses: int,
    popri: Popri,
    chunking: Chunking,
) -> pd.DataFrame:
    """`responses` texts a prompt under `adapter`; the candidates of the last policy belong to no round."""
    named = "after the last round" if stage == f"round {popri.rounds + 1}" else stage
    trained, label = generator.with_adapter(adapter), f"candidates, {named}"
    texts = few_shot.sampled_texts(
        trained,
        prompts,
        responses=responses,
        sampler=popri.sampler,
        length=chunking.length,
        seed=derived_seed(popri.seed, "responses", stage),
        label=label,
    )
    few_shot.refuse_unwritten(texts, trained, label)
    return texts


def embed_candidates(candidates: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Algorithm 1 line 13: unit embeddings of the candidates; zeros for an empty text, which nothing may score."""
    return encode_written(encoder, candidates["text"].tolist(), label="candidates")
