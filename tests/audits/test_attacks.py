"""Some of the attacks: the code as it is keeps its claims, and planted faults are seen. All are `make audit`'s."""

from __future__ import annotations

import pytest

from audits.attacks import Attack, run_attack
from audits.plan import HARM, faulty, sound
from audits.statistics import ALPHA

NOTHING_LEAVES = {"zero_shot"}


def test_every_algorithm_and_every_neighbour_is_attacked() -> None:
    from audits.attacks import FAULTS, NEIGHBOURS
    from fedtext.wiring.config import active_parameters

    entries = active_parameters()["compare"]["entries"].values()
    assert {one.job for one in sound()} == {entry["algorithm"] for entry in entries} - NOTHING_LEAVES
    assert {one.neighbour for one in sound()} == set(NEIGHBOURS)
    assert {one.fault for one in faulty()} == set(FAULTS) - {"none"} == set(HARM)
    assert ALPHA <= 1e-3


@pytest.mark.sampled(only=("popri",))
@pytest.mark.parametrize("name", ["popri", "dpprefsyn", "dp_fedavg"])
def test_the_claim_survives_and_little_of_it_is_spare(name: str) -> None:
    found = run_attack(Attack(name, "first removed", "none", 6))
    assert found.holds
    assert found.claim == pytest.approx(1.0)
    assert found.bounds.best > 0.7


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("name", "neighbour", "fault"),
    [
        ("popri", "first removed", "15% too little noise"),
        ("popri by ballots", "middle removed", "unclipped"),
        ("dpprefsyn", "middle removed", "unclipped"),
        ("dp_fedavg", "middle removed", "unclipped"),
        ("dp_fedavg", "first removed", "seeded by rank"),
        # At every commit: company by tests/neighbours, what is uncharged by the ledger's tests, less noise by POPri's.
        pytest.param("popri", "first removed", "last release uncharged", marks=pytest.mark.slow),
        pytest.param("popri", "first removed", "embedded by batch statistics", marks=pytest.mark.slow),
        pytest.param("dpprefsyn", "first removed", "15% too little noise", marks=pytest.mark.slow),
        pytest.param("flexible", "first removed", "one noise for all silos", marks=pytest.mark.slow),  # a minute
    ],
)
def test_a_planted_fault_passes_its_claim(name: str, neighbour: str, fault: str) -> None:
    assert not run_attack(Attack(name, neighbour, fault, {"popri": 20, "dpprefsyn": 20}.get(name, 3))).holds
