"""Post-processing of generated text: cut responses to samples, and filter by quality and script.

The quality filter looks at the words alone, so it costs no privacy and needs no model. Small models now and then fall
into a loop, repeat a character, leave a placeholder unfilled, address the user, or write in another script or language
than in all their other texts.

A text fails for its script if hardly any other text of the same call is in that script: a model prompted in English now
and then answers in Chinese, or goes on in Spanish. No language is rejected by itself. The script of most texts is taken
for the wanted one, and so is any script that at least one text in twenty has; languages likewise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedtext.generation.languages import minority_language_mask
from fedtext.generation.messages import PIECE, SPACELESS, is_whole_message, repeated_runs
from fedtext.generation.phrases import addresses_the_user
from fedtext.generation.prompt_forms import PromptForm
from fedtext.generation.scripts import minority_script_mask
from fedtext.generation.sentences import to_last_sentence, whole_sentences
from fedtext.models.chunks import end_within, tokenizable

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


HELD_KEY = re.compile(r"([^\s0])\1{5}|(?<![\d.,])0{6}|0{13}")  # the same mark six times running, but for 1000000
TAG = "(?:p|br|b|i|u|em|hr|ul|ol|li|tr|td|th|div|span|strong|table|code|pre|body|html) ?/?>"  # of a page; no gap
INSIDE = r"[^\W\d_](?:[^\W\d]|['’/ ]|(?<=[^\W\d_]{2})[-.](?=[^\W\d_]{2}))*(?: ?[#№]| ?\d+)?"  # no range, as "a-z"
GAP = re.compile(  # "Dear [Your_Name2]"
    rf"(?<![A-Za-z0-9_])(?:\[{INSIDE}\]|\{{ ?{INSIDE} ?\}}|(?:<|&lt;)(?!{TAG}){INSIDE}(?:>|&gt;))", re.IGNORECASE
)
WORD = re.compile(r"[^\W_]+")  # of a name in code, each of its words
PHRASE = 3  # words
LOOP = 0.2  # share of a text's phrases that stood in it before
FEWEST_WORDS = 8  # words, below which a phrase may well come twice


def pass_quality_filter(texts: Sequence[str]) -> list[bool]:
    """Return whether each text passes the quality filter, and is in no script or language that is rare among them."""
    strays = zip(minority_script_mask(texts), minority_language_mask(texts), strict=True)
    return [is_legible(text) and not any(stray) for text, stray in zip(texts, strays, strict=True)]


def is_legible(text: str) -> bool:
    """Return whether a text has a word, and has no repeated character, placeholder, talk to the user or loop."""
    if not WORD.search(text):
        return False
    return not (addresses_the_user(text) or HELD_KEY.search(text) or GAP.search(text) or repeated_share(text) > LOOP)


def repeated_share(text: str) -> float:
    """Return the share of a text's three-word phrases that occurred in it before; 0 for a text of a few words.

    Where most letters are of scripts that put no spaces between words, it is that of pieces of a few letters.
    """
    words = WORD.findall(text.casefold())
    letters = "".join(words)
    if len(letters) >= 2 * PIECE and 2 * len(SPACELESS.findall(letters)) > len(letters):
        return repeated_runs(letters, PIECE)
    return 0.0 if len(words) < FEWEST_WORDS else repeated_runs(words, PHRASE)


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
    """Return the sample in each response: what `form` cuts out, at most `length` tokens, all of them printable.

    The cut is by character offsets, as in `models.chunks`, so no text is re-rendered. Where the form requires
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
    reads = pass_quality_filter(samples)
    if form.sentences:
        reads = [good and is_whole_message(text, form.description) for good, text in zip(reads, samples, strict=True)]
    return [text if good else "" for text, good in zip(samples, reads, strict=True)]


def trim_to_sentences(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, most: int) -> list[str]:
    """Return each text; one of nearly `most` tokens, which a limit may have cut, ends at its last whole sentence."""
    counts = token_counts(texts, tokenizer)
    return [whole_sentences(text) if count > NEARLY * most else text for text, count in zip(texts, counts, strict=True)]


def cut_to(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase, lengths: Sequence[int]) -> list[str]:
    """Return the first `lengths[i]` tokens of text i, as a substring of the text itself that ends with a character."""
    if not texts:
        return []
    ends = [end_within(spans, length) for spans, length in zip(_offsets(texts, tokenizer), lengths, strict=True)]
    return [text[:end].strip() for text, end in zip(texts, ends, strict=True)]


def token_counts(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Count the tokens of each text, without special tokens."""
    return [len(spans) for spans in _offsets(texts, tokenizer)] if texts else []


def _offsets(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[list[tuple[int, int]]]:
    spans: list[list[tuple[int, int]]] = tokenizer(
        [tokenizable(text) for text in texts], add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )["offset_mapping"]
    return spans
