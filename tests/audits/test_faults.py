"""Every planted fault is seen; in a file of its own, so that two workers share the longest hour of the night."""

from __future__ import annotations

import pytest

from audits.attacks import Attack, run_attack
from audits.plan import faulty


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("attack", faulty(), ids=str)
def test_every_planted_fault_passes_its_claim(attack: Attack) -> None:
    assert not run_attack(attack).holds
