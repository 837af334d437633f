"""Neighbouring tables at one silo, over the way that Flower carries: whose bytes change, and what a server could tell.

Messages go through the silos' own handlers, from bytes to bytes. A SuperLink carries these bytes and changes none
(tests/silo/test_flower.py compares them), so a real one would add nothing but time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from audits.statistics import epsilon_bounds, sight
from audits.worlds import Leak
from fedtext.federation import charged_release
from fedtext.federation.inquiry import Answer, AskedQuery, Inquiry, Masked, read_reply
from fedtext.federation.masked_sum import unmasked
from fedtext.privacy.accounting import epsilon
from fedtext.privacy.noise import NoiseKey, discrete_gaussian
from fedtext.silo.handler import MessageHandler
from fedtext.voting.class_means import ClassMeans
from tests.silo.examples import CODES, NAMES, peers_of, silo, table
from tests.silo.test_handler import query, without_a_record
from tests.silo.test_secure_sums import inquiry

MEANS, RICH = ClassMeans(labels=CODES), 1e6
CLIP, NOISE, RUNS = 0.02, 3.0, 10  # every person's message is as long as the clip norm
CLAIMED = epsilon(noise_multiplier=NOISE, delta=1e-5, rounds=1)
BITS = 40
Seen = Callable[[Path, int], np.ndarray]  # what a server sees in a round


def handlers(place: Path, **secure: Any) -> list[MessageHandler]:
    own = {"protection": {"epsilon": RICH}}
    return [
        MessageHandler(silo(name, **own, secure_sums={"peers": peers_of(name, place), "honest_fraction": 1.0}), place)
        for name in NAMES
    ]


@pytest.mark.parametrize("aggregation", ["local", "secure"])
def test_removing_a_record_at_one_silo_changes_its_bytes_alone(place: Path, aggregation: str) -> None:
    other = shutil.copytree(place, place.parent / "other")  # with the same keys
    without_a_record("south").to_csv(other / "south.csv", index=False)
    sent = inquiry(honest_fraction=1.0) if aggregation == "secure" else Inquiry(AskedQuery.of(query()), MEANS)
    replies = [[one.reply(sent.packed()) for one in handlers(folder)] for folder in (place, other)]
    assert [one == two for one, two in zip(*replies, strict=True)] == [True, False, True]


def local(folder: Path, number: int) -> np.ndarray:
    """North's own noised sum."""
    sent = Inquiry(AskedQuery.of(query(round=number, clip_norm=CLIP, noise_multiplier=NOISE)), MEANS)
    answer = read_reply(handlers(folder)[0].reply(sent.packed()))
    assert isinstance(answer, Answer)
    return answer.sum


def secure(honest: float) -> Seen:
    """The noised sum of all three."""

    def seen(folder: Path, number: int) -> np.ndarray:
        asked = AskedQuery.of(query(round=number, clip_norm=CLIP, noise_multiplier=NOISE))
        facts = inquiry(honest_fraction=honest, bits=BITS).secure
        sent = Inquiry(asked.model_copy(update={"parties": NAMES}), MEANS, facts)
        replies = [read_reply(one.reply(sent.packed())) for one in handlers(folder)]
        return unmasked([one.words for one in replies if isinstance(one, Masked)], BITS)

    return seen


BOTH = [pytest.param(local, id="local"), pytest.param(secure(1.0), id="secure", marks=pytest.mark.slow)]


@contextmanager
def noise_of(factor: Callable[[NoiseKey], float]) -> Iterator[None]:
    """Multiply each silo's noise by a factor: 0 takes it out, and 1 leaves it as it is."""

    def drawn(key: NoiseKey, *, stddev_on_grid: float, size: int, stream: tuple[str, ...]) -> np.ndarray:
        found = discrete_gaussian(key, stddev_on_grid=stddev_on_grid, size=size, stream=stream)
        return np.rint(found * factor(key)).astype(np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charged_release, "discrete_gaussian", drawn)
        yield


def measured(place: Path, seen: Seen, factor: Callable[[NoiseKey], float] = lambda _: 1.0) -> float:
    """The largest epsilon that what a server sees proves, of one release, with and without one of north's people."""
    worlds = [place, Path(shutil.copytree(place, place.parent / "without"))]
    people = table("north")
    zeroed: pd.DataFrame = people[people["client_id"] != "north 3"]
    zeroed.to_csv(worlds[1] / "north.csv", index=False)
    expected = []
    for folder in worlds:
        exact = shutil.copytree(folder, f"{folder}-exact")
        with noise_of(lambda _: 0.0):
            expected.append([seen(Path(exact), number).astype(float) for number in range(RUNS)])
    with noise_of(factor):
        sights = [
            [
                sight([Leak(seen(folder, number).astype(float), (expected[0][number], expected[1][number]), 1.0, False)], world)
                for number in range(RUNS)
            ]
            for world, folder in enumerate(worlds)
        ]  # fmt: skip
    return epsilon_bounds((sights[0], sights[1]), delta=1e-5).best


def lost(place: Path) -> Callable[[NoiseKey], float]:
    """South adds no noise."""
    own = MessageHandler(silo("south"), place)._key
    return lambda key: 0.0 if key == own else 1.0


@pytest.mark.parametrize("seen", BOTH)
def test_what_a_server_sees_of_one_person_is_within_the_price_and_near_it(place: Path, seen: Seen) -> None:
    assert 0.8 * CLAIMED < measured(place, seen) <= CLAIMED


@pytest.mark.parametrize("seen", BOTH)
def test_the_audit_sees_a_tenth_of_the_noise_missing(place: Path, seen: Seen) -> None:
    assert measured(place, seen, lambda _: 0.9) > CLAIMED


@pytest.mark.slow
def test_a_share_that_is_missing_is_seen_unless_the_price_left_it_out(place: Path) -> None:
    assert measured(place, secure(1.0), lost(place)) > CLAIMED
    shutil.rmtree(place.parent / "without")
    for exact in place.parent.glob("*-exact"):
        shutil.rmtree(exact)
    for folder in place.glob("*-own"):
        shutil.rmtree(folder / ".fedtext")
    assert measured(place, secure(2 / 3), lost(place)) <= CLAIMED
