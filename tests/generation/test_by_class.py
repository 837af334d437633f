"""Labelled texts side by side: counts of generator, class and attribute, prompts that show their own class alone."""

from __future__ import annotations

from typing import Any

import pytest

from fedtext.generation import few_shot
from fedtext.generation.by_class import class_prompts, labelled_texts_of
from fedtext.generation.prompt_forms import Chat
from fedtext.params.generation import Prompt, Sampler
from fedtext.params.labelled import LabelledWriting
from fedtext.params.task import Task
from tests.parameters import conf_base
from tests.refusals import refuses

TASK = conf_base(Task, labels="lost_card exchange_rate", attributes="short polite")
WRITING = conf_base(LabelledWriting, responses=3)


class Echo:
    """Writes what it is asked, after its own name; every `blank`-th text is empty."""

    def __init__(self, name: str, blank: int = 10**9, prompt: Prompt | None = None) -> None:
        self.name, self.blank, self.asked, self.prompt = name, blank, list[str](), prompt

    def write(self, requests: list[str], *, responses: int, seed: int, **_: Any) -> list[list[str]]:
        self.asked += requests
        rows = [[f"{self.name} {seed} {n} {request}" for n in range(responses)] for request in requests]
        count = iter(range(len(requests) * responses))
        return [["" if next(count) % self.blank == 0 else text for text in row] for row in rows]

    def length_tokenizer(self) -> None:
        return None

    def own(self, sampler: Sampler) -> Sampler:
        return sampler.for_generator(None, self.prompt)


@pytest.fixture(autouse=True)
def as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_shot, "clean_samples", lambda texts, *_, **__: list(texts))


def written(count: int, task: Task = TASK, **generators: Echo) -> Any:
    return labelled_texts_of(generators, task, WRITING, count=count, length=64, seed=1, label="test")  # type: ignore[arg-type]


def test_as_many_of_every_generator_class_and_attribute() -> None:
    found = written(25, b=Echo("b"), a=Echo("a"))
    assert len(found) == 25
    assert found["generator"].value_counts().to_dict() == {"a": 13, "b": 12}
    cells = found.groupby(["generator", "label", "attribute"]).size()
    assert len(cells) == 8
    assert set(cells) <= {3, 4}
    assert all("lost card" in text for text in found.loc[found["label"] == "lost_card", "text"])
    assert found["label"].head(2).tolist() == ["lost_card", "exchange_rate"]  # classes take turns


def test_each_generator_is_asked_in_its_own_form() -> None:
    plain, talker = Echo("plain"), Echo("talker", prompt="chat")
    written(16, plain=plain, talker=talker)
    assert all(request.startswith("List of 6") for request in plain.asked)
    assert all(request.startswith("I collect") for request in talker.asked)


def test_one_more_generator_changes_nothing_of_what_another_writes() -> None:
    alone, beside = written(12, a=Echo("a")), written(24, a=Echo("a"), b=Echo("b"))
    assert alone["text"].tolist() == beside.loc[beside["generator"] == "a", "text"].tolist()


def test_a_generator_that_writes_too_little_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    found = written(24, a=Echo("a"), b=Echo("b", blank=1))
    assert set(found["generator"]) == {"a"}
    assert "12 texts of the 24 wanted can be used (a 12)" in caplog.text


def test_bad_input() -> None:
    with refuses("no-usable-text-of-class"):
        written(8, a=Echo("a", blank=1))
    with refuses("too-few-texts-to-share", value=3):
        written(3, a=Echo("a"), b=Echo("b"))


def test_a_prompt_shows_examples_of_its_own_class_with_braces_and_quotes() -> None:
    shown = {"lost_card": ['He said "{gone}"'], "exchange_rate": ["the rate"]}
    prompts = class_prompts(Chat("questions"), TASK, WRITING, each=3, examples=shown)
    own = prompts[prompts["label"] == "lost_card"]["prompt"]
    assert all('He said "{gone}"' in prompt and "the rate" not in prompt for prompt in own)
    assert {"short", "polite"} == {name for name in TASK.attributes if any(name in prompt for prompt in own)}
