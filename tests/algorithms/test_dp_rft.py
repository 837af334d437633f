"""DP-RFT's votes: right, moved by one client by the clip at most, none for an empty text; all rounds within the budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms import dp_rft as algorithm
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.dp_rft import DpRft
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base
from tests.refusals import refuses

QUIET = conf_base(Privacy, epsilon=1e15, delta=1e-6, noise_seed=0, aggregation="trusted", noise_multiplier=1e-6)
CANDIDATES = np.concatenate([np.eye(3), np.zeros((1, 3))]).astype(np.float32)  # the last is empty


def params(**changes: Any) -> DpRft:
    return conf_base(DpRft, {"rounds": 3, "prompts": 2, "responses": 2, "clip_norm": 2.0, **changes})


def held(*of_clients: list[int]) -> PrivateSamples:
    unit = np.repeat(np.arange(len(of_clients)), [len(one) for one in of_clients])
    return PrivateSamples.of_one_class(CANDIDATES[[one for client in of_clients for one in client]], unit)


def released(samples: PrivateSamples, **changes: Any) -> np.ndarray:
    query = algorithm.planned_query(params(**changes), QUIET, len(samples.enrolled), 1)
    ledger = Ledger(declaration=QUIET, population=len(samples.enrolled))
    federation = Simulated(samples, new_noise_key(0))
    votes, charged = algorithm.noised_votes(query, federation, CANDIDATES, params(**changes), ledger)
    assert [(one.name, one.round) for one in charged.releases] == [("dp_rft.votes", 1)]
    return votes


def test_votes_are_the_sum_of_clipped_ballots_and_an_empty_candidate_has_none() -> None:
    assert released(held([0, 0, 0], [1], [0, 1])) == pytest.approx([2 + 1, 1 + 1, 0, 0], abs=0.01)


def test_a_sample_votes_for_its_nearest_few() -> None:
    tilted = np.array([[0.8, 0.6, 0.0]], dtype=np.float32)
    samples = PrivateSamples.of_one_class(tilted, np.zeros(1, dtype=np.int64))
    assert released(samples, nearest=2) == pytest.approx([1, 1, 0, 0], abs=0.01)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=2, max_size=5), st.integers(1, 3))
def test_one_client_moves_them_by_the_clip_at_most(clients: list[list[int]], nearest: int) -> None:
    moved = released(held(*clients), nearest=nearest) - released(held(*clients[:-1]), nearest=nearest)
    assert np.linalg.norm(moved) <= 2.0 + 0.01


@pytest.mark.parametrize("adjacency", ["zero_out", "replace_one"])
def test_the_votes_of_all_rounds_spend_the_budget(adjacency: str) -> None:
    declared = conf_base(Privacy, epsilon=2.0, delta=1e-4, noise_seed=0, adjacency=adjacency)
    ledger = algorithm.planned_ledger(500, params(), declared)
    assert [one.round for one in ledger.planned or ()] == [1, 2, 3]
    assert ledger.model_copy(update={"releases": ledger.planned}).spent() == pytest.approx(2.0, rel=1e-6)


def test_less_noise_than_the_budget_wants_is_refused() -> None:
    with refuses("budget-exceeded"):
        algorithm.planned_ledger(500, params(), conf_base(Privacy, epsilon=1.0, delta=1e-4, noise_multiplier=0.5))
