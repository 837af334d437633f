"""A neural reward model: it orders held pairs by what the training pairs prefer, and labels at random teach nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedtext.params.training import CausalTraining
from fedtext.training import lora
from fedtext.training.client_gradients import as_unscored
from fedtext.training.local_steps import NO_TOKEN
from fedtext.training.reward_model import reward_margins, token_ids
from tests.parameters import conf_base
from tests.refusals import refuses

pytestmark = pytest.mark.filterwarnings("ignore")  # TRL and transformers themselves

PREFERRED, OTHER, WIDTH = 40, 41, 8
TRAINING = conf_base(CausalTraining, epochs=6, batch_size=8, learning_rate=5e-3)


@pytest.fixture(autouse=True)
def full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lora, "is_bfloat16_faster", lambda device: False)


def rows(count: int, seed: int, *, told: bool = True) -> np.ndarray:
    """Pairs of two tokens of a prompt and answers of four; the chosen one has a token of its own, or none has."""
    rng = np.random.default_rng(seed)
    made = np.full((count, 2, WIDTH), NO_TOKEN)
    made[:, :, :2] = as_unscored(rng.integers(5, 30, (count, 1, 2)))
    made[:, :, 2:6] = rng.integers(5, 30, (count, 2, 4))
    if told:
        made[:, 0, 3], made[:, 1, 3] = PREFERRED, OTHER
    return made.reshape(count, 2 * WIDTH)


def test_rows_become_the_tokens_that_the_model_reads() -> None:
    held = rows(1, 0)
    (chosen, rejected), sides = token_ids(held)[0], held.reshape(2, WIDTH)
    assert chosen[:2] == rejected[:2] == as_unscored(sides[0, :2]).tolist()
    assert chosen[2:] == sides[0, 2:6].tolist()
    assert rejected[2:] == sides[1, 2:6].tolist()


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_what_people_prefer_is_learned(name: str, request: pytest.FixtureRequest) -> None:
    base: Any = request.getfixturevalue(name)
    margins = reward_margins(base, rows(64, 1), rows(40, 2), TRAINING, seed=0, label="a test")
    assert (margins > 0).mean() > 0.9
    again = reward_margins(base, rows(64, 1), rows(40, 2), TRAINING, seed=0, label="a test")
    assert np.allclose(margins, again)
    flipped = rows(64, 1).reshape(64, 2, WIDTH)[:, ::-1].reshape(64, -1)
    assert (reward_margins(base, flipped, rows(40, 2), TRAINING, seed=0, label="a test") < 0).mean() > 0.9


def test_labels_at_random_teach_nothing_and_no_pairs_are_refused(llama: Any) -> None:
    margins = reward_margins(llama, rows(64, 3, told=False), rows(200, 4), TRAINING, seed=0, label="a test")
    assert 0.35 < (margins > 0).mean() < 0.65
    with refuses("no-pairs-for-a-reward"):
        reward_margins(llama, rows(0, 1), rows(4, 2), TRAINING, seed=0, label="a test")
