"""Advantages by hand; a step makes what was rewarded likelier and what was not less likely, and nothing at no reward."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fedtext.generation.generators.local import LocalGenerator
from fedtext.params.training import CausalTraining, Lora
from fedtext.training.lora import initial_adapter
from fedtext.training.policy_gradient import improved_policy, leave_one_out
from fedtext.training.supervised import rows_behind_prompts
from tests.parameters import conf_base

GENERATOR = LocalGenerator("bundled:generator")
LORA = conf_base(Lora, rank=2)
PROMPTS = ["A ferry", "A ferry", "The list", "The list"]
TEXTS = [" left the harbour.\n", " returns a value.\n", " of all harbours.\n", " is empty.\n"]
REWARDED = np.array([1.0, -1.0, 1.0, -1.0])


def test_an_advantage_is_the_reward_less_the_mean_of_the_others() -> None:
    """By hand: 6 - (3 + 0) / 2, 3 - (6 + 0) / 2 and 0 - (6 + 3) / 2; the second prompt has one text.

    Their deviation is the root of (4.5² + 0 + 4.5²) / 3.
    """
    found = leave_one_out(np.array([6.0, 3.0, 0.0, 9.0]), np.array([0, 0, 0, 1]), np.ones(4, dtype=bool))
    by_hand = np.array([4.5, 0.0, -4.5, 0.0])
    np.testing.assert_allclose(found, by_hand / np.sqrt(13.5))


@example([0, 5, 10, 0, 0, 0], 1.9596861870404432)  # rounding makes an advantage of 0 a little more
@example([1, 1, 1, 1, 1, 1], 0.1)  # equal ones differ by rounding alone, and none is better
@given(st.lists(st.integers(-20, 20), min_size=6, max_size=6), st.floats(0.1, 50))
def test_scale_and_shift_of_the_rewards_of_all_do_not_matter(rewards: list[int], scale: float) -> None:
    prompt, written = np.array([0, 0, 0, 1, 1, 1]), np.array([True] * 5 + [False])
    found = leave_one_out(np.array(rewards, dtype=float), prompt, written)
    again = leave_one_out(np.array(rewards) * scale + 3, prompt, written)
    np.testing.assert_allclose(found, again, atol=1e-6)
    assert found[5] == 0  # an empty text
    assert found[:3].sum() == pytest.approx(0, abs=1e-9)


def log_probs(adapter: Path) -> np.ndarray:
    """The mean log-probability of each text's tokens behind its prompt."""
    import torch

    model, tokenizer = GENERATOR.with_adapter(adapter).load()
    ids = torch.from_numpy(rows_behind_prompts(PROMPTS, TEXTS, tokenizer)).to(model.device)
    real = ids != -1
    shown = torch.where(ids < -1, -2 - ids, ids).masked_fill(~real, 0)
    with torch.no_grad():
        each = model(input_ids=shown, attention_mask=real.long()).logits[:, :-1].float().log_softmax(-1)
    scored = ids[:, 1:] >= 0
    found = each.gather(-1, ids[:, 1:].clamp(min=0)[..., None])[..., 0] * scored
    return (found.sum(1) / scored.sum(1)).cpu().numpy()


def improved(before: Path, advantages: np.ndarray, place: Path, ratio_clip: float = 0.2) -> Path:
    training = conf_base(CausalTraining, epochs=6.0, batch_size=4, learning_rate=3e-3, weight_decay=0.0)
    adapter = improved_policy(
        GENERATOR, before, PROMPTS, TEXTS, advantages, training, LORA, ratio_clip=ratio_clip, seed=0
    )
    adapter.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("policy") / "before"
    initial_adapter(GENERATOR, LORA, seed=0).save_pretrained(place)
    return place


def test_what_is_rewarded_gets_likelier_and_what_is_not_less_likely(before: Path, tmp_path: Path) -> None:
    change = log_probs(improved(before, REWARDED, tmp_path / "after")) - log_probs(before)
    assert (np.sign(change) == REWARDED).all()
    other = log_probs(improved(before, -REWARDED, tmp_path / "other")) - log_probs(before)
    assert (np.sign(other) == -REWARDED).all()


def test_no_advantage_changes_nothing(before: Path, tmp_path: Path) -> None:
    np.testing.assert_allclose(
        log_probs(improved(before, np.zeros(4), tmp_path / "same")), log_probs(before), atol=1e-6
    )


def test_a_tight_clip_stops_the_policy_near_the_writer(before: Path, tmp_path: Path) -> None:
    moved = [
        np.abs(log_probs(improved(before, REWARDED, tmp_path / f"{clip}", clip)) - log_probs(before)).mean()
        for clip in (0.02, 0.9)
    ]
    assert moved[0] < moved[1] / 2
