"""The accountant's face: what it refuses, how epsilon moves, and how it stands beside Opacus' two accountants."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedtext.privacy.accountant import epsilon

POPRI = {"noise_multiplier": 2.5, "delta": 3e-6, "rounds": 20}
SAMPLED = {**POPRI, "sampling": "poisson", "rate": 0.1}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier is 0.0.*positive"),
        ({"noise_multiplier": -1.0}, "noise_multiplier is -1.0.*positive"),
        ({"noise_multiplier": float("nan")}, "noise_multiplier is nan.*positive"),
        ({"noise_multiplier": float("inf")}, "noise_multiplier is inf.*finite"),
        ({"delta": 0.0}, "delta is 0.0.*between 0 and 1"),
        ({"delta": 1.0}, "delta is 1.0.*between 0 and 1"),
        ({"delta": float("nan")}, "delta is nan"),
        ({"rounds": 0}, "rounds is 0.*at least 1"),
        ({"rounds": 2.5}, "rounds is 2.5.*whole"),
        ({"rounds": True}, "rounds is True"),
        ({"adjacency": "swap"}, "adjacency is 'swap'.*zero_out, add_remove, replace_one"),
        ({"sampling": "shuffle"}, "sampling is 'shuffle'.*full, poisson, fixed_size"),
        ({"sampling": "poisson", "rate": 0.0}, r"rate is 0.0.*\(0, 1\]"),
        ({"sampling": "poisson", "rate": 1.1}, r"rate is 1.1.*\(0, 1\]"),
        ({"sampling": "fixed_size", "rate": float("nan")}, "rate is nan"),
        ({"rate": 0.5}, "rate is 0.5 with sampling 'full'"),
        ({"accountant": "moments"}, "accountant is 'moments'.*pld, rdp$"),
        ({"sampling": "fixed_size", "rate": 0.1, "adjacency": "add_remove"}, "'fixed_size' and adjacency 'add_remove'"),
        ({"sampling": "fixed_size", "rate": 0.1, "accountant": "rdp"}, "accountant is 'rdp'.*'fixed_size'"),
        ({"sampling": "poisson", "rate": 0.1, "adjacency": "replace_one", "accountant": "rdp"}, "under 'replace_one'"),
    ],
)
def test_what_cannot_be_priced_is_refused_by_name_and_value(changed, message) -> None:
    with pytest.raises(ValueError, match=message):
        epsilon(**{**POPRI, **changed})


def test_arguments_are_named() -> None:
    with pytest.raises(TypeError):
        epsilon(2.5, 3e-6, 20)  # type: ignore[misc]


@settings(max_examples=12)
@given(
    multiplier=st.floats(0.6, 30),
    rounds=st.integers(1, 40),
    rate=st.floats(0.01, 1),
    sampling=st.sampled_from(["poisson", "fixed_size"]),
    adjacency=st.sampled_from(["zero_out", "replace_one"]),
)
def test_epsilon_grows_with_rounds_and_falls_with_noise(multiplier, rounds, rate, sampling, adjacency) -> None:
    def cost(noise: float, rounds: int, rate: float = rate) -> float:
        return epsilon(
            noise_multiplier=noise, delta=1e-5, rounds=rounds, adjacency=adjacency, sampling=sampling, rate=rate
        )

    here, slack = cost(multiplier, rounds), 1e-5
    assert cost(multiplier, 2 * rounds) > here
    assert cost(multiplier * 1.1, rounds) < here + slack
    assert cost(multiplier, rounds, rate=rate / 2) < here + slack
    everyone = epsilon(noise_multiplier=multiplier, delta=1e-5, rounds=rounds, adjacency=adjacency)
    assert here <= everyone + slack


def test_rounds_without_sampling_are_one_release_of_less_noise() -> None:
    together = epsilon(**POPRI)
    assert together == pytest.approx(epsilon(noise_multiplier=2.5 / 20**0.5, delta=3e-6, rounds=1), rel=1e-12)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_replace_one_doubles_the_norm_without_sampling(accountant) -> None:
    doubled = epsilon(noise_multiplier=20.0, delta=3e-6, rounds=20, adjacency="replace_one", accountant=accountant)
    assert doubled == pytest.approx(epsilon(noise_multiplier=10.0, delta=3e-6, rounds=20, accountant=accountant))


def test_adjacencies_and_samplings_in_order() -> None:
    cost = {
        (sampling, adjacency): epsilon(**POPRI, sampling=sampling, rate=0.1, adjacency=adjacency)
        for sampling, adjacency in [
            ("poisson", "zero_out"),
            ("poisson", "add_remove"),
            ("poisson", "replace_one"),
            ("fixed_size", "zero_out"),
            ("fixed_size", "replace_one"),
        ]
    }
    assert cost["poisson", "zero_out"] == cost["poisson", "add_remove"] == pytest.approx(0.8588, abs=1e-4)
    assert cost["poisson", "replace_one"] == pytest.approx(1.4947, abs=1e-4)
    assert cost["fixed_size", "zero_out"] == pytest.approx(1.6078, abs=1e-4)
    assert cost["fixed_size", "replace_one"] == pytest.approx(2.6722, abs=1e-4)


def by_opacus(kind: str, multiplier: float, *, rate: float, rounds: int = 20, delta: float = 3e-6) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accountant = getattr(pytest.importorskip("opacus.accountants"), kind)()
        accountant.history = [(multiplier, rate, rounds)]
        return float(accountant.get_epsilon(delta))


@pytest.mark.parametrize(
    ("multiplier", "rate"), [(0.82, 0.1), (1.23, 0.25), (2.5, 0.1), (0.475, 1 / 133), (1.54, 0.017), (19.3, 1.0)]
)
def test_rdp_is_that_of_opacus_and_never_below_it(multiplier, rate, caplog) -> None:
    expected = by_opacus("RDPAccountant", multiplier, rate=rate)
    found = epsilon(noise_multiplier=multiplier, delta=3e-6, rounds=20, sampling="poisson", rate=rate, accountant="rdp")
    assert expected - 1e-9 <= found <= 1.002 * expected
    assert not caplog.records  # of the orders that are left out


def test_the_exact_value_lies_below_opacus_and_within_its_interval_of_prv() -> None:
    exact, prv = epsilon(**SAMPLED), by_opacus("PRVAccountant", 2.5, rate=0.1)
    assert exact < prv < exact + 0.02
    assert prv < epsilon(**SAMPLED, accountant="rdp")


def test_ten_thousand_rounds_are_priced_as_they_are() -> None:
    """DP-SGD of flexible participation: the printed 1.540 is PRV's; 1.537 is enough."""
    steps = {"delta": 3.467e-6, "rounds": 10_000, "rate": 256 / 15_000}
    assert epsilon(noise_multiplier=1.5375, sampling="poisson", **steps) < 6
    assert epsilon(noise_multiplier=1.536, sampling="poisson", **steps) > 6
    assert by_opacus("PRVAccountant", 1.540, **steps) < 6 < by_opacus("PRVAccountant", 1.537, **steps)


def test_pricing_loads_no_torch() -> None:
    code = (
        "import sys; from fedtext.privacy.accountant import epsilon; assert 'scipy' not in sys.modules\n"
        "for a in ('pld', 'rdp'):\n"
        "    epsilon(noise_multiplier=2.5, delta=3e-6, rounds=20, sampling='poisson', rate=.1, accountant=a)\n"
        "assert 'torch' not in sys.modules and 'pandas' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
