"""Contamination tests: whether a model has read texts, and whether held-out text is in training text.

The first test asks how well a model continues texts, and the second how likely it finds them. Both compare texts from
before a model's cutoff, which it may have read, with texts from after it, which it cannot have read. The difference has
a 95% interval from a bootstrap over texts. Language changes by itself too, so the difference that a small model finds
which has read neither side is subtracted.

The third test counts held-out texts that are in the training text as well: a model that memorised them there does not
generalise. Clients are split by their ids, so a text that two clients hold may be on both sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from fedtext.evaluation.next_token import count_by_text, text_windows
from fedtext.models.generator import Framing
from fedtext.models.language_model import context_length
from fedtext.params.generation import Sampler
from fedtext.seeding import stream
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.models.generator import Generator
    from fedtext.models.language_model import LanguageModel


GREEDY = 1e-4  # a temperature at which the most probable token is drawn; 0 is no temperature
TOKENS_A_WORD = 2  # at most, of nearly all words
LONGEST = 1024  # tokens that are read at once where a model names no limit
SCORED_AT_ONCE = 8  # texts: their logits over a large vocabulary take a gigabyte at 64
FEWEST = 10  # texts a side: fewer give no usable interval


@dataclass(frozen=True)
class Gap:
    """Mean of the older texts minus the mean of the newer ones, with its 95% interval, and both means."""

    older: float
    newer: float
    estimate: float
    low: float
    high: float

    @property
    def detected(self) -> bool:
        """True if the interval of the gap lies above zero."""
        return self.low > 0

    def document(self) -> dict[str, Any]:
        """Return the gap as a JSON document for a report."""
        return {**asdict(self), "detected": self.detected}


def bootstrap_gap(
    values: Float[np.ndarray, " text"], is_newer: Bool[np.ndarray, " text"], *, resamples: int, seed: int
) -> Gap:
    """Compute the gap between the two means, with the middle 95% of resampled gaps as its interval.

    Raises:
        ValueError: a side has too few texts.
    """
    older, newer = values[~is_newer], values[is_newer]
    if min(len(older), len(newer)) < FEWEST:
        raise InputError(
            f"{len(older)} older and {len(newer)} newer texts: a gap needs at least {FEWEST} of each",
            code="too-few-dated-texts",
        )
    draws = stream(seed, "contamination bootstrap")
    means = [side[draws.integers(len(side), size=(resamples, len(side)))].mean(axis=1) for side in (older, newer)]
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return Gap(*(float(one) for one in (older.mean(), newer.mean(), older.mean() - newer.mean(), low, high)))


def split_words(text: str, words: int) -> tuple[str, str]:
    """Return the first `words` words of a text, and the next `words`."""
    held = text.split()
    return " ".join(held[:words]), " ".join(held[words : 2 * words])


def continuations(
    generator: Generator, beginnings: Sequence[str], *, words: int, batch_size: int, seed: int
) -> list[str]:
    """Continue every beginning greedily, for about `words` words.

    Raises:
        ValueError: a beginning is too long for the model.
        OSError: the model is not there, or does not answer.
    """
    sampler = Sampler(
        temperature=GREEDY, top_p=1.0, min_p=0.0, max_new_tokens=max(TOKENS_A_WORD * words, 4), batch_size=batch_size,
        legible_only=False, repetition_penalty=1.0, top_k=None, no_repeat_ngram=None, prompt="list", examples=False,
        shots=1, openings=(), description=None,
    )  # fmt: skip
    written = generator.write(
        list(beginnings), framing=Framing(), responses=1, sampler=sampler, seed=seed, label="completions"
    )
    return [" ".join(text.split()[:words]) for (text,) in written]


def longest_run(written: str, true: str) -> int:
    """Return the length in words of the longest common run; case and punctuation are ignored."""
    a, b = _words(written), _words(true)
    longest, ending = 0, [0] * (len(b) + 1)
    for word in a:
        ending = [0, *(ending[i] + 1 if word == other else 0 for i, other in enumerate(b))]
        longest = max(longest, *ending)
    return longest


def shared_ngrams(written: str, true: str, n: int) -> float:
    """Return the share of the true text's word n-grams that the written text contains; 0 if it has none."""
    known, wanted = _ngrams(written, n), _ngrams(true, n)
    return len(wanted & known) / len(wanted) if wanted else 0.0


def log_likelihoods(model: LanguageModel, texts: Sequence[str]) -> Float[np.ndarray, " text"]:
    """Return each text's total log-likelihood, in nats a byte.

    Bytes, not tokens, since models differ in their tokens. Long texts are read in windows of the model's context
    length.
    """
    loaded, tokenizer = model.load()
    length = min(context_length(loaded) or LONGEST, LONGEST) - 1  # and the start token
    windows = text_windows(tokenizer, texts, length)
    counts = count_by_text(loaded, windows, top=(1,), batch_size=SCORED_AT_ONCE, label="likelihoods")
    sizes = np.array([max(len(text.encode()), 1) for text in texts])
    return np.asarray(-counts.nats / sizes)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    held = _words(text)
    return {tuple(held[i : i + n]) for i in range(len(held) - n + 1)}


WORD = re.compile(r"\w+")
PHRASE = 4  # words
NEAR = 0.8  # share of a text's phrases


def copy_masks(train: Sequence[str], held_out: Sequence[str]) -> dict[str, Bool[np.ndarray, " text"]]:
    """Return for every held-out text whether it is a training text (`verbatim`), or resembles training text (`near`).

    Case, spaces and punctuation are ignored. A text is near if the share `NEAR` of its four-word phrases occurs in
    training texts.
    """
    known = {_word_tuple(text) for text in train}
    phrases = {phrase for words in known for phrase in _phrases(words)}
    said = [_word_tuple(text) for text in held_out]
    verbatim = np.array([words in known for words in said], dtype=bool)
    near = np.array([_share(words, phrases) >= NEAR for words in said], dtype=bool)
    return {"verbatim": verbatim, "near": near & ~verbatim}


def summary(found: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the number of `samples`, and how many of them are `verbatim` or `near`."""
    return {"samples": len(found["verbatim"]), **{name: int(found[name].sum()) for name in ("verbatim", "near")}}


def _word_tuple(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.casefold()))


def _phrases(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(PHRASE)), strict=False)


def _share(words: Sequence[str], known: set[tuple[str, ...]]) -> float:
    """Return the share of a text's phrases that are in `known`; 0 for a text that is too short."""
    own = list(_phrases(words))
    return sum(phrase in known for phrase in own) / len(own) if own else 0.0
