"""Topics: their keywords, and the counts: right, moved by one client by the clip at most, and by nobody else."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms.ctcl import plan, topics
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.algorithms.ctcl.examples import LAND, SEA, ctcl
from tests.parameters import conf_base
from tests.refusals import refuses

QUIET = conf_base(Privacy, epsilon=1e15, delta=1e-6, noise_seed=0, aggregation="trusted", noise_multiplier=1e-6)
CENTRES = np.eye(3, dtype=np.float32)
COUNTED = ctcl(topics=3, topic_clip=2.0)


def held(*of_clients: list[int]) -> PrivateSamples:
    """Make clients with a sample right on each topic that is named."""
    unit = np.repeat(np.arange(len(of_clients)), [len(one) for one in of_clients])
    return PrivateSamples.of_one_class(CENTRES[list(chain.from_iterable(of_clients))], unit)


def released(samples: PrivateSamples) -> np.ndarray:
    query = plan.topics_query(COUNTED, QUIET, len(samples.enrolled))
    ledger = Ledger(declaration=QUIET, population=len(samples.enrolled))
    counts, charged = topics.noised_counts(query, Simulated(samples, new_noise_key(0)), CENTRES, COUNTED, ledger)
    assert [(one.name, one.non_negative) for one in charged.releases] == [("ctcl.topics", True)]
    return counts


def test_topics_are_clusters_with_their_own_words() -> None:
    embeddings = np.array([[1.0, 0.1, 0]] * 3 + [[0.1, 1.0, 0]] * 3, dtype=np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    table, centres = topics.found_topics([*SEA, *LAND], embeddings, ctcl())
    of_sea, of_land = topics.topic_of(embeddings[[0, 5]], centres)
    assert of_sea != of_land
    assert table["keywords"][of_sea] == "harbour, ship"
    assert table["keywords"][of_land] == "field, farm, wheat"


def test_more_topics_than_texts_are_refused() -> None:
    with refuses("more-topics-than-texts", value=9):
        topics.found_topics(SEA, np.eye(3, dtype=np.float32), ctcl(topics=9))


def test_counts_are_the_sum_of_clipped_counts() -> None:
    assert released(held([0, 0, 0], [1], [0, 1])) == pytest.approx([2 + 1, 1 + 1, 0], abs=0.01)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=2, max_size=5))
def test_one_client_moves_them_by_the_clip_at_most(clients: list[list[int]]) -> None:
    assert np.linalg.norm(released(held(*clients)) - released(held(*clients[:-1]))) <= COUNTED.topic_clip + 0.01
