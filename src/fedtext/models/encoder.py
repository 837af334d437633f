"""Sentence encoders behind one interface: unit-norm embeddings, each a function of its own text alone.

Embeddings are batch-invariant: a text's vector is the same to the bit whatever texts are embedded with it, in whatever
order, by however many threads and in whatever process. A client's votes follow from its embeddings, so a vote that is
decided by the last bit must not depend on the batch. To this end a text's own number of tokens decides the shape it is
computed in: padded to one of few lengths, in a batch that is always full (a text repeated fills the last one), by one
thread. This was measured with the offline encoder on a CPU, in bfloat16 and in float32, and on an H200, for every row
and batch composition (tests/models/test_encoder.py). Other machines and other versions of torch round differently: the
workers that pieces of many batches go to (`fedtext.system.engine`) must be of this machine's kind.

A text that is longer than the encoder's limit is embedded by windows: parts of about equal length, each of which fits,
whose unit embeddings are averaged (decision 42). So every token of a text is read, and a shorter text's embedding is
what it would be without windows.

Matrix products run in bfloat16 where the hardware supports it (cosine to the float32 embedding above 0.9999 for
all-MiniLM-L6-v2, at a third of the time on a CPU with AMX).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32, Int64

from fedtext.models.offline_encoder import offline_encoder_files
from fedtext.models.source import Place, find_model, unreadable
from fedtext.system.cores import over_cores
from fedtext.system.engine import InProcess, current
from fedtext.system.errors import InputError, UnreadableFileError
from fedtext.system.hardware import bfloat16_if_faster, compute_device
from fedtext.system.progress import progress, without_library_bars

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedTokenizerBase

OFFLINE = "offline"
COUNTED_AT_ONCE = 1024  # texts whose tokens are counted together
STEP = 8  # padded lengths are multiples: chunks of 64 tokens get a tenth of padding in 22 shapes; of 16, a sixth in 12
PIECE = 32  # batches that a worker gets at once: some seconds of work, for the guard of a piece takes 0.1 s
BATCH_TOKENS = 512  # smaller batches cost more a token; larger ones fill more rows for nothing and leave the cache
Batch = tuple[int, list[str]]  # the padded length, and the texts


@dataclass(frozen=True)
class Encoder:
    """A frozen sentence encoder on its device.

    Attributes:
        name: The source it was loaded from.
        dim: Length of an embedding.
        model: The sentence-transformers model.
        batch_tokens: Tokens a batch, padding and repeated texts included; a longer text is a batch of its own.
        place: Where the engine's workers read it from; None: this process alone embeds.
    """

    name: str
    dim: int
    model: SentenceTransformer
    batch_tokens: int = BATCH_TOKENS
    place: Place | None = None

    def encode(
        self, texts: Sequence[str], label: str = "embedding", *, undirected_as_zeros: bool = False
    ) -> Float32[np.ndarray, "text dim"]:
        """Return unit-norm embeddings in the order of `texts`; no texts give an array of no rows.

        Args:
            texts: What is embedded.
            label: Name of the progress bar.
            undirected_as_zeros: Whether a text whose embedding has no direction, or of which no token is known, gets a
                row of zeros, which contributes nothing. Set it for private texts: no single client may end a run.

        Raises:
            ValueError: An embedding is not finite or has no direction. The error names its row, never its text.
        """
        windows = self._windows(texts)
        parts = sorted({part for own in windows.values() for part in own})
        rows = dict(zip(parts, self._embedded(parts, label), strict=True))
        whole = {text: _mean_direction([rows[part] for part in own]) for text, own in windows.items()}
        if undirected_as_zeros:
            whole |= dict.fromkeys(self._unknown(list(windows)), np.zeros(self.dim, dtype=np.float32))
        embeddings = np.array([whole[text] for text in texts], dtype=np.float32).reshape(len(texts), self.dim)
        norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
        bad = np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0))
        if undirected_as_zeros:
            embeddings[bad], norms[bad] = 0.0, 1.0
        elif bad.size:
            raise InputError(
                f"encoder '{self.name}' gives {bad.size} of {len(texts)} texts no direction (NaN, infinite or zero), "
                f"row {bad[0]} first: check that text and the encoder's weights",
                code="texts-without-direction",
                parameter="models.encoder",
                value=self.name,
            )
        return np.asarray(embeddings / norms, dtype=np.float32)

    @property
    def limit(self) -> int | None:
        """The largest number of tokens that the model reads at once, special ones included; None if it has no limit."""
        limit: int | None = self.model.max_seq_length
        return limit

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return the share of the texts' tokens that the encoder does not know, as of scripts it was not trained on."""
        return unknown_share(self.model.tokenizer, texts)

    def _embedded(self, texts: list[str], label: str) -> Float32[np.ndarray, "text dim"]:
        """Return the model's embeddings of distinct texts, each within the limit."""
        embedded = np.zeros((len(texts), self.dim), dtype=np.float32)
        batches = self._batches(texts)
        asked = [(width, [texts[row] for row in batch]) for width, batch in batches]
        done = self._over_workers(asked) if self._is_worth_workers(len(batches)) else self.of_batches(asked)
        for (_, batch), vectors in zip(batches, progress(done, label, unit="batch", total=len(batches)), strict=True):
            embedded[batch] = vectors
        return embedded

    def of_batches(self, batches: Sequence[Batch]) -> Iterator[Float32[np.ndarray, "text dim"]]:
        """Yield the model's embeddings of each batch, in this process."""
        # Taken as needed, in this thread: tokenizers are not made for several.
        full = (self._full(texts, width) for width, texts in batches)
        done = over_cores(self._forward, full, len(batches), self.model.device)
        for (_, texts), vectors in zip(batches, done, strict=True):
            yield vectors[: len(texts)]

    def _is_worth_workers(self, batches: int) -> bool:
        """Return whether the engine's workers embed: on a CPU, where a worker with a piece has one beside it."""
        others = self.place is not None and not isinstance(current(), InProcess)
        return others and batches > PIECE and self.model.device.type == "cpu"

    def _over_workers(self, batches: list[Batch]) -> Iterator[Float32[np.ndarray, "text dim"]]:
        assert self.place is not None
        pieces = (batches[first : first + PIECE] for first in range(0, len(batches), PIECE))
        for embedded in current().map(partial(_of_worker, self.place, self.name, self.batch_tokens), pieces):
            yield from embedded

    def _windows(self, texts: Sequence[str]) -> dict[str, list[str]]:
        """Return each distinct text with the parts that are embedded: the text itself if it fits."""
        distinct = sorted(set(texts))
        limit = self.limit
        if limit is None:
            return {text: [text] for text in distinct}
        full = [text for text, tokens in zip(distinct, self._lengths(distinct), strict=True) if tokens >= limit]
        cut = {text: self._parts(text, limit) for text in full}
        return {text: cut.get(text, [text]) for text in distinct}

    def _parts(self, text: str, limit: int) -> list[str]:
        """Split a text into as few parts of about equal length as fit, before words where there are any."""
        number = -(-self._whole_lengths([text])[0] // limit)
        while True:
            parts = _equal_parts(text, number)
            if number >= len(text) or max(self._whole_lengths(parts)) <= limit:
                return parts
            number += 1

    def _unknown(self, texts: list[str]) -> list[str]:
        """Return the texts without any token that the encoder knows."""
        return [
            text
            for text, known in zip(texts, _known(self.model.tokenizer, texts)[:, 0].tolist(), strict=True)
            if not known
        ]

    def fitted(self, heads: Sequence[str], tails: Sequence[Sequence[str]]) -> list[str]:
        """Return each head, shortened at its beginning until it fits before the longest of its own tails.

        A head is cut before a word. Where a tail alone is too long nothing is left of the head, and `encode` reads the
        tail by windows.
        """
        return [self._without_beginning(head, own) for head, own in zip(heads, tails, strict=True)]

    def _without_beginning(self, head: str, tails: Sequence[str]) -> str:
        longest, cut = self.limit, 0
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
        """Return the padded length and the rows of every batch, longest first, so that freed memory is reused."""
        alike: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for row, tokens in enumerate(self._lengths(texts)):
            alike[self._shape(tokens)].append(row)
        return [
            (width, rows[first : first + self._height(width)])
            for (width, _), rows in sorted(alike.items(), reverse=True)
            for first in range(0, len(rows), self._height(width))
        ]

    def _whole_lengths(self, texts: list[str]) -> list[int]:
        """Return the number of tokens of every text, beyond the limit too."""
        prompt = self._prompt or ""
        found = self.model.tokenizer([f"{prompt}{text}" for text in texts], verbose=False)["input_ids"]
        return [len(tokens) for tokens in found]

    def _lengths(self, texts: list[str]) -> list[int]:
        """Return the number of tokens of every text, at most the limit."""
        blocks = (texts[first : first + COUNTED_AT_ONCE] for first in _firsts(texts))
        counted = (self._tokenised(block, {"padding": True})["attention_mask"].sum(1) for block in blocks)
        return [tokens for counts in counted for tokens in counts.tolist()]

    def _shape(self, tokens: int) -> tuple[int, bool]:
        """Return the padded length for a text of `tokens` tokens, and whether the text fills it.

        Only the longest possible text fills it. Where no text of a batch is padded, attention runs without a mask, by
        another kernel on a GPU. So every text is padded, except those of the greatest length, which have batches of
        their own.
        """
        longest = self.limit
        width = (tokens // STEP + 1) * STEP
        width = width if longest is None else min(width, longest)
        return width, tokens == width

    def _height(self, width: int) -> int:
        """Return the number of texts in a batch of this width."""
        return max(1, self.batch_tokens // width)

    def _full(self, texts: list[str], width: int) -> dict[str, Any]:
        """Return the tokens of a full batch, in which the last text fills the remaining rows."""
        rows = texts + texts[-1:] * (self._height(width) - len(texts))
        return self._tokenised(rows, {"padding": "max_length", "max_length": width})

    def _tokenised(self, texts: list[str], padding: dict[str, Any]) -> dict[str, Any]:
        features: dict[str, Any] = self.model.preprocess(
            texts, prompt=self._prompt, processing_kwargs={"text": padding}
        )
        return features

    @property
    def _prompt(self) -> str | None:
        """The prefix that the model expects before every text, if any."""
        name = self.model.default_prompt_name
        return self.model.prompts[name] if name else None

    def _forward(self, features: dict[str, Any]) -> Float32[np.ndarray, "text dim"]:
        import torch
        from sentence_transformers.util import batch_to_device

        device = self.model.device
        with torch.inference_mode(), bfloat16_if_faster(device):
            vectors = self.model(batch_to_device(features, device))["sentence_embedding"]
        return np.asarray(vectors[:, : self.dim].float().cpu().numpy(), dtype=np.float32)


def _of_worker(place: Place, name: str, batch_tokens: int, batches: list[Batch]) -> list[np.ndarray]:
    """Return the embeddings of a piece, in a worker."""
    return list(_encoder_of_worker(place, name, batch_tokens).of_batches(batches))


@lru_cache(maxsize=1)
def _encoder_of_worker(place: Place, name: str, batch_tokens: int) -> Encoder:
    """Return the encoder, which a worker loads once."""
    return _encoder(place, name, str(compute_device("cpu")), batch_tokens)


def encoder_tokenizer(source: str) -> PreTrainedTokenizerBase:
    """Return an encoder's tokenizer alone, without its weights.

    Raises:
        OSError: The source does not exist, or has no tokenizer.
    """
    from transformers import AutoTokenizer

    place = _place(source)
    try:
        return AutoTokenizer.from_pretrained(place.name, **place.keywords)
    except (OSError, ValueError) as error:
        raise unreadable(source, "encoder", f"'{OFFLINE}'", error) from error


def unknown_share(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> float:
    """Return the share of the texts' tokens that are unknown to the tokenizer."""
    known, tokens = _known(tokenizer, texts).sum(axis=0).tolist()
    return 1 - known / tokens if tokens else 0.0


def _known(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> Int64[np.ndarray, "text 2"]:
    """Return the number of known tokens and of all tokens of every text, special ones left out."""
    counts = []
    for first in _firsts(texts):
        block = list(texts[first : first + COUNTED_AT_ONCE])
        found = tokenizer(block, add_special_tokens=False, verbose=False)["input_ids"]
        counts += [(sum(token != tokenizer.unk_token_id for token in tokens), len(tokens)) for tokens in found]
    return np.array(counts, dtype=np.int64).reshape(-1, 2)


def _firsts(texts: Sequence[str]) -> range:
    """Return the first index of each block of texts that is counted at once."""
    return range(0, len(texts), COUNTED_AT_ONCE)


def _equal_parts(text: str, number: int) -> list[str]:
    """Split `text` into `number` parts of about as many characters, before a word where one begins nearby."""
    cuts = [0]
    for place in (len(text) * part // number for part in range(1, number)):
        space = text.rfind(" ", cuts[-1] + 1, place + 1)
        cuts.append(space + 1 if space > (cuts[-1] + place) // 2 else place)
    return [text[start:end] for start, end in pairwise([*cuts, len(text)])]


def _mean_direction(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the only embedding as it is, or the mean of the unit embeddings of several parts."""
    if len(parts) == 1:
        return parts[0]
    rows = np.array(parts, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):  # a part without a direction leaves the text without one
        units = rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(units.mean(axis=0), dtype=np.float32)


def load_encoder(source: str, *, device: str = "auto", batch_tokens: int | None = None) -> Encoder:
    """Load an encoder by its source: `offline` (offline_encoder.py), a local directory, or a Hugging Face id.

    Raises:
        OSError: The source is not there or not an encoder.
        ValueError: The offline encoder's weights are not the published ones.
    """
    return _encoder(_place(source), source, str(compute_device(device)), batch_tokens or BATCH_TOKENS)


def _encoder(place: Place, source: str, device: str, batch_tokens: int) -> Encoder:
    model = _read(place, source, device)
    dim = model.get_embedding_dimension()
    if dim is None:
        raise UnreadableFileError(
            f"encoder '{source}' does not say how long its embeddings are: use a sentence-transformers model",
            code="encoder-without-length",
            parameter="models.encoder",
            value=str(source),
        )
    here = place._replace(local=True)  # it has been fetched
    return Encoder(name=source, dim=dim, model=model.eval(), batch_tokens=batch_tokens, place=here)


def _place(source: str) -> Place:
    if source == OFFLINE:
        return Place(str(offline_encoder_files()), local=True)
    return find_model(source, "encoder", f"'{OFFLINE}'")


def _read(place: Place, source: str, device: str) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

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
