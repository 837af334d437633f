"""Likelihoods of texts behind a prompt, by the bundled generator, against a plain pass over prompt and text."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fedtext.generation.generators.local import LocalGenerator
from fedtext.generation.likelihood import mean_log_likelihoods

PROMPT = "List of 6 diverse original text samples:\nOriginal Text Sample 1\n"
TEXTS = ["Return the sum of two numbers.", "Close.", "", "Read a file, and close it whatever happens in between.", "x"]


@pytest.fixture(scope="module")
def generator() -> LocalGenerator:
    return LocalGenerator("bundled:generator")


def plain(generator: LocalGenerator, text: str, prompt: str = PROMPT) -> float:
    """Return the mean over each token's first place, by one pass over prompt and text, without cache and padding."""
    model, tokenizer = generator.load()
    before = tokenizer(prompt)["input_ids"]
    own = tokenizer(text, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([before + own])).logits[0].float().log_softmax(-1)
    first = {token: len(before) - 1 + own.index(token) for token in own}
    return float(np.mean([float(logits[place, token]) for token, place in first.items()]))


def test_a_batch_gives_what_each_text_gives_alone(generator: LocalGenerator) -> None:
    found = mean_log_likelihoods(generator, [PROMPT] * len(TEXTS), TEXTS)

    assert np.isnan(found[2])
    for number in (0, 1, 3, 4):
        assert found[number] == pytest.approx(plain(generator, TEXTS[number]), abs=0.05)  # bfloat16 on some hardware


def test_each_text_is_read_behind_its_own_prompt_and_the_model_is_loaded_once(
    generator: LocalGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = [PROMPT, "def close():", PROMPT, PROMPT, "def close():"]
    loaded = generator.load()
    times: list[int] = []
    monkeypatch.setattr(LocalGenerator, "load", lambda _: times.append(1) or loaded)

    found = mean_log_likelihoods(generator, prompts, TEXTS)

    assert times == [1]
    monkeypatch.undo()
    for number in (0, 1, 3, 4):
        assert found[number] == pytest.approx(plain(generator, TEXTS[number], prompts[number]), abs=0.05)
    assert abs(plain(generator, "x", PROMPT) - plain(generator, "x", "def close():")) > 0.1, "the prompts say the same"


def test_words_in_their_order_are_likelier_than_in_none(generator: LocalGenerator) -> None:
    said = "Return the number of bytes that were read from the file."
    mixed = "file the of that bytes Return read number were from the."

    right, wrong = mean_log_likelihoods(generator, [PROMPT] * 2, [said, mixed])

    assert right > wrong + 1


def test_a_loop_is_no_likelier_than_its_beginning(generator: LocalGenerator) -> None:
    loop, said = "1. 1. 1. 1. 1. 1. 1. 1. 1. 1.", "Return the number of bytes that were read."
    once = loop[: len("1. 1.")]

    found = mean_log_likelihoods(generator, [PROMPT] * 3, [loop, once, said])

    assert found[0] == pytest.approx(found[1], abs=0.05)
    assert found[0] < found[2]


def test_no_texts_have_no_likelihoods(generator: LocalGenerator) -> None:
    assert mean_log_likelihoods(generator, [], []).shape == (0,)
