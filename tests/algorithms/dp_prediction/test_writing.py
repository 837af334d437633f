"""From private texts to released tokens: a client's text moves its own group alone, by its own contribution alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.dp_prediction.plan import planned_ledger, planned_release
from fedtext.algorithms.dp_prediction.prompts import client_rows
from fedtext.algorithms.dp_prediction.writing import sampled_texts, written_tokens
from fedtext.federation import token_release
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.token_release import GRID, group_of
from fedtext.federation.units import unit_codes
from fedtext.generation.generators.local import LocalGenerator
from fedtext.params.dp_prediction import DpPrediction
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import new_noise_key
from tests.neighbours.worlds import drawing_as
from tests.parameters import conf_base

PUBLIC = ["Return the length of the list.", "Close the file and flush its buffer."]
OWNERS = [f"person {number % 7}" for number in range(12)]
TEXTS = [f"{word} the record of number {n}." for n, word in enumerate("open send read close move drop".split() * 2)]  # noqa: SIM905
KEY = new_noise_key(3)
SAMPLER = {"max_new_tokens": 4, "prompt": "list", "legible_only": False, "min_p": 0.03, "openings": []}


@pytest.fixture(scope="module")
def generator() -> LocalGenerator:
    return LocalGenerator("bundled:generator")


def params(**changes: Any) -> DpPrediction:
    base = {"synthetic_texts": 3, "clients_at_once": 2, "example_tokens": 12, "seed": 0, "sampler": SAMPLER}
    return conf_base(DpPrediction, base | changes)


def written(generator: LocalGenerator, told: DpPrediction, held: pd.DataFrame) -> np.ndarray:
    privacy = conf_base(
        Privacy, epsilon=8.0, delta=1e-2, noise_seed=3, aggregation="trusted", population=7, total_epsilon=None
    )
    rows = client_rows(generator, held["text"].tolist(), told)
    samples = PrivateSamples.of_one_class(rows, unit_codes(held["client_id"].tolist()))
    tokens, charged = written_tokens(generator, PUBLIC, samples, told, planned_ledger(7, told, privacy), KEY)
    assert charged.epsilon() <= 8
    return tokens


@contextmanager
def said_of_each_token() -> Iterator[list[dict[int, np.ndarray]]]:
    """Whatever each unit says, on the grid, token by token."""
    found: list[dict[int, np.ndarray]] = []
    adding = token_release._sum

    def noted(block: Any, candidates: Any, plan: Any, own: Any) -> np.ndarray:
        points = token_release.on_grid(block.rows, plan.query.clip_norm)
        found.append(dict(zip(block.unit.tolist(), points, strict=True)))
        return adding(block, candidates, plan, own)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_release, "_sum", noted)
        yield found


@pytest.mark.parametrize("form", ["difference", "logits"])
def test_a_client_that_goes_takes_its_own_contributions_and_changes_no_bit_of_another(
    generator: LocalGenerator, form: str
) -> None:
    told, held = params(form=form), pd.DataFrame({"client_id": OWNERS, "text": TEXTS})
    tokens: dict[tuple[str, ...], int] = {}
    with drawing_as(tokens, again=False), said_of_each_token() as first:
        released = written(generator, told, held)
    gone = int(unit_codes([OWNERS[0]])[0])
    with drawing_as(tokens, again=True), said_of_each_token() as second:
        again = written(generator, told, held[held["client_id"] != OWNERS[0]])
    assert np.array_equal(released, again)
    assert any(one[gone].any() for one in first if gone in one)
    for one, other in zip(first, second, strict=True):
        assert {unit for unit in one if unit not in other} <= {gone}
        assert all(np.array_equal(points, one[unit]) for unit, points in other.items())
        assert max(np.abs(points).max() for points in one.values()) <= GRID


def test_the_released_tokens_are_texts_and_the_same_again(generator: LocalGenerator) -> None:
    told, held = params(texts_per_group=2, synthetic_texts=4), pd.DataFrame({"client_id": OWNERS, "text": TEXTS})
    tokens = written(generator, told, held)
    assert np.array_equal(tokens, written(generator, told, held))
    texts = sampled_texts(generator, tokens, told, length=64)
    assert texts[["prompt_id", "response"]].to_numpy().tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert texts["text"].str.len().gt(0).any()


def test_an_opening_begins_a_text(generator: LocalGenerator) -> None:
    told = params(synthetic_texts=2, sampler=SAMPLER | {"openings": ["Return", "Open"]})
    tokens = written(generator, told, pd.DataFrame({"client_id": OWNERS, "text": TEXTS}))
    texts = sampled_texts(generator, tokens, told, length=64)["text"]
    assert [text.split()[0][:4] for text in texts] == ["Retu", "Open"]


def test_groups_are_of_the_code_and_the_secret_alone() -> None:
    privacy = conf_base(Privacy, epsilon=8.0, delta=1e-2, noise_seed=3, aggregation="trusted", population=7)
    plan = planned_release(params(), privacy, 7)
    units = unit_codes([f"person {number}" for number in range(3000)])
    groups = group_of(units, plan, KEY)
    assert np.array_equal(groups[::7], group_of(units[::7], plan, KEY))
    assert np.bincount(groups).min() > 900
    assert not np.array_equal(groups, group_of(units, plan, new_noise_key(4)))
