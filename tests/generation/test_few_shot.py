"""Prompts by class that borrow where a class is small, and the first texts that are written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.generation.few_shot import draw_prompts, first_nonempty, prompts_by_class
from fedtext.generation.prompt_forms import Chat, SampleList
from tests.refusals import refuses

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


def test_without_spare_texts_a_small_class_shows_none() -> None:
    drawn = prompts_by_class(
        SAMPLES, None, count=4, classes=["t", "r"], form=SampleList(), rng=np.random.default_rng(0)
    )
    assert [len(shown(prompt)) for prompt in drawn["prompt"]] == [3, 0, 3, 0]
    assert drawn["label"].tolist() == ["t", "r", "t", "r"]


def test_without_classes_all_samples_are_shown() -> None:
    drawn = prompts_by_class(SAMPLES, SPARE, count=40, classes=[None], form=SampleList(), rng=np.random.default_rng(0))
    assert {text for prompt in drawn["prompt"] for text in shown(prompt)} == set(SAMPLES["text"])
    assert drawn["label"].isna().all()


TOPICS = pd.DataFrame(
    {"text": [f"{topic} {i}" for topic in "abcd" for i in range(5)], "label": [*"aaaaabbbbbcccccddddd"]}
)


def asked(samples: pd.DataFrame, pool: list[int], form: Chat, classes: list[str | None]) -> list[tuple[str, set[str]]]:
    """What each of 40 prompts asks for, and the topics of the samples it shows."""
    drawn = draw_prompts(samples, np.array(pool), count=40, classes=classes, form=form, rng=np.random.default_rng(0))
    lines = [prompt.splitlines() for prompt in drawn["prompt"]]
    return [(rows[-1].removeprefix("Please write a new one"), {r[1] for r in rows if r[:1] == '"'}) for rows in lines]


def test_described_samples_are_shown_topic_by_topic_as_often_as_the_pool_has_them() -> None:
    prompts = asked(TOPICS, [0, 1, 2, 3, 5, 6, 7, 10, 11], Chat("letters"), [None])
    assert {task for task, _ in prompts} == {" about a.", " about b.", " about c."}
    assert all(topics == {task[-2]} for task, topics in prompts if task != " about c.")
    assert all(len(topics) == 2 and "c" in topics for task, topics in prompts if task == " about c.")  # two there are
    assert sum(task == " about a." for task, _ in prompts) > sum(task == " about c." for task, _ in prompts)


@pytest.mark.parametrize(
    ("samples", "form", "classes"),
    [
        (TOPICS, Chat(), [None]),
        (TOPICS, Chat("letters"), ["d"]),
        (TOPICS.assign(label=[None, *TOPICS["label"][1:]]), Chat("letters"), [None]),
    ],
)
def test_labels_are_topics_only_where_texts_are_described_and_no_class_is_asked_for(
    samples: pd.DataFrame, form: Chat, classes: list[str | None]
) -> None:
    prompts = asked(samples, list(range(20)), form, classes)
    assert any(len(topics) == 3 for _, topics in prompts)
    assert {task for task, _ in prompts} == {f" about {classes[0]}." if classes[0] else "."}


def test_too_little_to_borrow_is_an_error() -> None:
    with refuses("too-few-samples-to-show"):
        prompts_by_class(
            SAMPLES[:1], SPARE[:1], count=1, classes=["t"], form=SampleList(), rng=np.random.default_rng(0)
        )


def test_the_first_written_texts() -> None:
    texts = pd.DataFrame({"text": ["", "a", "", "b", "c", "d"], "label": [None] * 6})
    assert first_nonempty(texts, 2).tolist() == [1, 3]
    of_classes = texts.assign(label=["x", "x", "x", "x", "x", "y"])
    assert first_nonempty(of_classes, 2).tolist() == [1, 5]
    assert first_nonempty(of_classes, 3).tolist() == [1, 3, 5]
    assert first_nonempty(of_classes, 9).tolist() == [1, 3, 4, 5]  # a class that is short of texts is not waited for
