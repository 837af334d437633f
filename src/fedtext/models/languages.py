"""The languages of the models that this project names itself, as their makers state them.

SmolLM2's card: "primarily understand and generate content in English"; all-MiniLM-L6-v2's: `language: en`. The models
that come with the package were trained on English here. Of any other model nothing is claimed.
"""

from __future__ import annotations

import re

ENGLISH = "English"
ENGLISH_ALONE = re.compile(
    r"(?:HuggingFaceTB/)?smollm2\b.*|bundled:.*|offline|(?:sentence-transformers/)?all-MiniLM-L(?:6|12)-v\d\b.*",
    re.IGNORECASE,
)
THAT_WRITES = (
    "Qwen/Qwen2.5-1.5B-Instruct"  # its card: "over 29 languages", Arabic, Chinese, French, German, Spanish too
)


def known_languages(model: str) -> tuple[str, ...] | None:
    """Return the languages that a model's makers state for it; None if this project knows nothing of it.

    Args:
        model: A source, a Hugging Face id, or a model's name on a server. Of a directory nothing is known.
    """
    return (ENGLISH,) if ENGLISH_ALONE.fullmatch(model) else None


def may_know(model: str, language: str) -> bool:
    """Return whether a model may know a language: its makers state it, or nothing is known of the model."""
    known = known_languages(model)
    return known is None or language in known
