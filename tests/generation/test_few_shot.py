"""Prompts by class that borrow where a class is small, and the first texts that are written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.generation.few_shot import first_written, prompts_by_class
from fedtext.generation.prompt_forms import SampleList

SPARE = pd.DataFrame({"text": [f"spare {i}" for i in range(6)]})
SAMPLES = pd.DataFrame({"text": ["a", "b", "c", "c", "x", "y"], "label": ["t"] * 4 + ["r"] * 2})


def shown(prompt: str) -> list[str]:
    return [line for line in prompt.splitlines()[1:] if not line.startswith("Original Text Sample")]


@pytest.mark.parametrize("count", [0, 1, 5, 8])
def test_classes_take_turns_and_show_their_own_distinct_texts(count: int) -> None:
    drawn = prompts_by_class(
        SAMPLES, SPARE, count=count, classes=["t", "r"], form=SampleList(), rng=np.random.default_rng(0)
    )
    assert drawn["prompt_id"].tolist() == list(range(count))
    assert drawn["label"].tolist() == [["t", "r"][k % 2] for k in range(count)]
    for label, prompt in zip(drawn["label"], drawn["prompt"], strict=True):
        texts = shown(prompt)
        assert len(set(texts)) == 3
        assert set(texts) == {"a", "b", "c"} if label == "t" else {"x", "y"} < set(texts)


def test_without_classes_all_samples_are_shown() -> None:
    drawn = prompts_by_class(SAMPLES, SPARE, count=40, classes=[None], form=SampleList(), rng=np.random.default_rng(0))
    assert {text for prompt in drawn["prompt"] for text in shown(prompt)} == set(SAMPLES["text"])
    assert drawn["label"].isna().all()


def test_too_little_to_borrow_is_an_error() -> None:
    with pytest.raises(ValueError, match="2 samples to draw"):
        prompts_by_class(
            SAMPLES[:1], SPARE[:1], count=1, classes=["t"], form=SampleList(), rng=np.random.default_rng(0)
        )


def test_the_first_written_texts() -> None:
    assert first_written(pd.DataFrame({"text": ["", "a", "", "b", "c"]}), 2).tolist() == [1, 3]
