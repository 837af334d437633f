"""DPPrefSyn's nodes: a policy is trained in the form that it will be asked in, the corpus's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedtext.models.generator import Framing
from fedtext.params.dpprefsyn import Dpprefsyn
from fedtext.pipelines.dpprefsyn import nodes
from fedtext.pipelines.evaluation.nodes.preferences import order_held_out_pairs
from tests.parameters import conf_base

PAIRS = pd.DataFrame({"prompt": ["A post."], "chosen": ["short"], "rejected": ["long"]})
TRANSCRIPT = conf_base(Dpprefsyn, sampler={"prompt": "list"})


class Begun:
    """A generator that is shown requests as they are."""

    def completion_prompts(self, requests: Sequence[str], framing: Framing) -> list[str]:
        return list(requests)

    def ending(self, framing: Framing) -> str:
        return framing.closing

    def with_adapter(self, path: Path) -> Begun:
        return self


@pytest.mark.parametrize(("source", "asked"), [("tldr", "A post.\n\nSummary:"), ("hh", "Human: A post.\n\nAssistant:")])
def test_a_policy_is_trained_in_the_form_of_its_corpus(
    monkeypatch: pytest.MonkeyPatch, source: str, asked: str
) -> None:
    seen: list[str] = []

    def preferring(_: Any, pairs: pd.DataFrame, *__: Any, **___: Any) -> tuple[None, list[Any]]:
        seen.extend(pairs["prompt"])
        return None, []

    def tuning(*_: Any, prompts: list[str], **__: Any) -> tuple[None, list[Any]]:
        seen.extend(prompts)
        return None, []

    monkeypatch.setattr(nodes, "train_preferences", preferring)
    monkeypatch.setattr(nodes, "train_on_texts", tuning)
    nodes.prefer(Begun(), PAIRS, source, TRANSCRIPT)  # type: ignore[arg-type]
    nodes.tune_on_chosen(Begun(), PAIRS, source, TRANSCRIPT)  # type: ignore[arg-type]
    assert seen == [asked, asked]


def test_public_pairs_are_embedded_in_the_form_of_the_corpus(tmp_path: Path) -> None:
    PAIRS.to_csv(tmp_path / "pairs.csv", index=False)
    params = conf_base(Dpprefsyn, form="public", public_pairs=str(tmp_path / "pairs.csv"))
    encoder = Reading()
    nodes.learn_public_scorer(encoder, "tldr", params)  # type: ignore[arg-type]
    assert set(encoder.read) == {"A post.\n\nSummary: short", "A post.\n\nSummary: long"}


class Reading:
    """An encoder that remembers what it read."""

    dim = 4

    def __init__(self) -> None:
        self.read: list[str] = []

    def fitted(self, heads: Sequence[str], answers: Sequence[Sequence[str]]) -> list[str]:
        return list(heads)

    def encode(self, texts: Sequence[str], **_: Any) -> np.ndarray:
        self.read.extend(texts)
        return np.eye(self.dim, dtype=np.float32)[[len(text) % self.dim for text in texts]]


@pytest.mark.parametrize("seed", range(6))
def test_a_pair_that_the_scorer_cannot_tell_apart_is_ordered_by_half_whatever_the_shares(seed: int) -> None:
    """Noised shares add up to 1 but for rounding, which must not decide a tie."""
    shares = np.random.default_rng(seed).random(5)
    scorers = {"heads": np.zeros((5, 4)), "mixture": shares / shares.sum()}
    held = {"prompt": ["p"] * 4, "chosen": list("abcd"), "rejected": list("efgh"), "client_id": list("wxyz")}
    found = order_held_out_pairs(
        pd.DataFrame(held),
        Reading(),
        "table",
        scorers,
        pd.DataFrame(),  # type: ignore[arg-type]
    )
    assert found["conditions"]["preferences"]["pairwise_accuracy"] == 0.5
