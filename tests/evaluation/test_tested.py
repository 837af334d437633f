"""Which test clients are asked, with which samples, under which promise."""

from __future__ import annotations

import numpy as np
import pytest

from fedtext.evaluation.tested import (
    FEATURES,
    Asked,
    evaluation_ledger,
    samples_of_each,
    spread_over_own,
)
from fedtext.federation.blocks import Block
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.secure_sum import answer
from fedtext.federation.units import unit_codes
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

PRIVACY = conf_base(
    Privacy, epsilon=2.0, delta=1e-5, noise_seed=1, sampling="poisson", clients_per_round=5, aggregation="trusted"
)
TWO = (Asked(FEATURES, 2, 1.0), Asked("evaluation.popri.accuracy", 9, 13.4))


def test_whose_samples_are_chosen_depends_on_their_owner_alone() -> None:
    rng = np.random.default_rng(0)
    unit = rng.permutation(np.repeat(np.arange(40), np.arange(40) % 9 + 1))
    for most in (1, 3, 100):
        kept = spread_over_own(unit, most)
        assert np.array_equal(np.bincount(unit[kept]), np.minimum(np.bincount(unit), most))
        there = np.flatnonzero(unit % 4 != 1)
        alone = there[spread_over_own(unit[there], most)]
        assert np.array_equal(alone, kept[unit[kept] % 4 != 1])


def test_samples_are_spread_over_what_a_client_holds() -> None:
    assert spread_over_own(np.zeros(10, dtype=np.int64), 3).tolist() == [0, 4, 7]
    assert samples_of_each(conf_base(Evaluation, max_eval_samples=2000), 484) == 4
    assert samples_of_each(conf_base(Evaluation, max_eval_samples=20), 484) == 1


def test_the_ledger_is_the_test_clients_own_and_asks_all_of_them() -> None:
    ledger = evaluation_ledger(PRIVACY, conf_base(Evaluation, epsilon=0.5), 300, TWO)
    assert (ledger.part, ledger.population, ledger.declaration.epsilon) == ("test", 300, 0.5)
    assert ledger.declaration.sampling == "full"
    assert [plan.name for plan in ledger.planned] == [asked.name for asked in TWO]
    assert [plan.sensitivity for plan in ledger.planned] == [pytest.approx(one.clip_norm, rel=1e-3) for one in TWO]
    both = ledger.charge(ledger.planned[0]).charge(ledger.planned[1])
    assert 0.499 < both.spent() <= 0.5 * (1 + 1e-9)
    alone = evaluation_ledger(PRIVACY, conf_base(Evaluation), 300, TWO[1:])
    assert alone.charge(alone.planned[0]).spent() == pytest.approx(2.0, rel=1e-6)


def test_no_test_client_is_an_error_with_a_remedy() -> None:
    with pytest.raises(ValueError, match=r"raise partition.test_share"):
        evaluation_ledger(PRIVACY, conf_base(Evaluation), 0, TWO)


def test_a_release_is_charged_at_its_planned_noise_and_asks_silent_clients_too() -> None:
    ledger = evaluation_ledger(PRIVACY, conf_base(Evaluation, epsilon=1e5), 30, TWO)
    unit = unit_codes([f"c{i // 2}" for i in range(20)])
    block = Block(np.unique(unit), np.ones((10, 2)) / 2)
    held = PrivateSamples.of_one_class(np.zeros((20, 0)), unit)
    total, charged = answer(TWO[0].query_of(ledger), lambda _: [block], held, ledger, new_noise_key(1))
    assert total == pytest.approx([5, 5], abs=0.1)
    assert charged.releases == ledger.planned[:1]


@pytest.mark.parametrize(
    ("corpus", "asked", "priced", "control"),
    [
        (conf_base(Corpus), {}, False, True),
        (conf_base(Corpus, source="table", path="x.csv"), {}, True, False),
        (conf_base(Corpus, source="table", path="x.csv", declared_public=True), {}, False, True),
        (conf_base(Corpus, source="table", path="x.csv"), {"priced": False, "private_control": True}, False, True),
        (conf_base(Corpus), {"priced": True, "private_control": False}, True, False),
    ],
)
def test_private_text_is_priced_and_has_no_unprotected_control_unless_asked(corpus, asked, priced, control) -> None:
    evaluation = conf_base(Evaluation, asked)
    assert (evaluation.is_priced(corpus), evaluation.has_private_control(corpus)) == (priced, control)
