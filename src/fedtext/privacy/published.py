"""POPri's printed noise multipliers, and what they cost exactly: `python -m fedtext.privacy.published`."""

from __future__ import annotations

from dataclasses import dataclass

from fedtext.params.privacy import Adjacency, Sampling
from fedtext.privacy.accounting import Accountant, epsilon
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.wording import table


@dataclass(frozen=True)
class PrintedNoise:
    """One row of a paper's table: `multipliers` are those printed for the epsilons of `claimed`, in that order."""

    source: str
    clients: int
    per_round: int
    claimed: tuple[float, ...]
    multipliers: tuple[str, ...]
    rounds: int = 20
    delta: float = 3e-6

    @property
    def rate(self) -> float:
        """Share of the clients asked in one round."""
        return self.per_round / self.clients


V1 = "v1, Table 3"
ICML = "ICML, Table 3"
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


def published_table() -> str:
    """Markdown: each printed multiplier, its epsilon by the accountant used, its exact cost, and what is enough."""
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


if __name__ == "__main__":
    print(published_table())
