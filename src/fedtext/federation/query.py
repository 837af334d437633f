"""What is asked of the units, settled in public before a private value is read, and how a joint answer is laid out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from fedtext.system.errors import InputError


@dataclass(frozen=True)
class Query:
    """One question: the noised sum of one vector a unit, each clipped. All of it is public.

    All fields but the last two are the price (`fedtext.federation.mechanism`): the release that a ledger is opened for
    and the one that it is charged for are built from them by one function. The last two are known when it is asked.

    Attributes:
        name: The release's, in the ledger and in the names of streams.
        round: In which it is asked.
        dim: Width of a unit's vector, all parts together.
        clip_norm: Largest L2 norm of a unit's vector.
        noise_multiplier: Deviation of the noise over the sensitivity.
        non_negative: No unit may lower the sum: a coordinate below 0 counts as 0, in code, for a refusal would be
            one unit's say. Replacing one unit by another then costs less (`fedtext.privacy.ledger.Release`).
        parties: Names of those that take part and pay, where the ledger tells parties apart; None: all.
        batch: How many units are expected in a Poisson draw of its own, for it alone; None: units are drawn as the run
            declares.
        own: Its one party answers alone: it draws among its own units, adds up and adds noise by itself, whatever the
            run's aggregation.
        steps: How often it is asked, each time with other public inputs, for one price paid at once
            (`fedtext.federation.noisy_steps`).
        public_digest: Digest of the public inputs that answers are made with (candidates, weights): names coins and
            noise.
        draw: Public words that, beside name, round and declaration, name the draw of who is asked: whatever tells
            this question from another of the same name.
    """

    name: str
    round: int
    dim: int
    clip_norm: float
    noise_multiplier: float
    non_negative: bool = False
    parties: tuple[str, ...] | None = None
    batch: int | None = None
    steps: int = 1
    own: bool = False
    public_digest: str = ""
    draw: tuple[str, ...] = ()

    @property
    def price(self) -> tuple[object, ...]:
        """The values of all fields but the last two."""
        return tuple(getattr(self, field.name) for field in fields(self)[:-2])

    def about(self, public_digest: str, settings: str = "") -> Query:
        """The question as it is asked: about these public inputs, by what units are told to compute of them."""
        return replace(self, public_digest=public_digest, draw=(settings, public_digest))


@dataclass(frozen=True)
class Parts:
    """Named parts of a unit's vector, side by side: they share one clip, one charge and one draw of noise.

    `widths` are in order. A sum of joint vectors is read back by name: `Parts.of(near=n, far=n).read(total)["far"]`.
    """

    widths: Mapping[str, int]

    @classmethod
    def of(cls, **widths: int) -> Parts:
        """Parts of these widths, in the order given."""
        return cls(MappingProxyType(widths))

    @property
    def dim(self) -> int:
        """Width of the joint vector."""
        return sum(self.widths.values())

    @property
    def places(self) -> dict[str, slice]:
        """Where each part lies."""
        ends = np.cumsum([0, *self.widths.values()]).tolist()
        return {name: slice(*ends[i : i + 2]) for i, name in enumerate(self.widths)}

    def read(self, joint: Float[np.ndarray, "*row dim"]) -> dict[str, Float[np.ndarray, "*row _"]]:
        """Each part of a joint vector, or of rows of them, by name.

        Raises:
            ValueError: it is not as wide as the parts together.
        """
        if joint.shape[-1] != self.dim:
            raise InputError(f"{joint.shape[-1]} numbers for parts {dict(self.widths)}: {self.dim} are wanted")
        return {name: joint[..., place] for name, place in self.places.items()}
