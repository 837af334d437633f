"""What a run plans: one histogram a round, calibrated noise, declarations that fit a form, and the noise in a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedtext.algorithms.pe.cost import communication
from fedtext.algorithms.pe.histogram import noised_histogram
from fedtext.algorithms.pe.plan import planned_ledger, planned_query
from fedtext.federation.federation import Simulated
from fedtext.federation.mechanism import summed_stddev
from fedtext.params.privacy import Privacy
from fedtext.privacy.calibration import noise_multiplier
from fedtext.privacy.noise import new_noise_key
from tests.algorithms.pe.examples import asked, evolution, ledger
from tests.algorithms.popri.examples import samples, unit_rows
from tests.parameters import conf_base
from tests.refusals import refuses


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-5, **changes})


def test_noise_is_calibrated_to_one_histogram_a_round_whatever_the_clip() -> None:
    for clip_norm in (1.0, 8.0):
        query = planned_query(evolution(clip_norm=clip_norm), privacy(), 500, 1)
        assert query.noise_multiplier == noise_multiplier(epsilon=1.0, delta=1e-5, rounds=3)
        assert not planned_ledger(500, evolution(clip_norm=clip_norm), privacy()).releases


def test_what_is_charged_is_what_the_ledger_was_opened_for() -> None:
    held, texts, label = samples(1, clients=36), unit_rows(2, 12), np.zeros(12, dtype=np.int64)
    book = planned_ledger(36, evolution(clip_norm=3.0), privacy(noise_seed=0))
    for t in (1, 2, 3):
        query = planned_query(evolution(clip_norm=3.0), book.declaration, 36, t)
        _, book = noised_histogram(
            query, Simulated(held, new_noise_key(0)), texts, label, evolution(clip_norm=3.0), book
        )
    assert book.releases == book.planned


def test_votes_need_less_noise_where_one_unit_replaces_another() -> None:
    replaced = planned_query(evolution(), privacy(adjacency="replace_one"), 500, 1)
    assert replaced.non_negative
    signed = noise_multiplier(epsilon=1.0, delta=1e-5, rounds=3, adjacency="replace_one")
    assert replaced.noise_multiplier == pytest.approx(signed / 2**0.5, rel=1e-6)


def test_a_plan_that_overdraws_is_refused_before_anything_is_read() -> None:
    with refuses("budget-exceeded"):
        planned_ledger(500, evolution(), privacy(noise_multiplier=4.0))


@pytest.mark.parametrize(
    ("form", "unit", "aggregation", "fits"),
    [
        ("aug_pe", "record", "trusted", True),
        ("aug_pe", "client", "trusted", False),
        ("aug_pe", "record", "secure", False),
        ("pre_text", "client", "secure", True),
        ("pre_text", "client", "local", True),
        ("pre_text", "record", "secure", True),
        ("pre_text", "client", "trusted", False),
    ],
)
def test_declarations_that_fit_a_form_and_those_that_do_not(form: str, unit: str, aggregation: str, fits: bool) -> None:
    declared = privacy(unit=unit, aggregation=aggregation)
    if fits:
        assert planned_ledger(500, evolution(form=form), declared).population == 500
    else:
        with refuses("needs-a-curator" if form == "aug_pe" else "no-curator", parameter="pe.form", value=form):
            planned_ledger(500, evolution(form=form), declared)


@pytest.mark.parametrize(
    "declared",
    [
        {"aggregation": "secure"},
        {"aggregation": "secure", "honest_fraction": 0.5},
        {"aggregation": "local"},
        {"aggregation": "local", "sampling": "fixed_size", "clients_per_round": 9},
        {"aggregation": "trusted"},
    ],
)
def test_the_threshold_knows_the_noise_that_is_in_a_cell(declared: dict[str, Any]) -> None:
    """Under `local`, and with missing shares declared, the sum carries more noise than the ledger may price."""
    held, texts, label = samples(1, clients=36), unit_rows(2, 300), np.zeros(300, dtype=np.int64)
    drawn = []
    for key in map(new_noise_key, range(4)):
        opened = ledger(len(held.enrolled), **declared)
        scores, charged = noised_histogram(
            asked(evolution(), 50.0), Simulated(held, key), texts, label, evolution(), opened
        )
        drawn.append(scores)
    assert np.std(drawn) == pytest.approx(summed_stddev(charged), rel=0.08)


def test_what_a_client_exchanges() -> None:
    row = communication(evolution(population=1800, rounds=20), privacy(), 1000, embedding_dim=384)
    assert (row.down_floats, row.up_floats, row.exchanges) == (1800 * 384, 1800, 20)  # Table 2: 700,000 and 1,800


def test_parameters_that_leave_nobody_are_refused() -> None:
    with refuses("too-few-survivors"):
        evolution(form="aug_pe", variations=6, population=12, labels=("a", "b"))
    with refuses("spread-of-masked-texts"):
        evolution(variation="mask_filling", length_spread=5.0)
