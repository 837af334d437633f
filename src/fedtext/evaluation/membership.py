"""Membership inference: how well an attack on a released policy tells training pairs from other pairs.

The attack's AUC is the probability that a member's score is above a non-member's; guessing has one half. Differential
privacy bounds it. For a mu-Gaussian private release (Dong, Roth, Su, JRSS B 2022) the bound is Phi(mu / sqrt 2), the
AUC of telling N(mu, 1) from N(0, 1). For any other (epsilon, delta)-private release it is the area under the two lines
that epsilon and delta define (`ceiling`).

The score, as in DPPrefSyn's section 5.2 and appendix C.4, is the margin of the policy against its reference (Feng et
al., 2025): members tend to have higher ones.

Scores read protected pairs and are themselves an unaccounted release. So nothing here runs by default: use it with
public pairs, or with pairs whose owners agreed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.evaluation.ratios import Ratio, clustered_ratio
from fedtext.privacy.dominating_pairs import gaussian_shift
from fedtext.system.errors import InputError

TAIL = 0.025  # on either side of a 95% interval

Scores = Float[np.ndarray, " pair"]
Clients = Int[np.ndarray, " pair"]


class Attack(NamedTuple):
    """An attack's AUC with its 95% interval, and the highest AUC that the privacy budget allows, if there is one."""

    auc: float
    low: float
    high: float
    ceiling: float | None

    @property
    def is_above(self) -> bool:
        """True if the whole interval is above the allowed AUC, which shows a leak that is not accounted for."""
        return self.ceiling is not None and self.low > self.ceiling


def attack(
    members: Scores,
    others: Scores,
    most: float | None = None,
    *,
    clients: tuple[Clients, Clients] | None = None,
) -> Attack:
    """Compute how well scores separate members from others; `most` is the highest allowed AUC.

    The interval is DeLong's (Biometrics 1988) for independent members and others. If `clients` of both are given, it is
    clustered by client (Obuchowski, Biometrics 1997); no client may be on both sides. It is by Student's t with
    Satterthwaite's degrees of freedom, for few clients tell little of their own spread. Where the scores are wholly
    apart they show no spread at all: as many independent pairs as the fewer clients of either side are in order then,
    which has the probability AUC^n.

    Raises:
        ValueError: fewer than two of either, or a score that is not finite.
    """
    for name, scores in (("members", members), ("non-members", others)):
        if len(scores) < 2 or not np.isfinite(scores).all():
            raise InputError(
                f"{len(scores)} scores of {name}: an attack is judged by two finite ones at least of each",
                code="too-few-membership-scores",
            )
    below_members = _share_below(others, members)
    above_others = 1.0 - _share_below(members, others)
    auc = float(below_members.mean())
    own, theirs = clients or (np.arange(len(members)), np.arange(len(others)))
    half = _half_width(_mean_of(below_members, own), _mean_of(above_others, theirs))
    if auc in (0.0, 1.0):
        half = 1.0 - TAIL ** (1 / min(len(np.unique(own)), len(np.unique(theirs))))
    return Attack(auc, max(auc - half, 0.0), min(auc + half, 1.0), most)


def gaussian_ceiling(epsilon: float, delta: float) -> float:
    """Compute the highest AUC against Gaussian releases of total cost (epsilon, delta): Phi(mu / sqrt 2)."""
    from scipy.special import ndtr

    return float(ndtr(gaussian_shift(epsilon, delta) / math.sqrt(2)))


def ceiling(epsilon: float, delta: float) -> float:
    """Compute the highest AUC against any (epsilon, delta)-private release, such as DP-SGD on sampled batches.

    An attack of false positive rate x misses at least max(0, 1 - delta - e^epsilon x, e^-epsilon (1 - delta - x)) of
    the members (Wasserman and Zhou, JASA 2010; Kairouz et al., ICML 2015). The area under that line is the triangle to
    the corner (c, c) on the diagonal, c = (1 - delta) / (1 + e^epsilon), twice: (1 - delta) c.
    """
    return 1.0 - (1.0 - delta) ** 2 / (1.0 + math.exp(epsilon))


def ceiling_of(report: Mapping[str, Any]) -> float | None:
    """Return the highest AUC that the releases of a privacy report allow; None if no finite epsilon bounds it.

    The comparison is with a unit that contributes nothing (`zero_out`); a declared replacement costs no less.
    """
    epsilon, delta = float(report["epsilon"]), float(report["delta"])
    if not math.isfinite(epsilon):
        return None
    asks_all = [release["sampling"] == "full" for release in report["releases"]]
    return (gaussian_ceiling if asks_all and all(asks_all) else ceiling)(epsilon, delta)


def are_independent(pairs: pd.DataFrame, unit: str) -> bool:
    """Return whether no two units among the pairs share a client or a prompt.

    If they do, another unit's data may reveal a member, which no unit's epsilon bounds.

    Args:
        pairs: The training pairs, with `client_id` and `prompt`.
        unit: The unit of privacy; a record is a pair.
    """
    own = pairs["client_id"] if unit == "client" else pd.Series(range(len(pairs)), index=pairs.index)
    return all(own.groupby(pairs[shared]).nunique().max() == 1 for shared in ("client_id", "prompt"))


def log_ratio_margins(policy: Float[np.ndarray, "pair side"], reference: Float[np.ndarray, "pair side"]) -> Scores:
    """Compute how much more than its reference the policy prefers the chosen answer (side 0) to the rejected one.

    Both are log-probabilities of whole answers, in nats. Times DPO's beta it is the implicit reward's margin; it is
    positive where DPO orders the pair correctly.
    """
    gained = policy - reference
    return np.asarray(gained[:, 0] - gained[:, 1])


def _mean_of(values: Scores, clients: Clients) -> Ratio:
    """Compute the mean with its standard error, clustered by client; infinite for one client."""
    return clustered_ratio(values, np.ones(len(values)), clients)


def _half_width(*means: Ratio) -> float:
    """Return half of the 95% interval of a difference of independent means."""
    from scipy import stats

    variances = [one.standard_error**2 for one in means]
    whole = sum(variances)
    if whole == 0 or not math.isfinite(whole):
        return whole
    freedom = whole**2 / sum(v**2 / (one.clusters - 1) for v, one in zip(variances, means, strict=True))
    return float(stats.t.ppf(1 - TAIL, freedom) * math.sqrt(whole))


def _share_below(scores: Scores, of: Scores) -> Scores:
    """Compute for each number of `of` the share of `scores` below it; equal ones count half."""
    ordered = np.sort(scores)
    below, up_to = (np.searchsorted(ordered, of, side=side) for side in ("left", "right"))
    return np.asarray((below + up_to) / 2 / len(scores))
