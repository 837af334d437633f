"""Sentence encoders behind one face: unit vectors of texts, each a function of its own text.

A text's vector is the same to the bit whatever is embedded with it, in whatever order, by however many threads and in
whatever process: a client's votes follow from its embeddings, and a vote that turns on the last bit must not turn with
the company. A text's own number of tokens decides the shape it is computed in: padded to one of few lengths, in a batch
that is always full (a text repeated fills the last one), by one thread. Measured with the offline encoder on a CPU, in
bfloat16 and in float32, at every row, in any company, and on an H200 (tests/models/test_encoder.py). Other machines and
other versions of torch round differently.

Matrix products run in bfloat16 where the hardware is made for it (cosine to the float32 embedding above 0.9999 for
all-MiniLM-L6-v2, at a third of the time on a CPU with AMX).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32

from fedtext.models.offline_encoder import offline_encoder_files
from fedtext.models.source import Place, find_model, unreadable
from fedtext.system.cores import over_cores
from fedtext.system.errors import InputError, UnreadableFileError
from fedtext.system.hardware import bfloat16_where_it_pays, compute_device
from fedtext.system.progress import progress, without_library_bars

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

OFFLINE = "offline"
COUNTED_AT_ONCE = 1024  # texts whose tokens are counted together
STEP = 8  # padded lengths are multiples: chunks of 64 tokens get a tenth of padding in 22 shapes; of 16, a sixth in 12
BATCH_TOKENS = 512  # smaller batches cost more a token; larger ones fill more rows for nothing and leave the cache


@dataclass(frozen=True)
class Encoder:
    """A frozen sentence encoder on its device.

    Attributes:
        name: The source it was loaded from.
        dim: Length of an embedding.
        model: The sentence-transformers model.
        batch_tokens: Tokens a batch, padding and repeated texts included; a longer text is a batch of its own.
    """

    name: str
    dim: int
    model: SentenceTransformer
    batch_tokens: int = BATCH_TOKENS

    def encode(
        self, texts: Sequence[str], label: str = "embedding", *, undirected_as_zeros: bool = False
    ) -> Float32[np.ndarray, "text dim"]:
        """Unit-norm embeddings, in the order of `texts`; no texts give an array of no rows.

        `undirected_as_zeros`: a text that the encoder gives no direction has a row of zeros, which contributes nothing:
        of private texts, whether a run ends must not be one client's say.

        Raises:
            ValueError: An embedding is not finite or has no direction; names its row, never its text.
        """
        distinct = sorted(set(texts))
        rows = {text: row for row, text in enumerate(distinct)}
        embedded = np.zeros((len(distinct), self.dim), dtype=np.float32)
        batches = self._batches(distinct)
        # Taken as needed, in this thread: tokenizers are not made for several.
        full = (self._full([distinct[row] for row in batch], width) for width, batch in batches)
        done = over_cores(self._forward, full, len(batches), self.model.device)
        for (_, batch), vectors in zip(batches, progress(done, label, unit="batch", total=len(batches)), strict=True):
            embedded[batch] = vectors[: len(batch)]
        embeddings = embedded[[rows[text] for text in texts]] if len(texts) else embedded
        norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
        bad = np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0))
        if undirected_as_zeros:
            embeddings[bad], norms[bad] = 0.0, 1.0
        elif bad.size:
            raise InputError(
                f"encoder '{self.name}' gives {bad.size} of {len(texts)} texts no direction (NaN, infinite or zero), "
                f"row {bad[0]} first: check that text and the encoder's weights"
            )
        return np.asarray(embeddings / norms, dtype=np.float32)

    def fitted(self, heads: Sequence[str], tails: Sequence[Sequence[str]]) -> list[str]:
        """Each head without as much of its beginning as does not fit, before the longest of its own tails, into a text.

        A head is cut before a word. Where a tail alone is too long nothing is left of the head, and `encode` cuts the
        tail.
        """
        return [self._without_beginning(head, own) for head, own in zip(heads, tails, strict=True)]

    def _without_beginning(self, head: str, tails: Sequence[str]) -> str:
        longest, cut = self.model.max_seq_length, 0
        for tail in tails if longest is not None else ():
            spans = self.model.tokenizer(
                f"{head} {tail}", add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )["offset_mapping"]
            over = len(spans) + self.model.tokenizer.num_special_tokens_to_add() - longest
            cut = max(cut, spans[over][0] if over > 0 else 0)
        if cut == 0:
            return head
        word = head.find(" ", cut)
        return head[word + 1 :] if word >= 0 else ""

    def _batches(self, texts: list[str]) -> list[tuple[int, list[int]]]:
        """Padded length and rows of `texts` of every batch, the longest first: memory freed once serves the others."""
        alike: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for row, tokens in enumerate(self._lengths(texts)):
            alike[self._shape(tokens)].append(row)
        return [
            (width, rows[first : first + self._height(width)])
            for (width, _), rows in sorted(alike.items(), reverse=True)
            for first in range(0, len(rows), self._height(width))
        ]

    def _lengths(self, texts: list[str]) -> list[int]:
        """Tokens of every text."""
        blocks = (texts[first : first + COUNTED_AT_ONCE] for first in range(0, len(texts), COUNTED_AT_ONCE))
        counted = (self._tokenised(block, {"padding": True})["attention_mask"].sum(1) for block in blocks)
        return [tokens for counts in counted for tokens in counts.tolist()]

    def _shape(self, tokens: int) -> tuple[int, bool]:
        """Padded length of a text of so many tokens, and whether it fills it, as only the longest possible text does.

        Attention runs without a mask, on a GPU by another kernel, where no text of a batch is padded. So every text is,
        except those that cannot be, which are by themselves.
        """
        longest = self.model.max_seq_length
        width = (tokens // STEP + 1) * STEP
        width = width if longest is None else min(width, longest)
        return width, tokens == width

    def _height(self, width: int) -> int:
        """Texts a batch."""
        return max(1, self.batch_tokens // width)

    def _full(self, texts: list[str], width: int) -> dict[str, Any]:
        """Tokens of a full batch: the last text once more in every row that is left."""
        rows = texts + texts[-1:] * (self._height(width) - len(texts))
        return self._tokenised(rows, {"padding": "max_length", "max_length": width})

    def _tokenised(self, texts: list[str], padding: dict[str, Any]) -> dict[str, Any]:
        name = self.model.default_prompt_name
        prompt = self.model.prompts[name] if name else None
        features: dict[str, Any] = self.model.preprocess(texts, prompt=prompt, processing_kwargs={"text": padding})
        return features

    def _forward(self, features: dict[str, Any]) -> Float32[np.ndarray, "text dim"]:
        import torch
        from sentence_transformers.util import batch_to_device

        device = self.model.device
        with torch.inference_mode(), bfloat16_where_it_pays(device):
            vectors = self.model(batch_to_device(features, device))["sentence_embedding"]
        return np.asarray(vectors[:, : self.dim].float().cpu().numpy(), dtype=np.float32)


def load_encoder(source: str, *, device: str = "auto", batch_tokens: int | None = None) -> Encoder:
    """Encoder by source: `offline` (offline_encoder.py), a local directory, or a Hugging Face id.

    Raises:
        OSError: The source is not there or not an encoder.
        ValueError: The offline encoder's weights are not the published ones.
    """
    model = _read(source, str(compute_device(device)))
    dim = model.get_embedding_dimension()
    if dim is None:
        raise UnreadableFileError(
            f"encoder '{source}' does not say how long its embeddings are: use a sentence-transformers model"
        )
    return Encoder(name=source, dim=dim, model=model.eval(), batch_tokens=batch_tokens or BATCH_TOKENS)


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
                model_kwargs={"use_safetensors": True, **place.adapter_keywords},
                **place.keywords,
            )
    except (OSError, ValueError) as error:
        raise unreadable(source, "encoder", f"'{OFFLINE}'", error) from error
