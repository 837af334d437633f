"""Answers that were cut off, up to where their last whole sentence ends.

Whoever trains on an answer teaches its end, too: a model that learns from answers cut off by a limit on their tokens
learns to stop in the middle of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedtext.generation.cleaning import token_counts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NEARLY = 0.75  # of the limit: tokenizers disagree about a text's length, and a text's tokens about their own
CLOSING = r"[\"'”’»)\]*_`]*"
SENTENCE_END = re.compile(rf"(?<!^\d)(?<!^\d\d)[.!?…]{CLOSING}(?=\s|$)", re.MULTILINE)  # "2." begins an item of a list
LINE_END = re.compile(r"\S(?=\s*\n)")


def whole_answers(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, most: int) -> list[str]:
    """Each text; one of nearly `most` tokens, which a limit may have cut off, up to its last whole sentence."""
    counts = token_counts(texts, tokenizer)
    return [whole_sentences(text) if count > NEARLY * most else text for text, count in zip(texts, counts, strict=True)]


def whole_sentences(text: str) -> str:
    """The text up to the last end of a sentence or of a line; all of it where it has neither."""
    ends = [found.end() for ending in (SENTENCE_END, LINE_END) for found in ending.finditer(text.rstrip())]
    return text[: max(ends)] if ends else text
