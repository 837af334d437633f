"""The texts that a person should read first."""

from __future__ import annotations

import math

from pydantic import Field

from fedtext.params import Parameters
from fedtext.params.generation import Temperature


class ForReading(Parameters):
    """Of `texts` texts, the `share` that the generator finds the most plausible; of none, no such texts are written.

    A text is left out if its cosine similarity to a more plausible one is at least `similarity`.
    POPri writes them for this alone, at `temperature`; of any other algorithm they are the first synthetic texts.
    """

    texts: int = Field(ge=0)
    share: float = Field(gt=0, le=1)
    temperature: Temperature
    similarity: float = Field(gt=0, le=1)

    def shared_out(self, prompts: int, at_once: int) -> tuple[int, int]:
        """Return how many of the prompts are asked for the texts, and for how many each, `at_once` at most."""
        asked = min(prompts, self.texts)
        return asked, min(math.ceil(self.texts / asked), at_once)
