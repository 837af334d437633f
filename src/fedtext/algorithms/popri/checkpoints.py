"""The adapters that a run of POPri makes: which of them write candidates, which are judged, and how one is chosen.

T rounds make the adapters 0 (untrained) to T. Round t + 1 writes the candidates of adapter t, so adapter T writes some
only where its candidates can change the choice. The graph that writes candidates and the nodes that choose among
adapters, or report them, read the same value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from fedtext.params.popri import SINGLE_RELEASE, CheckpointChoice, Popri, Scoring


@dataclass(frozen=True)
class Checkpoints:
    """The adapters 0 to `rounds`, under a scoring and a choice of checkpoint."""

    rounds: int
    scoring: Scoring
    choice: CheckpointChoice

    @classmethod
    def of(cls, popri: Popri) -> Self:
        """Return the checkpoints of a run with these parameters."""
        return cls(popri.rounds, popri.scoring, popri.checkpoint)

    @property
    def single_release(self) -> bool:
        """Whether one release scores candidates at no further privacy cost, those of the last adapter too."""
        return self.scoring in SINGLE_RELEASE

    @property
    def unaccounted(self) -> bool:
        """Whether private validation text chooses among the candidates of all adapters, as in the paper."""
        return self.choice == "fid_on_private_validation"

    @property
    def last_writes(self) -> bool:
        """Whether the last adapter, on whose candidates nothing is trained, writes candidates as well."""
        return self.single_release or self.unaccounted

    @property
    def candidate_sets(self) -> int:
        """The number of sets of candidates: of the adapters 0, 1, ..., the last one's included if it writes any."""
        return self.rounds + self.last_writes

    def scores_of_adapters(self, released: Sequence[float | None]) -> list[float | None]:
        """Return one score for each adapter, 0 to `rounds`; None for one whose candidates were not scored."""
        return _filled(released, self.rounds + 1)

    def scores_of_candidates(self, released: Sequence[float | None]) -> list[float | None]:
        """Return one score for each set of candidates; None for one that was not scored."""
        return _filled(released, self.candidate_sets)


def _filled(released: Sequence[float | None], length: int) -> list[float | None]:
    return [*released, *[None] * (length - len(released))]
