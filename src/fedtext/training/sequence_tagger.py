"""Sequence tagging by a fine-tuned encoder: a code for each word of a text (Devlin et al., NAACL 2019, section 5.3).

A text is its words, single marks among them, with a space between any two, so that no piece of the encoder's tokenizer
is part of two words. A word's code is learned and read at its first piece. A text that is longer than the encoder's
limit is read in windows side by side, so every word has its code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Int

from fedtext.models.tagger import tokens_of
from fedtext.params.training import CausalTraining
from fedtext.training.encoder_steps import Rows, batches, fine_tune
from fedtext.training.token_head import READ_AT_ONCE, TokenHead

if TYPE_CHECKING:
    from torch import Tensor

    from fedtext.models.encoder import Encoder

Codes = Int[np.ndarray, " word"]
NONE = -1  # a word that the tokenizer leaves out, as a mark without width
UNREAD = 0  # its code


class WordWindows(NamedTuple):
    """Tokenised texts; `firsts` are the places of each text's words, by their first pieces, in all windows' pieces."""

    tokens: Any
    firsts: list[Int[np.ndarray, " word"]]


class SequenceTagger(TokenHead):
    """An encoder with a head that gives each word one of `outputs` codes."""

    def __init__(self, encoder: Encoder, outputs: int) -> None:
        super().__init__(encoder, outputs)
        self._limit = encoder.limit

    def windows(self, texts: Sequence[str]) -> WordWindows:
        """Tokenise the texts in one batch, a long one in several rows."""
        words = [[text[start:end] for start, end in tokens_of(text)] for text in texts]
        tokens = self.tokenised(
            [" ".join(own) for own in words], truncation=True, max_length=self._limit, return_overflowing_tokens=True
        )
        spans, texts_of_rows = tokens["offset_mapping"].numpy(), tokens["overflow_to_sample_mapping"].numpy()
        real = spans[:, :, 0] < spans[:, :, 1]  # special tokens and padding have no width
        firsts = []
        for number, own in enumerate(words):
            places = np.flatnonzero(real & (texts_of_rows == number)[:, None])
            firsts.append(np.append(places, NONE)[first_pieces(own, spans.reshape(-1, 2)[places])])  # NONE is the last
        return WordWindows(tokens, firsts)

    def codes(self, texts: Sequence[str]) -> list[Codes]:
        """Return the likeliest code of each word of every text."""
        import torch

        found = []
        with torch.inference_mode():
            for some in batches(texts, READ_AT_ONCE):
                tokens, firsts = self.windows(some)
                likeliest = self.scores(tokens).argmax(dim=2).flatten().cpu().numpy()
                found += [np.where(own == NONE, UNREAD, likeliest[own]) for own in firsts]
        return found


def train_sequence_tagger(
    encoder: Encoder,
    texts: Sequence[str],
    codes: Sequence[Codes],
    outputs: int,
    fine_tuning: CausalTraining,
    *,
    seed: int,
    label: str,
) -> SequenceTagger:
    """Fine-tune a copy of the encoder on texts and the codes, below `outputs`, of their words.

    Raises:
        ValueError: the loss is not finite.
    """
    import torch
    from torch.nn.functional import cross_entropy

    def loss_of(tagger: SequenceTagger, rows: Rows) -> Tensor:
        tokens, firsts = tagger.windows([texts[row] for row in rows])
        places, wanted = np.concatenate(firsts), np.concatenate([codes[row] for row in rows])
        read = places != NONE
        scores = tagger.scores(tokens).flatten(0, 1)
        if not read.any():  # the mean over no word is NaN
            return scores.sum() * 0.0
        return cross_entropy(scores[places[read]], torch.from_numpy(wanted[read]).to(scores.device))

    return fine_tune(
        lambda: SequenceTagger(encoder, outputs),
        loss_of,
        len(texts),
        fine_tuning,
        seed=seed,
        name="tagger",
        label=label,
    )


def first_pieces(words: Sequence[str], pieces: Int[np.ndarray, "piece 2"]) -> Int[np.ndarray, " word"]:
    """Return the number of each word's first piece, `NONE` for a word without one.

    Args:
        words: Of one text.
        pieces: Start and end of each piece, ascending, in the words joined by spaces.
    """
    lengths = np.asarray([len(word) for word in words], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    found = np.searchsorted(pieces[:, 1], ends - lengths, side="right")
    begins = np.append(pieces[:, 0], ends[-1:])  # behind the last piece nothing begins within a word
    return np.where(begins[found] < ends, found, NONE)
