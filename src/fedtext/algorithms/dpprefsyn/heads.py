"""Bradley-Terry heads by noised gradients, all heads under one release a step (Algorithm 1, line 9).

Heads of disjoint clusters are not priced in parallel: a unit that is replaced may leave one cluster for another. So a
step's gradients of all heads are one vector a unit, under one clip.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from fedtext.algorithms.dpprefsyn.budget import HEADS
from fedtext.algorithms.dpprefsyn.door import Door, unit_means
from fedtext.federation.blocks import Block
from fedtext.federation.noised_steps import Ask
from fedtext.federation.private_samples import PrivateSamples
from fedtext.params.dpprefsyn import HeadTraining
from fedtext.privacy.clipping import clip_rows
from fedtext.training.bradley_terry import descents

Heads = Float[np.ndarray, "head part"]


def trained_heads(
    assigned: PrivateSamples,
    expected: Float[np.ndarray, " head"],
    training: HeadTraining,
    radius: float,
    door: Door,
) -> Heads:
    """Heads from zero, by steps on the sums of clipped gradients; `expected` units have each head.

    Args:
        assigned: `features` are projected differences, clipped to the radius; `label` is each pair's head.
        expected: Public or released.
        training: Steps of all units, or of Poisson draws.
        radius: R; a pair's gradient is shorter, and clipped to `training.clip_share` of it.
        door: Asks.
    """
    heads = np.zeros((len(expected), assigned.features.shape[1]))
    clip_norm = training.clip_share * radius
    if training.batch is None:
        for number in range(1, training.steps + 1):
            blocks = partial(gradient_blocks, heads=heads, clip_norm=clip_norm)
            door.show(heads)
            total = door.sum(HEADS, number, assigned, blocks, clip_norm=clip_norm)
            heads = heads + training.learning_rate * total.reshape(heads.shape) / expected[:, None]
        return heads
    share = training.batch / door.ledger.population

    def stepped(ask: Ask) -> Heads:
        moved = heads
        for _ in range(door.plan.kinds[HEADS].count):
            total = ask(partial(gradient_blocks, heads=moved, clip_norm=clip_norm), door.named(moved))
            moved = moved + training.learning_rate * total.reshape(moved.shape) / (share * expected[:, None])
        return moved

    return door.steps(HEADS, assigned, stepped, clip_norm=clip_norm)


def gradient_blocks(held: PrivateSamples, *, heads: Heads, clip_norm: float) -> list[Block]:
    """Each unit's mean of its pairs' clipped descents, in the block of each pair's head."""
    rows = clip_rows(descents(heads, held.features, held.label), clip_norm)
    return list(unit_means(replace(held, features=rows), heads=len(heads), width=heads.size))
