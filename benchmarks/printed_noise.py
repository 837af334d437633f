"""The noise multipliers that POPri's papers print, and their exact privacy cost: the two tables of docs/experiments/printed_noise.md.

    python -m benchmarks.printed_noise              # of POPri's own releases
    python -m benchmarks.printed_noise --dp-ftrl    # of the baseline DP-FTRL

DP-FTRL's multipliers of v1's Table 3 are those of the accounting in DP-FTRL's released code for a tree that restarts
every epoch of n / L rounds, with 20 EPOCHS, in each of which a client takes part once: one Gaussian whose squared
sensitivity is 20 (floor(log2(n / L)) + 1) clip norms. But 20 ROUNDS were run, which are 20 L / n epochs.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.accounting import Accountant, epsilon
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.matrix_mechanism import prefix_sums, tree
from fedtext.privacy.wording import table

DELTA = 3e-6
V1, ICML = "v1, Table 3", "ICML, Table 3"


@dataclass(frozen=True)
class PrintedNoise:
    """One row of a paper's table: `multipliers` are those printed for the epsilons of `claimed`, in that order."""

    source: str
    clients: int
    per_round: int
    claimed: tuple[float, ...]
    multipliers: tuple[str, ...]
    rounds: int = 20
    delta: float = DELTA

    @property
    def rate(self) -> float:
        """Share of the clients sampled in one round."""
        return self.per_round / self.clients


PUBMED = "App. B.1, PubMed"
PRINTED = (
    PrintedNoise(V1, 10_000, 500, (7.0, 1.0), ("0.67", "1.6")),
    PrintedNoise(V1, 10_000, 1_000, (7.0, 1.0), ("0.82", "2.5")),
    PrintedNoise(V1, 10_000, 2_000, (7.0, 1.0), ("1.09", "4.3")),
    PrintedNoise(V1, 10_000, 2_500, (7.0, 1.0), ("1.23", "5.2")),
    PrintedNoise(V1, 10_000, 5_000, (7.0, 1.0), ("1.92", "9.9")),
    PrintedNoise(V1, 10_000, 7_500, (7.0, 1.0), ("2.63", "14.7")),
    PrintedNoise(V1, 10_000, 10_000, (7.0, 1.0), ("3.35", "19.3")),
    PrintedNoise(V1, 1_000, 1_000, (7.0, 1.0), ("3.35", "19.3")),
    PrintedNoise(V1, 2_000, 1_000, (7.0, 1.0), ("1.92", "9.9")),
    PrintedNoise(V1, 4_000, 1_000, (7.0, 1.0), ("1.23", "5.2")),
    PrintedNoise(V1, 17_000, 1_000, (7.0, 1.0), ("0.7", "1.8")),
    PrintedNoise(V1, 72_000, 1_000, (7.0, 1.0), ("0.52", "1.14")),
    PrintedNoise(V1, 133_000, 1_000, (7.0, 1.0), ("0.475", "1.05")),
    PrintedNoise(V1, 72_000, 72_000, (7.0, 1.0), ("3.35", "19.3")),
    PrintedNoise(V1, 133_000, 133_000, (7.0, 1.0), ("3.35", "19.3")),
    # The first of the two numbers in these rows; the second is DP-FTRL's. They fit 50 rounds and no other number.
    PrintedNoise(ICML, 10_000, 1_000, (1.0,), ("3.4",), rounds=50),
    PrintedNoise(ICML, 10_000, 5_000, (1.0,), ("15.5",), rounds=50),
    PrintedNoise(ICML, 10_000, 10_000, (1.0,), ("30.6",), rounds=50),
    PrintedNoise(ICML, 72_000, 72_000, (7.0, 1.0), ("3.35", "19.3")),
    PrintedNoise(ICML, 133_000, 133_000, (7.0, 1.0), ("3.35", "19.3")),
    # 'Aug-PE ... (1, 2.72 10^-6) or (4, 2.72 10^-6)'; delta is 1 / (n log10 n) of the 75,316 training texts.
    PrintedNoise(PUBMED, 75_316, 75_316, (4.0, 1.0), ("3.87", "13.7"), rounds=10, delta=2.72e-6),
)


def ballots_table() -> str:
    """Return Markdown: each printed multiplier, its epsilon by its own accountant, its exact cost, and enough noise."""
    head = [
        "source",
        "clients",
        "a round",
        "rounds",
        "claimed epsilon",
        "printed multiplier",
        "epsilon, RDP",
        "exact, Poisson",
        "fixed size, zero_out",
        "fixed size, replace_one",
        "multiplier that is enough",
    ]
    return "\n".join(table(head, [_row(printed) for printed in PRINTED]))


def _row(printed: PrintedNoise) -> list[str]:
    columns = zip(
        *(_numbers(printed, *one) for one in zip(printed.claimed, printed.multipliers, strict=True)), strict=True
    )
    facts = [printed.source, f"{printed.clients:,}", f"{printed.per_round:,}", str(printed.rounds)]
    return [*facts, *(" / ".join(column) for column in columns)]


def _numbers(printed: PrintedNoise, claimed: float, multiplier: str) -> list[str]:
    def cost(sampling: Sampling, adjacency: Adjacency = "zero_out", accountant: Accountant = "pld") -> str:
        value = epsilon(
            noise_multiplier=float(multiplier),
            delta=printed.delta,
            rounds=printed.rounds,
            adjacency=adjacency,
            sampling=sampling,
            rate=printed.rate,
            accountant=accountant,
        )
        return f"{value:.3g}"

    enough = noise_multiplier(
        epsilon=claimed, delta=printed.delta, rounds=printed.rounds, sampling="poisson", rate=printed.rate
    )
    costs = [cost("poisson", accountant="rdp"), cost("poisson")]
    costs += [cost("fixed_size"), cost("fixed_size", "replace_one")]
    return [f"{claimed:g}", multiplier, *costs, f"{enough:.3f}"]


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


TREES_OF_V1 = (
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
PRINTED_TREES = (
    *(PrintedTreeNoise(V1, n, per_round, (7.0, 1.0), printed, 20) for n, per_round, printed in TREES_OF_V1),
    # The second of the two numbers in these rows. Here the epochs are those of 50 rounds: the slip is gone.
    PrintedTreeNoise(ICML, 10_000, 1_000, (1.0,), ("19.5",), 5, 50),
    PrintedTreeNoise(ICML, 10_000, 5_000, (1.0,), ("30.8",), 25, 50),
    PrintedTreeNoise(ICML, 10_000, 10_000, (1.0,), ("30.8",), 50, 50),
)


def trees_table() -> str:
    """Return Markdown: each printed multiplier, its epsilon as claimed and as run, and a sufficient one."""
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
    return "\n".join(table(head, [_tree_row(printed) for printed in PRINTED_TREES]))


def _tree_row(row: PrintedTreeNoise) -> list[str]:
    facts = [row.source, f"{row.clients:,}", f"{row.per_round:,}", str(row.rounds), str(row.charged_epochs)]
    columns = zip(*(_tree_numbers(row, *one) for one in zip(row.claimed, row.multipliers, strict=True)), strict=True)
    return [*facts, *(" / ".join(column) for column in columns)]


def _tree_numbers(row: PrintedTreeNoise, claimed: float, printed: str) -> list[str]:
    as_charged = epsilon(noise_multiplier=float(printed) / row.charged, delta=DELTA, rounds=1, accountant="rdp")
    as_run = epsilon(noise_multiplier=float(printed) / row.run, delta=DELTA, rounds=1)
    enough = row.run * noise_multiplier(epsilon=claimed, delta=DELTA, rounds=1)
    shown = [f"{as_charged:.3f}", f"{as_run:.3f}", f"{enough:.3f}", f"{float(printed) / enough:.2f}"]
    return [f"{claimed:g}", printed, *shown]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dp-ftrl", action="store_true", help="DP-FTRL's multipliers instead of POPri's")
    print(trees_table() if parser.parse_args().dp_ftrl else ballots_table())


if __name__ == "__main__":
    main()
