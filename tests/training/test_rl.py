"""RLOO: answers that are rewarded become likelier; a broken reward and no prompt are refused."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.generation.generators.local import LocalGenerator
from fedtext.params.dpprefsyn import Rewarded
from fedtext.params.generation import Sampler
from fedtext.params.training import Lora
from fedtext.training import lora
from fedtext.training.rl import train_on_rewards
from tests.parameters import conf_base
from tests.refusals import refuses

pytestmark = pytest.mark.filterwarnings("ignore")  # TRL and transformers themselves

PROMPTS = ["Return the sorted list", "Raise an error when"]
SAMPLER = conf_base(Sampler, max_new_tokens=6, min_p=0.0, temperature=1.0)


@pytest.fixture(autouse=True)
def full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lora, "is_bfloat16_faster", lambda device: False)


def share_of_e(prompts: list[str], answers: list[str]) -> list[float]:
    """Few letters e are better."""
    return [-answer.count("e") / max(len(answer), 1) for answer in answers]


@pytest.mark.slow
def test_what_is_rewarded_becomes_likelier() -> None:
    base = LocalGenerator("bundled:generator")
    params = conf_base(Rewarded, completions=8, steps=15, prompts_per_step=2, kl=0.0, learning_rate=3e-3)
    lora = conf_base(Lora, rank=4, alpha=8)
    adapter, history = train_on_rewards(base, PROMPTS, share_of_e, params, lora, sampler=SAMPLER, seed=1)
    assert len(history) == 15
    assert sum(e["reward"] for e in history[-3:]) / 3 > sum(e["reward"] for e in history[:3]) / 3 + 0.03
    assert any(bool(w.abs().max() > 0) for name, w in adapter.weights.items() if "lora_B" in name)


def test_no_prompt_and_a_broken_reward_are_refused(llama: Any) -> None:
    params, lora = conf_base(Rewarded, completions=2, steps=1, prompts_per_step=1), conf_base(Lora, rank=2)
    with refuses("no-prompts"):
        train_on_rewards(llama, [], share_of_e, params, lora, sampler=SAMPLER, seed=0)
    with refuses("reward-not-finite"):
        train_on_rewards(
            llama, PROMPTS, lambda p, a: [float("nan")] * len(a), params, lora, sampler=SAMPLER, seed=0
        )  # fmt: skip
