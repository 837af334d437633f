"""How well a generator can write a kind of text: its cross-entropy on public texts of that kind.

Model and texts are public, so this costs no privacy, and it is known before the first round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedtext.evaluation.next_token import count_by_text, text_windows
from fedtext.generation.cleaning import cut_to
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.models.language_model import LanguageModel

FLUENT = (
    1.25  # nats a byte: between what the two offline generators write well and what they cannot (docs/generators.md)
)
TEXTS, LENGTH = 64, 64  # that are looked at, and tokens of each


def nats_per_byte(model: LanguageModel, texts: Sequence[str], *, length: int = LENGTH) -> float:
    """Compute the cross-entropy of the texts' first `length` tokens under the model, divided by their bytes.

    Bytes, and not tokens, since every model has tokens of its own.

    Raises:
        ValueError: there is no text, or the texts are empty.
    """
    loaded, tokenizer = model.load()
    cut = cut_to(texts, tokenizer, [length] * len(texts))
    size = sum(len(text.encode()) for text in cut)
    if size == 0:
        raise InputError("no texts: how well a generator knows them needs at least one", code="no-texts-to-know")
    counts = count_by_text(loaded, text_windows(tokenizer, cut, length), label="the generator's knowledge")
    return float(counts.nats.sum()) / size
