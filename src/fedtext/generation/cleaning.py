"""From raw continuations to synthetic samples: cutting, legibility, and writing systems.

Which texts read like text at all: a look at the words alone, which costs no privacy and needs no model.

Small models now and then fall into a loop, hold a key down, leave a form's gap unfilled, talk to whoever asked, or
write in another writing system than in all their other texts (generation/cleaning.py).

In which writing system a text is, and which texts of a call are in one that hardly any other of them is in.

A model asked for English now and then answers in Chinese. No language is wrong by itself: what most texts of a call are
in is what was asked for, and a second language that one in twenty is in is one that the texts have.

From raw continuations to synthetic samples.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedtext.generation.messages import reads_like_one
from fedtext.generation.prompt_forms import PromptForm
from fedtext.generation.sentences import to_last_sentence, whole_sentences

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


FEWEST_TEXTS = 20  # texts, below which one by itself says nothing
RARE = 1 / 20
TOGETHER = dict.fromkeys(("HIRAGANA", "KATAKANA", "HANGUL"), "CJK")  # are written side by side


def minority_script_mask(texts: Sequence[str]) -> list[bool]:
    """Whether each text is in a writing system that less than a twentieth of those with letters are in.

    Fewer than 20 texts have no strays, nor has a text without letters.
    """
    scripts = [script_of(text) for text in texts]
    counts = Counter(filter(None, scripts))
    least = counts.total() * RARE if counts.total() >= FEWEST_TEXTS else 0
    return [script is not None and counts[script] < least for script in scripts]


def script_of(text: str) -> str | None:
    """The writing system of most of its letters, as Unicode names it ("LATIN", "CJK"); None: it has no letters."""
    counts = Counter(_script(letter) for letter in text if letter.isalpha())
    return counts.most_common(1)[0][0] if counts else None


def _script(letter: str) -> str:
    first = unicodedata.name(letter, "UNNAMED").partition(" ")[0]
    return TOGETHER.get(first, first)


HELD_KEY = re.compile(r"(\S)\1{5}")  # the same mark six times running
GAP = re.compile(r"(?<!\w)(?:\[[a-z'’ ]+\]|\{[a-z'’ ]+\}|<[a-z'’ ]+>)", re.I)  # "Dear [Your Name]"
TALK = re.compile(r"\s*(sure[,!]|(here (is|are)|here's|certainly|of course|i'm sorry|i am sorry|as an ai)\b)", re.I)
SELF = re.compile(
    r"\bSmolLM|\bHugging Face\b|\bas an AI\b|\blanguage model\b"
)  # the model speaks of itself, or to itself
WORD = re.compile(r"[^\W_]+")  # of a name in code, each of its words
PHRASE = 3  # words
LOOP = 0.2  # share of a text's phrases that stood in it before
FEWEST_WORDS = 8  # words, below which a phrase may well come twice


def read_like_text(texts: Sequence[str]) -> list[bool]:
    """Whether each text of a call is legible, and in a writing system that others of them are in."""
    return [is_legible(text) and not stray for text, stray in zip(texts, minority_script_mask(texts), strict=True)]


def is_legible(text: str) -> bool:
    """Whether a text has a word, no held key, no unfilled gap, no talk with whoever asked, and is in no loop."""
    if not WORD.search(text):
        return False
    talk = TALK.match(text) or SELF.search(text)
    return not (talk or HELD_KEY.search(text) or GAP.search(text) or repeated_share(text) > LOOP)


def repeated_share(text: str) -> float:
    """Share of the phrases of three words that stood in the text before; 0 for a text of a few words."""
    words = WORD.findall(text.casefold())
    if len(words) < FEWEST_WORDS:
        return 0.0
    phrases = [tuple(words[k : k + PHRASE]) for k in range(len(words) - PHRASE + 1)]
    return 1 - len(set(phrases)) / len(phrases)


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

    The cut is by character offsets, as in `corpora.records`, so no text is re-rendered. Where the form asks for
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
