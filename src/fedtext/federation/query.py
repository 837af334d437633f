"""A query of the units, fixed in public before a private value is read, and the layout of a joint contribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from fedtext.privacy.signal import AS_A_WHOLE, Use
from fedtext.system.errors import InputError


@dataclass(frozen=True)
class Query:
    """One query: the noisy sum of one clipped vector a unit. All fields are public.

    All fields but the last three determine the privacy cost (`fedtext.federation.mechanism`): one function builds from
    them both the release that a ledger is opened for and the one that it is charged with. The last two are known when
    the query is made.

    Attributes:
        name: The release's name, in the ledger and in the names of random streams.
        round: The round in which the query is made.
        dim: Width of a unit's vector, all parts together.
        clip_norm: Largest L2 norm of a unit's vector.
        noise_multiplier: Standard deviation of the noise over the sensitivity.
        non_negative: No unit may lower the sum: the mechanism sets a coordinate below 0 to 0, since an error would
            reveal one unit. Replacing one unit by another then costs less (`fedtext.privacy.ledger.Release`).
        parties: Names of the parties that take part and are charged, where the ledger tells parties apart; None: all.
        batch: Expected number of units in a Poisson sample for this query alone; None: units are sampled as the run
            declares.
        own: The query is local to its one party: it samples its own units, sums and adds noise by itself, whatever the
            run's aggregation.
        steps: How often the query is made, each time with other public inputs, for one privacy cost charged at once
            (`fedtext.federation.noisy_steps`).
        use: How the noisy sum is used, which decides how its noise compares with its signal.
        public_digest: Digest of the public inputs of the contributions (candidates, weights): it names rounding
            randomness and noise.
        draw: Public words that, beside name, round and declaration, name the sample of units: whatever tells this query
            from another of the same name.
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
    use: Use = AS_A_WHOLE
    public_digest: str = ""
    draw: tuple[str, ...] = ()

    @property
    def cost_terms(self) -> tuple[object, ...]:
        """The values of all fields that determine the privacy cost: all but the last three."""
        return tuple(getattr(self, field.name) for field in fields(self)[:-3])

    def about(self, public_digest: str, settings: str = "") -> Query:
        """Return the query with the digest of its public inputs and the settings of the units' computation."""
        return replace(self, public_digest=public_digest, draw=(settings, public_digest))


@dataclass(frozen=True)
class Parts:
    """Named parts of a unit's vector, side by side: they share one clip, one charge and one draw of noise.

    `widths` are in order. A sum of joint vectors is read by name: `Parts.of(near=n, far=n).read(total)["far"]`.
    """

    widths: Mapping[str, int]

    @classmethod
    def of(cls, **widths: int) -> Parts:
        """Build parts of these widths, in the order given."""
        return cls(MappingProxyType(widths))

    @property
    def dim(self) -> int:
        """Width of the joint vector."""
        return sum(self.widths.values())

    @property
    def places(self) -> dict[str, slice]:
        """The slice of the joint vector of each part."""
        ends = np.cumsum([0, *self.widths.values()]).tolist()
        return {name: slice(*ends[i : i + 2]) for i, name in enumerate(self.widths)}

    def read(self, joint: Float[np.ndarray, "*row dim"]) -> dict[str, Float[np.ndarray, "*row _"]]:
        """Return each part of a joint vector, or of rows of them, by name.

        Raises:
            ValueError: it is not as wide as the parts together.
        """
        if joint.shape[-1] != self.dim:
            raise InputError(
                f"{joint.shape[-1]} numbers for parts {dict(self.widths)}: {self.dim} are wanted",
                code="numbers-do-not-fit-parts",
                value=joint.shape[-1],
            )
        return {name: joint[..., place] for name, place in self.places.items()}
