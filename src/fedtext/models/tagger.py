"""Taggers behind one interface: they find entities in texts, by public rules or a public token classifier.

An entity is a span of tokens, and tokens are words and single marks, so that all taggers, and the models that learn
from them, use the same spans.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fedtext.models.source import find_model, unreadable
from fedtext.models.weights import check_weights
from fedtext.system.hardware import compute_device
from fedtext.system.progress import progress, without_library_bars

if TYPE_CHECKING:
    from transformers import TokenClassificationPipeline

TOKEN = re.compile(r"\w+|[^\w\s]")
KIND, SHIPPED_RULES = "tagger", "'rules'"
BATCH = 32


class Entity(NamedTuple):
    """Characters `start:end` of a text, and the kind of entity they are, such as a date."""

    start: int
    end: int
    kind: str


class Tagger(Protocol):
    """Interface of a model or rules that find entities."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds of entities that the tagger knows, in a fixed order."""

    def entities(self, texts: Sequence[str]) -> list[list[Entity]]:
        """Return the entities of every text, in ascending order, none inside another."""


def tokens_of(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every token of a text."""
    return [found.span() for found in TOKEN.finditer(text)]


@dataclass(frozen=True)
class TokenClassifier:
    """A public token classifier by its source, a local directory or a Hugging Face id: it reads one text at a time."""

    source: str

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds among the model's labels, which are written `B-PER`, `I-PER` or `PER`; `O` is none."""
        labels = self._pipeline.model.config.id2label.values()
        return tuple(sorted({re.sub(r"^[BILUES]-", "", label) for label in labels} - {"O"}))

    def entities(self, texts: Sequence[str]) -> list[list[Entity]]:
        """Return the entities of every text as `Tagger.entities` does: words, each of the kind of its first token."""
        found = self._pipeline(list(texts), batch_size=BATCH) if texts else []
        return [
            [Entity(int(one["start"]), int(one["end"]), str(one["entity_group"])) for one in entities]
            for entities in progress(found, "entities", unit="text", total=len(texts))
        ]

    @cached_property
    def _pipeline(self) -> TokenClassificationPipeline:
        from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

        place = find_model(self.source, KIND, SHIPPED_RULES)
        try:
            tokenizer = AutoTokenizer.from_pretrained(place.name, **place.keywords)
            with without_library_bars():
                model = AutoModelForTokenClassification.from_pretrained(
                    place.name, use_safetensors=True, **place.model_keywords
                )
        except (OSError, ValueError) as error:
            raise unreadable(self.source, KIND, SHIPPED_RULES, error) from error
        check_weights(model, f"{KIND} '{self.source}'", "get its files again")
        return pipeline(
            "token-classification",
            model=model.eval(),
            tokenizer=tokenizer,
            aggregation_strategy="first",
            device=compute_device(),
        )
