"""DP-FT: halves that follow from a unit alone, a price that is the dearer half's, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fedtext.algorithms.dp_ft import HALVES, half_size, in_halves, of_first_rows, planned_ledger, planned_query
from fedtext.federation.private_samples import PrivateSamples, samples_of, taking_part
from fedtext.federation.units import unit_codes
from fedtext.params.dp_ft import DpFt
from fedtext.params.privacy import Privacy
from fedtext.privacy.accounting import SampledGaussian, composed_epsilon
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.report import PAIR, final_report
from fedtext.system.errors import InputError
from fedtext.training.dp_sgd import steps_of
from tests.parameters import conf_base
from tests.refusals import refuses

UNITS, DIM = 400, 64


def opened(form: str = "private", **privacy: Any) -> Ledger:
    return planned_ledger(UNITS, conf_base(DpFt, form=form), declared(**privacy), dim=DIM)


def declared(**changes: Any) -> Privacy:
    given = {"epsilon": 2.0, "delta": 1e-5, "unit": "client", "aggregation": "trusted", **changes}
    return conf_base(Privacy, **given)


def held(units: int = UNITS) -> PrivateSamples:
    codes = np.repeat(unit_codes([f"person {i}" for i in range(units)]), 2)
    return in_halves(PrivateSamples.of_one_class(np.zeros((2 * units, 4), dtype=np.int32), codes))


def charged(ledger: Ledger, *stages: str) -> Ledger:
    for release in ledger.planned or ():
        if release.name.rpartition(".")[2] in stages:
            ledger = ledger.charge(release)
    return ledger


def test_both_trainings_cost_what_the_dearer_one_does_and_not_their_sum() -> None:
    ledger = opened()
    each = [charged(ledger, stage).spent() for stage in ("sft", "dpo")]
    assert all(1.9 < spent <= 2.0 + 1e-9 for spent in each)
    assert charged(ledger, "sft", "dpo").spent() == pytest.approx(max(each))


@pytest.mark.parametrize(("unit", "whole"), [("client", "everything it holds"), ("record", "the one pair that it is")])
def test_the_report_names_those_who_are_there_and_not_the_declared_halves_together(unit: str, whole: str) -> None:
    ledger = charged(opened(unit=unit), "sft", "dpo")
    assert ledger.population == 2 * half_size(UNITS) > UNITS
    report, text = final_report(ledger, (), record=PAIR)
    assert report["population"] == UNITS
    assert f"every single {unit} among {UNITS} of 2 parties, with {whole}" in text
    assert "span of text" not in text


def test_a_training_costs_what_its_own_loss_distribution_says() -> None:
    ledger, params = opened(), conf_base(DpFt)
    for release, training in zip(ledger.planned or (), (params.sft, params.dpo), strict=True):
        size = half_size(UNITS)
        alone = SampledGaussian("poisson", training.batch_size / size, release.sensitivity / release.noise_stddev,
                                steps_of(training, size))  # fmt: skip
        found = composed_epsilon([alone], delta=1e-5, adjacency="zero_out")
        assert charged(ledger, release.name.rpartition(".")[2]).spent() == pytest.approx(found, rel=1e-6)


def test_a_unit_s_half_follows_from_the_unit_alone_and_halves_are_even() -> None:
    every, some = held(), held(50)
    of_every = dict(zip(every.unit.tolist(), every.holder.tolist(), strict=True))  # type: ignore[union-attr]
    assert all(of_every[u] == h for u, h in zip(some.unit.tolist(), some.holder.tolist(), strict=True))  # type: ignore[union-attr]
    sizes = np.unique(list(of_every.values()), return_counts=True)[1]
    assert len(sizes) == 2
    assert abs(sizes[0] - UNITS / 2) < 3.5 * math.sqrt(UNITS) / 2
    assert sizes.max() <= half_size(UNITS)


def test_each_training_reads_its_half_and_no_unit_is_in_both() -> None:
    ledger, samples = opened(), held()
    parts = [samples_of(samples, ledger, taking_part(ledger, (name,))) for name in HALVES.values()]
    units = [set(part.unit.tolist()) for part in parts]
    assert not units[0] & units[1]
    assert units[0] | units[1] == set(samples.unit.tolist())


@pytest.mark.parametrize("population", [2, 60, 10_000])
def test_a_half_is_declared_large_enough_and_never_larger_than_all(population: int) -> None:
    assert population / 2 <= half_size(population) <= population
    if population == 10_000:
        assert half_size(population) == 5300


def test_sft_alone_pays_once_and_the_unprotected_form_says_so() -> None:
    assert [release.name for release in opened("sft").planned or ()] == ["dp_ft.sft"]
    bound = opened("unprotected")
    assert bound.planned == ()
    assert bound.planned_unaccounted


def test_the_first_rows_are_the_chosen_answers() -> None:
    rows = np.arange(12, dtype=np.int32).reshape(2, 6)
    assert of_first_rows(PrivateSamples.of_one_class(rows, np.arange(2))).features.tolist() == [[0, 1, 2], [6, 7, 8]]


def test_who_may_change_halves_or_adds_noise_in_shares_is_refused() -> None:
    with refuses("replaced-pair-changes-halves"):
        opened(unit="record", adjacency="replace_one")
    with refuses("halves-need-a-curator"):
        opened(aggregation="secure")
    opened(unit="client", adjacency="replace_one")  # a client keeps its id, and with it its half


def test_a_batch_larger_than_a_half_is_refused() -> None:
    with pytest.raises(InputError):
        planned_query("sft", conf_base(DpFt, sft={"batch_size": 390}), declared(), UNITS, dim=DIM)
