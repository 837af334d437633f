"""Every noise multiplier the POPri papers print: the epsilon of the accountant that made it, and the exact one."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from benchmarks.printed_noise import PRINTED, PrintedNoise, ballots_table
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.calibration import noise_multiplier

ONE_BY_ONE = [
    pytest.param(row, claimed, printed, id=f"{row.source}-{row.clients}-{row.per_round}-{claimed}")
    for row in PRINTED
    for claimed, printed in zip(row.claimed, row.multipliers, strict=True)
]
DOCUMENT = Path(__file__).parents[2] / "docs" / "experiments" / "printed_noise.md"


def by_rdp(row: PrintedNoise, multiplier: float) -> float:
    return epsilon(
        noise_multiplier=multiplier,
        delta=row.delta,
        rounds=row.rounds,
        sampling="poisson",
        rate=row.rate,
        accountant="rdp",
    )


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(("row", "claimed", "printed"), ONE_BY_ONE)
def test_opacus_rdp_made_the_printed_multiplier(row, claimed, printed) -> None:
    """It keeps the claimed epsilon, and two units less in its last digit would not."""
    last_digit = 10.0 ** -len(printed.partition(".")[2])
    assert 0.93 * claimed < by_rdp(row, float(printed)) <= claimed
    assert by_rdp(row, float(printed) - 2 * last_digit) > claimed


def test_the_sampled_rows_of_icml_fit_fifty_rounds_only() -> None:
    """All three lie within 1% of epsilon 1 at 50 rounds; at the 20 rounds of the text none is above 0.64."""
    rows = [row for row in PRINTED if row.rounds == 50]
    assert len(rows) == 3
    for row in rows:
        at = {
            rounds: by_rdp(PrintedNoise("", row.clients, row.per_round, (), (), rounds), float(row.multipliers[0]))
            for rounds in (20, 48, 50, 51)
        }
        assert at[20] < 0.64
        assert at[48] < 0.99 < at[50] <= 1 < at[51]


EXACT = [  # clients, a round, claimed, printed multiplier, exact epsilon (Poisson), multiplier that is enough
    (10_000, 10_000, 1, 19.3, 0.919, 17.864),
    (10_000, 10_000, 7, 3.35, 6.50, 3.145),
    (10_000, 1_000, 1, 2.5, 0.859, 2.240),
    (10_000, 1_000, 7, 0.82, 5.92, 0.757),
    (72_000, 1_000, 1, 1.14, 0.502, 0.928),
    (72_000, 1_000, 7, 0.52, 5.59, 0.475),
    (10_000, 500, 1, 1.6, 0.826, 1.445),
    (10_000, 500, 7, 0.67, 5.74, 0.616),
    (10_000, 2_000, 1, 4.3, 0.901, 3.942),
    (10_000, 2_000, 7, 1.09, 6.18, 1.014),
    (10_000, 2_500, 1, 5.2, 0.912, 4.805),
    (10_000, 2_500, 7, 1.23, 6.21, 1.141),
    (10_000, 5_000, 1, 9.9, 0.916, 9.149),
    (10_000, 5_000, 7, 1.92, 6.41, 1.796),
    (10_000, 7_500, 1, 14.7, 0.911, 13.505),
    (10_000, 7_500, 7, 2.63, 6.47, 2.468),
    (17_000, 1_000, 1, 1.8, 0.799, 1.578),
    (17_000, 1_000, 7, 0.7, 5.75, 0.643),
    (133_000, 1_000, 1, 1.05, 0.353, 0.808),
    (133_000, 1_000, 7, 0.475, 5.60, 0.434),
]


@pytest.mark.parametrize(("clients", "per_round", "claimed", "printed", "exact", "enough"), EXACT)
def test_what_the_printed_multipliers_cost_exactly(clients, per_round, claimed, printed, exact, enough) -> None:
    declared = {"delta": 3e-6, "rounds": 20, "sampling": "poisson", "rate": per_round / clients}
    assert epsilon(noise_multiplier=printed, **declared) == pytest.approx(exact, abs=0.005 if claimed == 7 else 5e-4)
    assert (
        epsilon(noise_multiplier=enough + 5e-4, **declared)
        < claimed
        < epsilon(noise_multiplier=enough - 6e-4, **declared)
    )


def test_pubmed() -> None:
    """delta 2.72e-6 is 1 / (n log10 n) for its 75,316 training texts; by the natural logarithm it would be 1.18e-6."""
    assert 1 / (75_316 * math.log10(75_316)) == pytest.approx(2.72e-6, rel=1e-3)
    for claimed, printed, exact in ((1, 13.7, 0.921), (4, 3.87, 3.712)):
        assert epsilon(noise_multiplier=printed, delta=2.72e-6, rounds=10) == pytest.approx(exact, abs=5e-4)
        assert epsilon(noise_multiplier=printed, delta=1.18e-6, rounds=10, accountant="rdp") > claimed


@pytest.mark.parametrize(
    ("epsilon_", "delta", "rounds", "sensitivity", "stddev"),
    [
        (1.0, 3e-6, 1, 1.0, 3.9945),  # POPri's single release, any number of rounds
        (2.0, 3.467e-6, 1, 1.0, 2.1052),  # flexible participation: profile
        (6.0, 3.467e-6, 1, math.sqrt(5), 1.7834),  # its five votes
        (6.0, 3.467e-6, 1, math.sqrt(10), 2.5222),  # the same under replace-one: ten votes change places
        (4.0, 1e-5, 4, math.sqrt(8 / 3 * (1 - 4.0**-8)), 3.531),  # WASP: four times eight weighted votes
    ],
)
def test_plain_gaussians_of_the_other_papers(epsilon_, delta, rounds, sensitivity, stddev) -> None:
    found = sensitivity * noise_multiplier(epsilon=epsilon_, delta=delta, rounds=rounds)
    assert found == pytest.approx(stddev, abs=2e-4)


@pytest.mark.slow
def test_the_table_in_the_document_is_what_the_command_prints() -> None:
    assert ballots_table() in DOCUMENT.read_text(encoding="utf-8")
