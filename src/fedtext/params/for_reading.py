"""Which synthetic texts a person should read first."""

from __future__ import annotations

from pydantic import Field

from fedtext.params import Parameters


class ForReading(Parameters):
    """Of the first `texts` synthetic texts, the `share` that the generator finds the most plausible."""

    texts: int = Field(ge=1)
    share: float = Field(gt=0, le=1)
