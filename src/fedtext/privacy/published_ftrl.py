"""DP-FTRL's printed noise multipliers, what they charge, and what was run: `python -m fedtext.privacy.published_ftrl`.

The multipliers of v1's Table 3 are those of the accounting in DP-FTRL's released code for a tree that restarts every
epoch of n / L rounds, with 20 EPOCHS, in each of which a client takes part once: one Gaussian whose squared sensitivity
is 20 (floor(log2(n / L)) + 1) clip norms. But 20 ROUNDS were run, which are 20 L / n epochs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fedtext.privacy.accounting import epsilon
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.matrix_mechanism import prefix_sums, tree
from fedtext.privacy.wording import table

DELTA = 3e-6


@dataclass(frozen=True)
class PrintedTreeNoise:
    """One row: `multipliers` (noise deviation of a tree's node over the clip norm) for the epsilons of `claimed`."""

    source: str
    clients: int
    per_round: int
    claimed: tuple[float, ...]
    multipliers: tuple[str, ...]
    charged_epochs: int
    rounds: int = 20

    @property
    def epoch(self) -> int:
        """Rounds in which every client takes part once: a client's rounds are at least that far apart."""
        return self.clients // self.per_round

    @property
    def charged(self) -> float:
        """Sensitivity, in clip norms, that reproduces the printed multiplier."""
        return math.sqrt(self.charged_epochs * self.epoch.bit_length())

    @property
    def run(self) -> float:
        """Sensitivity of the rounds that were run, with a tree an epoch."""
        return tree(prefix_sums(self.rounds), separation=self.epoch, restart=self.epoch).sensitivity


V1, ICML = "v1, Table 3", "ICML, Table 3"
_V1 = (
    (10_000, 500, ("7.5", "43")),
    (10_000, 1_000, ("6.7", "39")),
    (10_000, 2_000, ("5.8", "34")),
    (10_000, 2_500, ("5.8", "34")),
    (10_000, 5_000, ("4.8", "28")),
    (10_000, 7_500, ("3.35", "19.5")),
    (10_000, 10_000, ("3.35", "19.5")),
    (1_000, 1_000, ("3.35", "19.5")),
    (2_000, 1_000, ("4.8", "28")),
    (4_000, 1_000, ("5.8", "34")),
    (17_000, 1_000, ("7.5", "44")),
    (72_000, 1_000, ("8.9", "52")),
    (133_000, 1_000, ("9.5", "55")),
    (72_000, 72_000, ("3.35", "19.5")),
    (133_000, 133_000, ("3.35", "19.5")),
)
PRINTED = (
    *(PrintedTreeNoise(V1, n, per_round, (7.0, 1.0), printed, 20) for n, per_round, printed in _V1),
    # The second of the two numbers in these rows. Here the epochs are those of 50 rounds: the slip is gone.
    PrintedTreeNoise(ICML, 10_000, 1_000, (1.0,), ("19.5",), 5, 50),
    PrintedTreeNoise(ICML, 10_000, 5_000, (1.0,), ("30.8",), 25, 50),
    PrintedTreeNoise(ICML, 10_000, 10_000, (1.0,), ("30.8",), 50, 50),
)


def published_table() -> str:
    """Markdown: each printed multiplier, its epsilon as charged and as run, and what is enough."""
    head = [
        "source",
        "clients",
        "a round",
        "rounds",
        "epochs charged",
        "claimed epsilon",
        "printed multiplier",
        "epsilon as charged, RDP",
        "exact epsilon of what was run",
        "multiplier that is enough",
        "times too large",
    ]
    return "\n".join(table(head, [_row(printed) for printed in PRINTED]))


def _row(row: PrintedTreeNoise) -> list[str]:
    facts = [row.source, f"{row.clients:,}", f"{row.per_round:,}", str(row.rounds), str(row.charged_epochs)]
    columns = zip(*(_numbers(row, *one) for one in zip(row.claimed, row.multipliers, strict=True)), strict=True)
    return [*facts, *(" / ".join(column) for column in columns)]


def _numbers(row: PrintedTreeNoise, claimed: float, printed: str) -> list[str]:
    as_charged = epsilon(noise_multiplier=float(printed) / row.charged, delta=DELTA, rounds=1, accountant="rdp")
    as_run = epsilon(noise_multiplier=float(printed) / row.run, delta=DELTA, rounds=1)
    enough = row.run * noise_multiplier(epsilon=claimed, delta=DELTA, rounds=1)
    shown = [f"{as_charged:.3f}", f"{as_run:.3f}", f"{enough:.3f}", f"{float(printed) / enough:.2f}"]
    return [f"{claimed:g}", printed, *shown]


if __name__ == "__main__":
    print(published_table())
