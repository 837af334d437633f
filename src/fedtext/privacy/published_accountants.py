"""The RDP accountant that papers used, at the orders of Opacus: for comparison with printed numbers only."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fedtext.privacy.privacy_loss import SampledGaussian

ORDERS = [1 + x / 10 for x in range(1, 100)] + [float(order) for order in range(12, 64)]  # Opacus' default alphas


def rdp_epsilon(releases: Iterable[SampledGaussian], delta: float) -> float:
    """Epsilon of Gaussian releases by Renyi divergences, under add/remove or zero_out, by `dp_accounting`.

    Sampling is priced as Poisson's (Mironov, Talwar and Zhang, 2019). A shift that is not the add/remove one (twice
    the norm under replace_one) is sound without sampling only. An order at which the series does not converge is left
    out, so epsilon is never below that of Opacus, and less than 0.2% above it as long as it is below 10.
    """
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=ORDERS)
    with _without_warnings():
        for release in releases:
            event = GaussianDpEvent(1 / release.shift)
            if release.amplified:
                event = PoissonSampledDpEvent(release.rate, event)
            accountant.compose(event, release.rounds)
        return float(accountant.get_epsilon(delta))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """`dp_accounting` warns of every order that it leaves out, which changes nothing for the reader of a price."""
    log = logging.getLogger("absl")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
