"""From raw continuations to synthetic samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedtext.generation.legible import read_like_text
from fedtext.generation.messages import reads_like_one
from fedtext.generation.prompt_forms import PromptForm
from fedtext.generation.sentences import to_last_sentence, whole_sentences

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Bytes that do not make a character decode to U+FFFD; control characters other than line end and tab are never text.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffd]")
NEARLY = 0.75  # of the limit: tokenizers disagree about a text's length, and a text's tokens about their own


def clean_samples(
    texts: Sequence[str],
    form: PromptForm,
    tokenizer: PreTrainedTokenizerBase,
    length: int,
    *,
    legible_only: bool = False,
) -> list[str]:
    """The sample in each raw response: what `form` cuts out, without unprintable characters, `length` tokens.

    The cut is by character offsets, as in `corpora.chunking`, so no text is re-rendered. Where the form asks for
    `sentences`, a sample ends with its last whole one. A response that holds no sample, or with `legible_only` none
    that reads like text, is an empty string, so that positions stay; nothing empty may be scored.
    """
    if not texts:
        return []
    cut = [UNPRINTABLE.sub("", form.cut(text)) for text in texts]
    samples = cut_to(cut, tokenizer, [length] * len(cut))
    if form.sentences:
        samples = [to_last_sentence(text) for text in samples]
    if not legible_only:
        return samples
    reads = read_like_text(samples)
    if form.sentences:
        reads = [good and reads_like_one(text, form.description) for good, text in zip(reads, samples, strict=True)]
    return [text if good else "" for text, good in zip(samples, reads, strict=True)]


def whole_answers(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, most: int) -> list[str]:
    """Each text; one of nearly `most` tokens, which a limit may have cut off, up to its last whole sentence."""
    counts = token_counts(texts, tokenizer)
    return [whole_sentences(text) if count > NEARLY * most else text for text, count in zip(texts, counts, strict=True)]


def cut_to(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, lengths: Sequence[int]) -> list[str]:
    """The first `lengths[i]` tokens of text i, as a piece of the text itself."""
    if not texts:
        return []
    offsets = _offsets(texts, tokenizer)
    ends = [spans[:length][-1][1] if spans[:length] else 0 for spans, length in zip(offsets, lengths, strict=True)]
    return [text[:end].strip() for text, end in zip(texts, ends, strict=True)]


def token_counts(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Tokens of each text, special ones not counted."""
    return [len(spans) for spans in _offsets(texts, tokenizer)] if texts else []


def _offsets(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[list[tuple[int, int]]]:
    spans: list[list[tuple[int, int]]] = tokenizer(
        list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )["offset_mapping"]
    return spans
