"""Pairs as rows of tokens: prompts shown by their end, answers scored from their start; log-probabilities by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from fedtext.generation.dialogue import Dialogue
from fedtext.generation.generators.local import LocalGenerator
from fedtext.params.training import PairTokens
from fedtext.training.client_gradients import as_unscored
from fedtext.training.local_steps import NO_TOKEN
from fedtext.training.preference_pairs import pair_log_probs, pair_rows, validate_pair_width
from tests.refusals import refuses

pytestmark = pytest.mark.usefixtures("in_float32")
GENERATOR = LocalGenerator("bundled:generator")
PAIRS = pd.DataFrame(
    {
        "prompt": ["Return the list", "Raise an error when " * 6],
        "chosen": ["of all values that were given", "none"],
        "rejected": ["sorted", "a value is missing " * 6],
    }
)
TOKENS = PairTokens(prompt=12, answer=8)


def rows() -> np.ndarray:
    return pair_rows(GENERATOR, PAIRS, TOKENS, Dialogue()).reshape(2, 2, -1)


def test_prompts_keep_their_end_and_answers_their_start() -> None:
    """An answer that is cut off is not said to end there."""
    _, tokenizer = GENERATOR.load()
    for pair, (prompt, *answers) in zip(rows(), PAIRS.to_numpy().tolist(), strict=True):
        whole = tokenizer(Dialogue().head(prompt))["input_ids"]
        for row, answer in zip(pair, answers, strict=True):
            shown = as_unscored(row[row < NO_TOKEN]).tolist()
            scored = row[row >= 0].tolist()
            assert shown[0] == tokenizer.bos_token_id
            assert shown[1:] == whole[-(len(shown) - 1) :]
            assert len(shown) == min(12, len(whole))
            whole_answer = tokenizer(f" {answer.strip()}", add_special_tokens=False)["input_ids"]
            assert scored == ([*whole_answer, tokenizer.eos_token_id] if len(whole_answer) <= 8 else whole_answer[:8])


def test_a_pair_s_rows_do_not_depend_on_the_others() -> None:
    alone = pair_rows(GENERATOR, PAIRS.iloc[1:], TOKENS, Dialogue())
    assert np.array_equal(alone[0], rows()[1].reshape(-1))


def test_log_probabilities_are_those_of_the_answers_tokens() -> None:
    model, made = GENERATOR.load()[0].float(), rows()
    found = pair_log_probs(GENERATOR, made.reshape(2, -1))
    for pair, told in zip(made, found, strict=True):
        for row, value in zip(pair, told, strict=True):
            ids = torch.from_numpy(row[row != NO_TOKEN].astype(np.int64)).to(model.device)
            shown = torch.where(ids < 0, -2 - ids, ids)
            with torch.no_grad():
                logs = model(input_ids=shown[None]).logits[0].log_softmax(-1)
            by_hand = sum(float(logs[i - 1, shown[i]]) for i in range(1, len(ids)) if ids[i] >= 0)
            assert value == pytest.approx(by_hand, abs=1e-3)


def test_a_pair_that_is_too_long_for_the_generator_is_refused() -> None:
    with refuses("prompt-and-answer-too-long", parameter="dp_ft.tokens"):
        validate_pair_width(GENERATOR, PairTokens(prompt=10_000, answer=8), "dp_ft.tokens")
