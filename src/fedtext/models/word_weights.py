"""Words that a generator is to write more or less often than it would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class WordWeights:
    """What is added to the log-probability of a word when it could come next, in nats; other words have 0.

    A word is as `fedtext.embedding.words` finds it, in small letters: letters and digits, a mark, or a line's end.

    Attributes:
        anywhere: Wherever the word stands.
        first: Where a text begins with it.
    """

    anywhere: Mapping[str, float] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)
