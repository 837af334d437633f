"""The discrete Gaussian: right law, right scale, bound to its key and stream, and the same everywhere."""

from __future__ import annotations

import hashlib
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import integrate, stats

from fedtext.privacy import noise
from fedtext.privacy.noise import NoiseKey, covering_stddev, discrete_gaussian, keyed_bytes, new_noise_key, noise_bound
from tests.refusals import refuses

KEY = new_noise_key(11)
SAMPLE = 100_000
ACCEPT, REJECT = 1e-3, 1e-9
GOLDEN = {
    0.7: "ab12de6c59c9db8a",
    3.0: "845d55bd84a2a980",
    523_776.25: "ea96702a179a9de3",
    2.0**40: "a5fef6b0ddadba56",
}


def draw(stddev: float, size: int = SAMPLE, *stream: str, key: NoiseKey = KEY) -> np.ndarray:
    return discrete_gaussian(key, stddev_on_grid=stddev, size=size, stream=stream or ("test",))


def pmf(stddev: float, reach: int) -> tuple[np.ndarray, np.ndarray]:
    points = np.arange(-reach, reach + 1)
    weights = np.exp(-(points**2) / (2 * stddev**2))
    return points, weights / weights.sum()


def exact_law_p_value(sample: np.ndarray, stddev: float) -> float:
    """Chi-square of every integer's count against the probability mass function."""
    points, mass = pmf(stddev, 200)
    expected = mass * sample.size
    counts = np.array([(sample == point).sum() for point in points])
    common = expected >= 10
    observed = np.append(counts[common], sample.size - counts[common].sum())
    wanted = np.append(expected[common], max(expected[~common].sum(), 1e-9))
    if wanted[-1] < 5:
        observed, wanted = observed[:-1], wanted[:-1] * observed[:-1].sum() / wanted[:-1].sum()
    return float(stats.chisquare(observed, wanted).pvalue)


def variance_p_value(sample: np.ndarray, stddev: float) -> float:
    statistic = np.square(sample / stddev).sum()
    return float(2 * min(stats.chi2.cdf(statistic, sample.size), stats.chi2.sf(statistic, sample.size)))


@pytest.mark.parametrize("stddev", [0.4, 0.75, 1.0, 1.15, 1.19, 1.7, 2.0, 3.7, 9.0])
def test_small_deviations_follow_the_exact_mass_function(stddev: float) -> None:
    assert exact_law_p_value(draw(stddev), stddev) > ACCEPT


@pytest.mark.parametrize("stddev", [0.4, 1.0, 3.7])
def test_five_percent_too_little_noise_is_rejected_by_the_same_chi_square(stddev: float) -> None:
    assert exact_law_p_value(draw(0.95 * stddev), stddev) < REJECT


@pytest.mark.parametrize("stddev", [1000.5, 2.0**20 + 0.3, 1.9 * 2.0**33, 2.0**40])
def test_large_deviations_pass_ks_and_variance(stddev: float) -> None:
    sample = draw(stddev)
    assert stats.kstest(sample / stddev, "norm").pvalue > ACCEPT
    assert variance_p_value(sample, stddev) > ACCEPT


@pytest.mark.parametrize("stddev", [1000.5, 2.0**40])
@pytest.mark.parametrize("share", [0.95, 1.05])
def test_five_percent_off_is_rejected_by_ks_and_variance(stddev: float, share: float) -> None:
    sample = draw(share * stddev) if share < 1 else draw(stddev) * share
    assert stats.kstest(sample / stddev, "norm").pvalue < REJECT
    assert variance_p_value(sample, stddev) < REJECT


def test_values_are_integers_whose_low_bits_are_fair() -> None:
    sample = draw(2.0**30 + 0.7)
    assert sample.dtype == np.int64
    low = np.bincount(sample & 15, minlength=16)
    assert stats.chisquare(low).pvalue > ACCEPT


def test_signs_and_neighbours_are_independent() -> None:
    sample = draw(1234.5) / 1234.5
    limit = 4 / math.sqrt(SAMPLE)
    assert abs(np.mean(np.sign(sample))) < limit
    assert abs(np.mean(sample[1:] * sample[:-1])) < limit
    assert abs(np.corrcoef(np.abs(sample[1:]), np.abs(sample[:-1]))[0, 1]) < limit


@pytest.mark.parametrize(
    ("other", "stddev", "size"),
    [
        (("release", "2", "digest"), 1000.0, SAMPLE),
        (("release", "1", "other digest"), 1000.0, SAMPLE),
        (("release1", "digest"), 1000.0, SAMPLE),
        (("release", "1", "digest"), 1000.5, SAMPLE),
        (("release", "1", "digest"), 1000.0, SAMPLE - 1),
    ],
)
def test_another_round_input_scale_or_size_is_independent(other: tuple[str, ...], stddev: float, size: int) -> None:
    first = draw(1000.0, SAMPLE, "release", "1", "digest")[: SAMPLE - 1]
    second = draw(stddev, size, *other)[: SAMPLE - 1]
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(SAMPLE)


def test_another_key_is_independent_and_the_same_key_repeats() -> None:
    first, again, other = (draw(1000.0, key=key) for key in (KEY, new_noise_key(11), new_noise_key(12)))
    assert np.array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 4 / math.sqrt(SAMPLE)


@pytest.mark.parametrize("stddev", [0.05, 0.4, 1.0, 1.19, 3.7, 1.0e6 + 0.1, 2.0**40])
def test_exact_arithmetic_decides_every_coin_as_floats_do(stddev: float, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = draw(stddev, 500)
    monkeypatch.setattr(noise, "_MARGIN", 2.0)
    assert np.array_equal(draw(stddev, 500), fast)


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(7, 2), Fraction(31)])
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_a_tied_coin_reads_further_bits(exponent: Fraction, offset: int) -> None:
    wide = Context(prec=200)
    bound = wide.exp(wide.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))
    first = int(wide.multiply(bound, Decimal(2**64))) + offset
    for name in ("a", "b", "c", "d"):
        bits = first * 2**128 + int.from_bytes(keyed_bytes(KEY, 16, ("coin", name)), "big")
        expected = bits < wide.multiply(bound, Decimal(2**192))
        assert noise._is_below(KEY, first, exponent, Fraction(1), ("coin", name)) == expected


def test_golden_bytes() -> None:
    digests = {
        stddev: hashlib.sha256(draw(stddev, 1000, "golden").astype("<i8").tobytes()).hexdigest()[:16]
        for stddev in (0.7, 3.0, 523_776.25, 2.0**40)
    }
    assert digests == GOLDEN


def test_a_long_draw_is_made_of_independent_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_TRIALS", 5_000)
    long = draw(1000.0)
    assert len(long) == SAMPLE
    assert stats.kstest(long / 1000.0, "norm").pvalue > ACCEPT
    assert stats.kstest(long / 950.0, "norm").pvalue < REJECT
    assert np.unique(long[:2000]).size > 1000
    for lag in (2_000, 1_500, 2_500):
        assert abs(np.corrcoef(long[lag:], long[:-lag])[0, 1]) < 5 / math.sqrt(SAMPLE)


def test_how_proposals_are_cut_into_slices_is_no_part_of_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_MARGIN", 2.0**-6)  # sends many coins to exact arithmetic
    asked: set[tuple[str, ...]] = set()

    def decided(key: NoiseKey, first: int, exponent: Fraction, factor: Fraction, stream: tuple[str, ...]) -> bool:
        asked.add(stream)
        return bool(keyed_bytes(key, 1, stream)[0] % 2)  # by the name of its further bits alone

    monkeypatch.setattr(noise, "_is_below", decided)
    whole = draw(700.0, 2_000)
    for size in (1_000, 7):
        names = set(asked)
        monkeypatch.setattr(noise, "_SLICE", size)
        assert draw(700.0, 2_000).tolist() == whole.tolist()
        assert len(names) > 10
        assert asked == names


def test_no_draw_reaches_the_bound_and_the_bound_is_tight_enough() -> None:
    for stddev in (0.3, 1.0, 1.5, 1000.5, 2.0**40):
        assert np.abs(draw(stddev, 10_000)).max() < noise_bound(stddev) <= 32 * max(stddev, 1.0)
        assert stats.norm.logsf(noise_bound(stddev) / stddev) + math.log(2) < math.log(noise.TAIL_MASS)


@pytest.mark.parametrize("stddev", [0.5, 1.3])
def test_covering_noise_is_a_rounding_of_the_continuous_gaussian(stddev: float) -> None:
    covering = covering_stddev(stddev)
    points, mass = pmf(covering, 60)

    def rounded(point: int) -> float:
        def integrand(x: float) -> float:
            kernel = np.exp(-((points - x) ** 2) / 8)
            return float(stats.norm.pdf(x, scale=stddev) * np.exp(-((point - x) ** 2) / 8) / kernel.sum())

        return float(integrate.quad(integrand, -12 * stddev, 12 * stddev, epsabs=1e-13, limit=200)[0])

    for point in (0, 1, 3, 6):
        assert rounded(point) == pytest.approx(mass[points == point][0], abs=1e-11)


def delta(stddev: float, shift: int, epsilon: float) -> float:
    """Exact delta of the discrete Gaussian on the integers at `epsilon`."""
    _, mass = pmf(stddev, 2000)
    return float(np.maximum(mass - math.exp(epsilon) * np.roll(mass, shift), 0).sum())


def continuous_delta(stddev: float, shift: int, epsilon: float) -> float:
    """Delta of the continuous Gaussian mechanism (Balle and Wang 2018, equation 6)."""
    ratio = shift / stddev
    above, below = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    return float(stats.norm.cdf(above) - math.exp(epsilon) * stats.norm.cdf(below))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.02, 1.53, 3.0])
@pytest.mark.parametrize(("stddev", "shift"), [(2.0, 1), (5.0, 3), (40.0, 37)])
def test_covering_noise_is_no_less_private_than_its_price(stddev: float, shift: int, epsilon: float) -> None:
    assert delta(covering_stddev(stddev), shift, epsilon) <= continuous_delta(stddev, shift, epsilon) + 1e-12


def test_noise_of_the_same_deviation_would_be_less_private_than_its_price() -> None:
    assert delta(2.0, 1, 1.02) > 1.05 * continuous_delta(2.0, 1, 1.02)


def test_covering_noise_costs_nothing_on_a_fine_grid() -> None:
    assert covering_stddev(1e5) == pytest.approx(1e5, rel=1e-9)
    assert covering_stddev(1e5) > 1e5


def test_keys_are_fresh_secret_and_stored_whole() -> None:
    key = new_noise_key(None)
    assert key.source == "operating system"
    assert len(bytes.fromhex(key.secret)) == 32
    assert key.secret != new_noise_key(None).secret
    assert key.secret not in repr(key) + str(key)
    assert NoiseKey.model_validate_json(key.model_dump_json()) == key
    assert new_noise_key(3).source == "seed"


def test_a_bad_key_is_refused_without_being_shown() -> None:
    with pytest.raises(ValidationError) as refused:
        NoiseKey(secret="not a key at all", source="seed")
    assert "not a key" not in str(refused.value)


@pytest.mark.parametrize("stddev", [0.0, -1.0, math.nan, math.inf, 2.0**41, 2.0**-11])
def test_a_deviation_out_of_range_is_named(stddev: float) -> None:
    with refuses("noise-beyond-sampler"):
        draw(stddev, 3)


def test_sizes() -> None:
    assert draw(3.0, 0).shape == (0,)
    with refuses("size-below-zero", parameter="size"):
        draw(3.0, -1)
