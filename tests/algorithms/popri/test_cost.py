"""Floats and bytes that POPri asks a client to exchange, against the paper's Table 2."""

from __future__ import annotations

import pytest

from fedtext.algorithms.popri.cost import communication
from fedtext.evaluation.cost import PUBLISHED
from fedtext.federation.communication import Cost
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from tests.parameters import conf_base

ALL = conf_base(Privacy, epsilon=1.0, delta=1e-5)


def popri(scoring: str, **more: object) -> Popri:
    given = {"prompt_pool": "random", "oversample": 1.0} if scoring.startswith(("mean_cos", "near")) else {}
    return conf_base(Popri, rounds=20, prompts=1800, responses=10, synthetic_texts=10, scoring=scoring, **given, **more)


@pytest.mark.parametrize("scoring", ["mean_cosine", "mean_cosine_centred", "nearest_histogram"])
def test_ballots_cost_what_the_paper_says(scoring: str) -> None:
    cost = communication(popri(scoring), ALL, 2000, embedding_dim=384)
    published = PUBLISHED[-1]
    assert cost.down_floats == pytest.approx(published.down_floats, rel=0.02)  # 'an approximate 7 million'
    assert cost.up_floats == published.up_floats
    assert cost.exchanges == 20


def test_single_release_sends_nothing_down_and_features_up_once() -> None:
    witness = communication(popri("witness_rff", random_features=1024), ALL, 2000, embedding_dim=384)
    assert (witness.down_floats, witness.up_floats, witness.exchanges) == (0, 1024, 1)
    assert communication(popri("witness_linear"), ALL, 2000, embedding_dim=384).up_floats == 384
    assert communication(popri("mean_embedding"), ALL, 2000, embedding_dim=384).up_floats == 384
    conditional = communication(popri("mean_embedding", labels=("a", "b")), ALL, 2000, embedding_dim=384)
    assert conditional.up_floats == 2 * 385


def test_bytes_are_of_the_whole_run() -> None:
    cost = Cost.of("POPri", communication(popri("mean_cosine"), ALL, 2000, embedding_dim=384))
    assert cost.down_bytes == 18_000 * 384 * 20 * 4
    assert cost.up_bytes == 18_000 * 20 * 8


def test_a_client_of_a_sample_is_asked_less_often():
    sampled = ALL.model_copy(update={"sampling": "poisson", "clients_per_round": 250})
    cost = communication(popri("mean_cosine"), sampled, 2000, embedding_dim=384)
    assert cost.exchanges == 20 * 250 / 2000
    whole = communication(popri("mean_cosine"), ALL, 2000, embedding_dim=384)
    assert cost.exchanges == pytest.approx(whole.exchanges / 8)
