"""The server's part of a secure sum: it adds up what all silos sent, and masks cancel (fedtext.silo.pairwise_masks).

The server has no secret and opens none. What it can check is that everybody sent words of the right form, that each
two silos have the same secret, and that the sum is one that the declared units and noise can reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
from jaxtyping import Int64, Shaped

from fedtext.federation.inquiry import Masked
from fedtext.federation.mechanism import PlannedSum
from fedtext.federation.secure_sum import centred
from fedtext.system.errors import FedtextError

_SHORT_BITS = 32  # up to here a number travels in four bytes


class SiloError(FedtextError, RuntimeError):
    """A silo that refuses, is missing, or sends what cannot be an answer."""


def garbage(silo: str, fault: str, plan: PlannedSum) -> SiloError:
    """Return the error of a silo that sent what cannot be an answer."""
    return SiloError(
        f"silo {silo} sent {fault} for {plan.query.name}: nothing was released; have its process looked after and run "
        "the same command again",
        code="silo-sent-garbage",
        value=silo,
    )


def words_of(bits: int) -> np.dtype[np.unsignedinteger]:
    """Return the type in which a number modulo 2^bits travels."""
    return np.dtype(np.uint32 if bits <= _SHORT_BITS else np.uint64)


def unmasked(sent: Iterable[Shaped[np.ndarray, " dim"]], bits: int) -> Int64[np.ndarray, " dim"]:
    """Return the sum of what all silos sent, modulo 2^bits and nearest to zero; without one of them it is uniform."""
    total = np.asarray(sum(numbers.astype(np.uint64) for numbers in sent), dtype=np.uint64)
    return centred(total.view(np.int64), bits)


def opened_sum(answers: Mapping[str, Masked], plan: PlannedSum, bits: int) -> Int64[np.ndarray, " dim"]:
    """Return the sum of the silos' messages and noise shares.

    Raises:
        RuntimeError: an answer is not of the form, two silos do not have one secret, or the sum cannot be one.
    """
    for name, answer in answers.items():
        if (fault := _fault_of(answer.words, plan, bits)) is not None:
            raise garbage(name, fault, plan)
    for one, other in combinations(sorted(answers), 2):
        if (mark := answers[one].marks.get(other)) is None or mark != answers[other].marks.get(one):
            raise SiloError(
                f"silos {one} and {other} have no secret in common, so their masks would not cancel in "
                f"{plan.query.name}: compare what `fedtext-silo key` prints at the one with secure_sums.peers in the "
                "other's file",
                code="silos-without-common-secret",
                value=[one, other],
            )
    total = unmasked((answer.words for answer in answers.values()), bits)
    if total.size and not -plan.largest_sum <= int(total.min()) <= int(total.max()) <= plan.largest_sum:
        raise SiloError(
            f"the sum of {plan.query.name} has a number beyond {plan.largest_sum}, which all units and their noise "
            "cannot reach: some silo sent garbage, and behind a secure sum nobody sees which; nothing was released",
            code="sum-is-garbage",
            value=plan.query.name,
        )
    return total


def _fault_of(words: Shaped[np.ndarray, ...], plan: PlannedSum, bits: int) -> str | None:
    if words.dtype != words_of(bits):
        return f"numbers of type {words.dtype} in place of {words_of(bits)}"
    if words.shape != (plan.query.dim,):
        return f"{'x'.join(map(str, words.shape))} numbers in place of {plan.query.dim}"
    if words.size and int(words.max()) >= 2**bits:
        return f"a number that is not below 2^{bits}"
    return None
