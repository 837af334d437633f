"""What several runs cost together: composition, one release counted once, and no price where there is none."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.params.privacy import Privacy
from fedtext.privacy.composition import compose_runs
from fedtext.privacy.dominating_pairs import gaussian_epsilon
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.report import privacy_report
from tests.parameters import conf_base
from tests.privacy.histories import ledger, party, release

DECLARED = conf_base(Privacy, epsilon=1.0, delta=1e-5)


def report(multiplier: float = 4.0, rounds: int = 1, **changed: Any) -> dict[str, Any]:
    declaration = DECLARED.model_copy(update={"epsilon": 100.0, **changed})
    releases = tuple(
        Release(name="scores", round=t, mechanism="discrete Gaussian", sensitivity=1.0, noise_stddev=multiplier)
        for t in range(rounds)
    )
    return privacy_report(Ledger(declaration=declaration, population=2000, releases=releases))


def test_gaussians_of_different_runs_add_up_in_squares() -> None:
    price = compose_runs([report(4.0), report(3.0, rounds=2)], [["a"], ["b", "c"]], DECLARED)
    shift = (1 / 16 + 2 / 9) ** 0.5
    assert price == {"epsilon": pytest.approx(gaussian_epsilon(shift, 1e-5), rel=1e-6), "reason": None, "runs": 2}


def test_the_same_release_counts_once_and_an_unknown_one_always() -> None:
    alone = compose_runs([report()], [["a"]], DECLARED)["epsilon"]
    assert compose_runs([report(), report()], [["a"], ["a"]], DECLARED)["epsilon"] == alone
    assert compose_runs([report(), report()], [["a"], ["b"]], DECLARED)["epsilon"] > alone
    assert compose_runs([report(), report()], [[], []], DECLARED)["runs"] == 2


def test_a_run_that_released_nothing_is_no_set_of_releases() -> None:
    nothing = report(rounds=0)
    assert compose_runs([nothing, nothing], [[], []], DECLARED) == {"epsilon": 0.0, "reason": None, "runs": 0}
    alone = compose_runs([report()], [["a"]], DECLARED)
    assert compose_runs([report(), nothing], [["a"], []], DECLARED) == alone


def test_no_price_without_a_mechanism_or_a_common_declaration() -> None:
    unaccounted = {**report(), "unaccounted": [{"name": "fid", "reason": "read"}]}
    assert "without a mechanism" in compose_runs([report(), unaccounted], [["a"], ["b"]], DECLARED)["reason"]
    other = compose_runs([report(), report(delta=1e-6)], [["a"], ["b"]], DECLARED)
    assert other["epsilon"] is None
    assert "different deltas" in other["reason"]


def of_silos(*by: tuple[str, ...] | None, names: str = "ab", rule: str = "") -> dict[str, Any]:
    parties = tuple(party(name, budget=100.0) for name in names)
    made = tuple(release(4.0, name="scores", round=t, parties=own) for t, own in enumerate(by))
    return privacy_report(
        ledger(parties=parties, releases=made, epsilon=100.0).model_copy(update={"partition_rule": rule})
    )


def test_releases_of_other_parties_are_parallel_if_both_runs_divide_the_units_alike() -> None:
    def both(*reports: dict[str, Any]) -> float:
        return compose_runs(reports, [["a"], ["b"]], DECLARED)["epsilon"]

    one, two = gaussian_epsilon(1 / 4, 1e-5), gaussian_epsilon(2**0.5 / 4, 1e-5)
    assert both(of_silos(("a",)), of_silos(("b",))) == pytest.approx(one, rel=1e-6)
    assert both(of_silos(("a",)), of_silos(("a", "b"))) == pytest.approx(two, rel=1e-6)
    assert both(of_silos(("a",)), of_silos(("b",), names="bc")) == pytest.approx(two, rel=1e-6)
    assert both(of_silos(("a",)), report()) == pytest.approx(two, rel=1e-6)
    assert both(of_silos(("a",), rule="0"), of_silos(("b",), rule="0")) == pytest.approx(one, rel=1e-6)
    assert both(of_silos(("a",), rule="0"), of_silos(("b",), rule="1")) == pytest.approx(two, rel=1e-6)
