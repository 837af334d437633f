"""What is said before a run: the remedies are tried by planning the run again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from fedtext.algorithms import dp_sgd_generation
from fedtext.algorithms.dp_fedavg import FederatedAveraging
from fedtext.algorithms.dp_ftrl import FollowTheRegularizedLeader, chosen_factorisation
from fedtext.algorithms.pe import plan as pe
from fedtext.algorithms.popri import plan as popri
from fedtext.federation.mechanism import opened_ledger
from fedtext.params.dp_sgd_generation import DpSgdGeneration
from fedtext.params.federated import DpFedavg, DpFtrl
from fedtext.params.pe import Pe
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.report import privacy_report, render_markdown
from fedtext.privacy.signal import TOLERABLE
from fedtext.privacy.signal_to_noise import drowns, loudest_noise, signal_line
from tests.parameters import conf_base


def declared(epsilon: float = 1.0, **changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": epsilon, "delta": 1e-5, **changes})


def default_release(clients: int, privacy: Privacy) -> Ledger:
    return popri.planned_ledger(clients, conf_base(Popri), privacy, embedding_dim=384)


def votes(clients: int, privacy: Privacy) -> Ledger:
    return pe.planned_ledger(clients, conf_base(Pe), privacy)


def averaging(clients: int, privacy: Privacy) -> Ledger:
    return FederatedAveraging(conf_base(DpFedavg)).planned_ledger(clients, privacy, dim=10_000)


def correlated(clients: int, privacy: Privacy) -> Ledger:
    params = conf_base(DpFtrl)
    training = FollowTheRegularizedLeader(params, chosen_factorisation(params))
    return training.planned_ledger(clients, privacy, dim=10_000)


def ratio(ledger: Ledger) -> float:
    worst = loudest_noise(ledger)
    assert worst is not None
    return worst.ratio / TOLERABLE[worst.use]


def test_68_clients_are_told_before_the_run_that_they_cannot_be_heard() -> None:
    assert signal_line(default_release(68, declared())) == (
        "68 clients at ε = 1: the noise is 2.5 times the most that they can say; 680 clients, or ε = 15, would bring it "
        "to a quarter"
    )
    assert drowns(default_release(68, declared(8.0)))


def test_the_remedy_names_the_population_that_a_user_declares() -> None:
    """Of 90 declared people 68 are trained on, and the others are held out."""
    said = signal_line(default_release(68, declared(population=90)))
    assert said is not None
    assert "; 680 clients (privacy.population=900), or ε = 15, would bring it to a quarter" in said


def test_5012_clients_are_told_how_well_they_are_heard() -> None:
    ledger = default_release(5012, declared())
    assert signal_line(ledger) == "5,012 clients at ε = 1: the noise is 0.034 times the most that they can say"
    assert not drowns(ledger)


@pytest.mark.parametrize("plan", [default_release, votes, averaging, correlated])
def test_the_remedies_are_enough_and_little_less_is_not(plan: Callable[[int, Privacy], Ledger]) -> None:
    said = signal_line(plan(40, declared()))
    assert said is not None
    units = int(re.findall(r"([\d,]+) clients", said)[1].replace(",", ""))
    assert ratio(plan(units, declared())) <= 1
    assert ratio(plan(units * 9 // 10 - 4, declared())) > 1
    for epsilon in map(float, re.findall(r"or ε = ([\d.]+),", said)):
        assert ratio(plan(40, declared(epsilon))) <= 1
        assert ratio(plan(40, declared(0.89 * epsilon))) > 1


def test_steps_on_batches_are_told_with_the_batch_that_goes_with_more_clients() -> None:
    params = conf_base(DpSgdGeneration)
    ledger = dp_sgd_generation.planned_ledger(500, params, declared(), dim=460_800)
    said = signal_line(ledger)
    assert said is not None
    found = re.search(r"; ([\d,]+) clients, ([\d,]+) of them at a time", said)
    assert found is not None
    units, batch = (int(number.replace(",", "")) for number in found.groups())
    assert batch / units == pytest.approx(params.training.batch_size / 500, rel=0.01)
    larger = conf_base(DpSgdGeneration, {"training": {"batch_size": batch}})
    assert ratio(dp_sgd_generation.planned_ledger(units, larger, declared(), dim=460_800)) <= 1.02


def test_under_local_noise_the_line_names_secure_aggregation_and_what_it_would_do() -> None:
    local, secure = (default_release(5000, declared(aggregation=trust)) for trust in ("local", "secure"))
    said = signal_line(local)
    assert said is not None
    assert drowns(local)
    worst = loudest_noise(secure)
    assert worst is not None
    assert said.endswith(f"; privacy.aggregation=secure would make it {worst.ratio:.2g}")


def test_noise_that_a_paper_printed_is_told_as_such() -> None:
    said = signal_line(default_release(68, declared(noise_multiplier=3.8)))
    assert said is not None
    assert said.startswith("68 clients at the declared noise: the noise is 2.5 times")


def test_where_nothing_is_released_nothing_is_said() -> None:
    ledger = opened_ledger([], declared(), 500)
    assert ledger.signals == ()
    assert signal_line(ledger) is None
    assert "Signal and noise" not in render_markdown(privacy_report(ledger))


def test_the_privacy_report_has_a_row_for_each_name() -> None:
    report = privacy_report(votes(68, declared()))
    assert [row["release"] for row in report["signals"]] == ["pe.histogram"]
    text = render_markdown(report)
    assert "## Signal and noise" in text
    assert "| pe.histogram | votes | 68 |" in text
