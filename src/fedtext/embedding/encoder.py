"""Sentence encoders behind one face: unit vectors of texts.

Matrix products run in bfloat16 where the hardware is made for it (cosine to the float32 embedding above 0.9999 for
all-MiniLM-L6-v2, at a third of the time on a CPU with AMX). Equal texts of one call get equal vectors; across calls and
batches a vector's entries agree to about 2e-3 in bfloat16 and 1e-6 in float32, for batches are padded differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32

from fedtext.cores import over_cores
from fedtext.embedding.offline_encoder import offline_encoder_files
from fedtext.hardware import bfloat16_pays, bfloat16_where_it_pays, compute_device
from fedtext.model_source import Place, find_model, unreadable
from fedtext.progress import progress, without_library_bars

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

OFFLINE = "offline"
COUNTED_AT_ONCE = 1024  # texts whose tokens are counted together


@dataclass(frozen=True)
class Encoder:
    """A frozen sentence encoder on its device.

    Attributes:
        name: The source it was loaded from.
        dim: Length of an embedding.
        model: The sentence-transformers model.
        batch_size: Texts a batch.
    """

    name: str
    dim: int
    model: SentenceTransformer
    batch_size: int = 64

    def encode(self, texts: Sequence[str], label: str = "embedding") -> Float32[np.ndarray, "text dim"]:
        """Unit-norm embeddings, in the order of `texts`; no texts give an array of no rows.

        Raises:
            ValueError: An embedding is not finite or has no direction; names its row, never its text.
        """
        distinct = self._longest_first(sorted(set(texts)))
        rows = {text: row for row, text in enumerate(distinct)}
        embedded = np.zeros((len(distinct), self.dim), dtype=np.float32)
        firsts = range(0, len(distinct), self.batch_size)
        # Taken as needed, in this thread: tokenizers are not made for several.
        batches = (self._tokenised(distinct[first : first + self.batch_size]) for first in firsts)
        done = over_cores(self._forward, batches, len(firsts), self.model.device)
        for first, vectors in zip(firsts, progress(done, label, unit="batch", total=len(firsts)), strict=True):
            embedded[first : first + self.batch_size] = vectors
        embeddings = embedded[[rows[text] for text in texts]] if len(texts) else embedded
        norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
        bad = np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0))
        if bad.size:
            raise ValueError(
                f"encoder '{self.name}' gives {bad.size} of {len(texts)} texts no direction (NaN, infinite or zero), "
                f"row {bad[0]} first: check that text and the encoder's weights"
            )
        return np.asarray(embeddings / norms, dtype=np.float32)

    def _longest_first(self, texts: list[str]) -> list[str]:
        """Texts by their number of tokens, so that a batch is hardly padded; characters tell little about tokens."""
        blocks = [texts[first : first + COUNTED_AT_ONCE] for first in range(0, len(texts), COUNTED_AT_ONCE)]
        tokens = [n for block in blocks for n in self._tokenised(block)["attention_mask"].sum(1).tolist()]
        order = sorted(range(len(texts)), key=lambda i: -tokens[i])  # memory freed once serves all that follow
        return [texts[i] for i in order]

    def _tokenised(self, texts: list[str]) -> dict[str, Any]:
        name = self.model.default_prompt_name
        features: dict[str, Any] = self.model.preprocess(texts, prompt=self.model.prompts[name] if name else None)
        return features

    def _forward(self, features: dict[str, Any]) -> Float32[np.ndarray, "text dim"]:
        import torch
        from sentence_transformers.util import batch_to_device

        device = self.model.device
        with torch.inference_mode(), bfloat16_where_it_pays(device):
            vectors = self.model(batch_to_device(features, device))["sentence_embedding"]
        return np.asarray(vectors[:, : self.dim].float().cpu().numpy(), dtype=np.float32)


def load_encoder(source: str, *, device: str = "auto", batch_size: int | None = None) -> Encoder:
    """Encoder by source: `offline` (offline_encoder.py), a local directory, or a Hugging Face id.

    `batch_size` is by default what suits the device: in float32 on a CPU, batches of 16 chunks stay in the cache
    and take nine tenths of the time of batches of 64.

    Raises:
        OSError: The source is not there or not an encoder.
        ValueError: The offline encoder's weights are not the published ones.
    """
    place = compute_device(device)
    model = _read(source, str(place))
    dim = model.get_embedding_dimension()
    if dim is None:
        raise OSError(f"encoder '{source}' does not say how long its embeddings are: use a sentence-transformers model")
    suited = 64 if bfloat16_pays(place) else 16
    return Encoder(name=source, dim=dim, model=model.eval(), batch_size=batch_size or suited)


def _read(source: str, device: str) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    if source == OFFLINE:
        place = Place(str(offline_encoder_files()), local=True)
    else:
        place = find_model(source, "encoder", f"'{OFFLINE}'")
    try:
        with without_library_bars():
            return SentenceTransformer(
                place.name,
                device=device,
                revision=place.revision,
                local_files_only=place.local,
                model_kwargs={"use_safetensors": True},
            )
    except (OSError, ValueError) as error:
        raise unreadable(source, "encoder", f"'{OFFLINE}'", error) from error
