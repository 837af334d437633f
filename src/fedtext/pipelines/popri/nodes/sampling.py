"""Texts of the generator and their embeddings, for the rounds and the final set alike."""

from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.embedding.encoder import Encoder
from fedtext.generation.cleaning import clean_samples
from fedtext.generation.language_model import LanguageModel
from fedtext.generation.prompts import SAMPLE_MARKER
from fedtext.generation.sampling import sample_responses
from fedtext.params.corpus import Chunking
from fedtext.params.popri import Popri
from fedtext.seeding import derived_seed


def sampled_texts(
    generator: LanguageModel,
    adapter: Path,
    prompts: pd.DataFrame,
    stage: str,
    responses: int,
    popri: Popri,
    chunking: Chunking,
) -> pd.DataFrame:
    """`responses` texts a prompt under `adapter`, cut at the next sample's heading and to the chunk length."""
    columns = ["prompt_id", "response", "text", "label"]
    if prompts.empty:
        return pd.DataFrame(columns=columns)
    model, tokenizer = generator.with_adapter(adapter).load()
    continuations = sample_responses(
        model,
        tokenizer,
        prompts["prompt"].tolist(),
        responses=responses,
        sampler=popri.sampler,
        seed=derived_seed(popri.seed, "responses", stage),
        stop=SAMPLE_MARKER,
        label=f"candidates, {stage}",
    )
    texts = clean_samples([text for row in continuations for text in row], tokenizer, chunking.length)
    rows = prompts.loc[prompts.index.repeat(responses)]
    return pd.DataFrame(
        {
            "prompt_id": rows["prompt_id"].to_numpy(),
            "response": np.tile(np.arange(responses), len(prompts)),
            "text": texts,
            "label": rows["label"].to_numpy(),
        }
    )


def embed_candidates(candidates: pd.DataFrame, encoder: Encoder) -> np.ndarray:
    """Algorithm 1 line 13: unit embeddings of the candidates; zeros for an empty text, which nothing may score."""
    texts = candidates["text"].tolist()
    rows = np.zeros((len(texts), encoder.dim), dtype=np.float32)
    full = [i for i, text in enumerate(texts) if text]
    rows[full] = encoder.encode([texts[i] for i in full], label="candidates")
    return rows
