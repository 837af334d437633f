"""Membership inference: how well somebody who sees what was released tells its pairs from pairs that had no part in it.

The area under the attack's curve (AUC) is the probability that a member's score is above a non-member's; one half is
guessing. Differential privacy bounds it. A release that is mu-Gaussian private (Dong, Roth, Su, JRSS B 2022) lets no
attack above Phi(mu / sqrt 2), the AUC of telling N(mu, 1) from N(0, 1); whatever else is (epsilon, delta) private lets
none above the area under the two lines that epsilon and delta draw (`ceiling`).

The score, as in DPPrefSyn's section 5.2 and appendix C.4, is the margin of the policy against its reference (Feng et
al., 2025): the higher, the more like a member.

Reading protected pairs to score them is itself a release that no budget pays for. So nothing here runs by default: it
is for public pairs, or for pairs whose owners agreed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.evaluation.ratios import clustered_ratio
from fedtext.privacy.accounting import gaussian_shift
from fedtext.system.errors import InputError

NORMAL = 1.96  # of a 95% interval

Scores = Float[np.ndarray, " pair"]
Clients = Int[np.ndarray, " pair"]


class Attack(NamedTuple):
    """An attack's AUC with its 95% interval, and what the budget lets an attack have, if there is one."""

    auc: float
    low: float
    high: float
    ceiling: float | None

    @property
    def is_above(self) -> bool:
        """Whether it is above what the budget allows, with its interval: then something leaks unpaid."""
        return self.ceiling is not None and self.low > self.ceiling


def attack(
    members: Scores,
    others: Scores,
    most: float | None = None,
    *,
    clients: tuple[Clients, Clients] | None = None,
) -> Attack:
    """How well scores tell members from others; `most` is the ceiling.

    The interval is DeLong's (Biometrics 1988): over the draw of members and of others. Where `clients` of either are
    given, whole clients are drawn (Obuchowski, Biometrics 1997), none of whom is on both sides.

    Raises:
        ValueError: fewer than two of either, or a score that is not finite.
    """
    for name, scores in (("members", members), ("non-members", others)):
        if len(scores) < 2 or not np.isfinite(scores).all():
            raise InputError(f"{len(scores)} scores of {name}: an attack is judged by two finite ones at least of each")
    below_members = _share_below(others, members)
    above_others = 1.0 - _share_below(members, others)
    auc = float(below_members.mean())
    own, theirs = clients or (np.arange(len(members)), np.arange(len(others)))
    half = NORMAL * math.hypot(_error_of_mean(below_members, own), _error_of_mean(above_others, theirs))
    return Attack(auc, max(auc - half, 0.0), min(auc + half, 1.0), most)


def gaussian_ceiling(epsilon: float, delta: float) -> float:
    """The best AUC against Gaussian releases that together cost exactly (epsilon, delta): Phi(mu / sqrt 2)."""
    from scipy.special import ndtr

    return float(ndtr(gaussian_shift(epsilon, delta) / math.sqrt(2)))


def ceiling(epsilon: float, delta: float) -> float:
    """The best AUC against anything that is (epsilon, delta) private, such as DP-SGD on drawn batches.

    An attack of false alarm rate x misses at least max(0, 1 - delta - e^epsilon x, e^-epsilon (1 - delta - x)) of the
    members (Wasserman and Zhou, JASA 2010; Kairouz et al., ICML 2015). The area under that line is the triangle to
    the corner (c, c) on the diagonal, c = (1 - delta) / (1 + e^epsilon), twice: (1 - delta) c.
    """
    return 1.0 - (1.0 - delta) ** 2 / (1.0 + math.exp(epsilon))


def ceiling_of(report: Mapping[str, Any]) -> float | None:
    """The best AUC that the releases of a privacy report allow; None: no finite epsilon bounds it.

    A member is told from a unit that is away, as if it was zeroed out; a declared replacement costs no less.
    """
    epsilon, delta = float(report["epsilon"]), float(report["delta"])
    if not math.isfinite(epsilon):
        return None
    asks_all = [release["sampling"] == "full" for release in report["releases"]]
    return (gaussian_ceiling if asks_all and all(asks_all) else ceiling)(epsilon, delta)


def are_alone(pairs: pd.DataFrame, unit: str) -> bool:
    """Whether no two units among the pairs have a client or a prompt in common.

    Else a member is told by what other units say of its client or its prompt, which no unit's epsilon bounds.

    Args:
        pairs: Those trained on, with `client_id` and `prompt`.
        unit: What is protected; a record is a pair.
    """
    own = pairs["client_id"] if unit == "client" else pd.Series(range(len(pairs)), index=pairs.index)
    return all(own.groupby(pairs[shared]).nunique().max() == 1 for shared in ("client_id", "prompt"))


def log_ratio_margins(policy: Float[np.ndarray, "pair side"], reference: Float[np.ndarray, "pair side"]) -> Scores:
    """How much more than its reference the policy prefers the chosen answer (side 0) to the rejected one (side 1).

    Both are log-probabilities of whole answers, in nats. Times DPO's beta it is the implicit reward's margin; its sign
    says whether DPO orders the pair rightly.
    """
    gained = policy - reference
    return np.asarray(gained[:, 0] - gained[:, 1])


def _error_of_mean(values: Scores, clients: Clients) -> float:
    """Standard error of the values' mean where whole clients are drawn; infinite for one client."""
    return clustered_ratio(values, np.ones(len(values)), clients).standard_error


def _share_below(scores: Scores, of: Scores) -> Scores:
    """For each number of `of`, the share of `scores` that is below it; equal ones count half."""
    ordered = np.sort(scores)
    below, up_to = (np.searchsorted(ordered, of, side=side) for side in ("left", "right"))
    return np.asarray((below + up_to) / 2 / len(scores))
