"""A row is read by itself to the bit, as the model reads it alone; candidates are public; both forms are clipped right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from fedtext.algorithms.dp_prediction.next_tokens import (
    GroupReader,
    NextTokens,
    likely,
    one_text_of_each,
    rows_are_alike,
)
from fedtext.algorithms.dp_prediction.prompts import filled, left_filled
from fedtext.params.dp_prediction import DpPrediction
from tests.parameters import conf_base

VOCABULARY, WIDTH = 40, 6
SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    torch.manual_seed(0)
    made: PreTrainedModel = LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, **SIZES)).eval()
    for weight in made.parameters():  # as it begins, it says hardly anything
        weight.data *= 3
    return made


def rows(count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return left_filled(
        [rng.integers(VOCABULARY, size=rng.integers(2, WIDTH + 1)).tolist() for _ in range(count)], WIDTH
    )


def params(**changes: Any) -> DpPrediction:
    return conf_base(DpPrediction, changes)


def test_logits_are_those_of_the_row_alone_and_of_what_is_added(model: PreTrainedModel) -> None:
    table = rows(5)
    side_by_side = NextTokens(model, table, 2)
    side_by_side.logits(())
    found = side_by_side.logits([3, 7])
    for row, own in zip(table, found, strict=True):
        ids = torch.tensor([[*row[row >= 0].tolist(), 3, 7]])
        assert own == pytest.approx(model(ids).logits[0, -1].detach().numpy(), abs=1e-4)


@pytest.mark.parametrize("gone", [0, 2, 4])
def test_a_row_that_goes_changes_no_bit_of_another(model: PreTrainedModel, gone: int) -> None:
    """With rows in other places and other company: a batch's last places repeat a row, which is then another one."""
    table = rows(5)
    assert rows_are_alike(model, WIDTH, 2)
    every, fewer = NextTokens(model, table, 2), NextTokens(model, np.delete(table, gone, axis=0), 2)
    for added in ((), (1,)):
        assert np.array_equal(np.delete(every.logits(added), gone, axis=0), fewer.logits(added))


def test_rows_that_are_not_alike_are_noticed(model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = type(model).forward

    def by_place(self: Any, **given: Any) -> Any:
        output = plain(self, **given)
        output.logits[-1] += 1e-4
        return output

    monkeypatch.setattr(type(model), "forward", by_place)
    assert not rows_are_alike(model, WIDTH, 2)


def reader(model: PreTrainedModel, count: int = 3, written_ends: int = 99, **changes: Any) -> GroupReader:
    return GroupReader(
        params=params(**changes),
        clip=0.5,
        margin=0.1,
        public=NextTokens(model, rows(1, seed=9), 1),
        private=NextTokens(model, rows(count), 2) if count else NextTokens(model, rows(1)[:0], 2),
        units=np.arange(count),
        begun=(),
        is_complete=lambda tokens: len(tokens) >= written_ends,
    )


def read(one: GroupReader, tokens: Sequence[int]) -> tuple[Any, Any]:
    candidates = one.candidates(tokens)
    assert candidates is not None
    return candidates, one.contributions(candidates)


def test_a_contribution_is_what_the_text_adds_to_public_logits(model: PreTrainedModel) -> None:
    candidates, said = read(reader(model), [])
    difference = NextTokens(model, rows(3), 1).logits(()) - NextTokens(model, rows(1, seed=9), 1).logits(())
    assert said.rows == pytest.approx(difference[:, candidates.tokens], abs=1e-4)


def test_the_forerunner_clips_from_the_likeliest_down_and_has_no_public_prompt(model: PreTrainedModel) -> None:
    candidates, said = read(reader(model, form="logits"), [])
    assert len(candidates.tokens) == VOCABULARY
    assert not candidates.nats.any()
    assert said.rows.max(axis=1) == pytest.approx([0.5] * 3)


def test_nobody_says_nothing(model: PreTrainedModel) -> None:
    for form in ("difference", "logits"):
        candidates, said = read(reader(model, count=0, form=form), [])
        assert said.rows.shape == (0, len(candidates.tokens))


def test_a_complete_text_has_no_candidates(model: PreTrainedModel) -> None:
    one = reader(model, written_ends=1)
    assert one.candidates([]) is not None
    assert one.candidates([4]) is None


def test_candidates_have_a_share_of_the_likeliest_less_a_margin() -> None:
    scores = np.log(np.array([1.0, 0.5, 0.11, 0.09, 0.01], dtype=np.float32))
    sampler = {"min_p": 0.1, "temperature": 1.0}
    assert likely(scores, params(sampler=sampler), 0.0).tokens.tolist() == [0, 1, 2]
    assert likely(scores, params(sampler=sampler), 0.2).tokens.tolist() == [0, 1, 2, 3]
    assert len(likely(scores, params(sampler={"min_p": 0.0}), 0.0).tokens) == 5
    cold = likely(scores, params(sampler={"min_p": 0.1, "temperature": 0.5}), 0.0)
    assert cold.tokens.tolist() == [0, 1]
    assert cold.nats == pytest.approx(scores[:2] / 0.5)


def test_a_unit_shows_one_of_its_own_texts_whoever_else_is_there() -> None:
    unit = np.array([7, 3, 7, 7, 5])
    units, chosen = one_text_of_each(unit, lambda one, held: one % held)
    assert (units.tolist(), chosen.tolist()) == ([3, 5, 7], [1, 4, 2])
    fewer, again = one_text_of_each(unit[unit != 3], lambda one, held: one % held)
    assert (fewer.tolist(), np.flatnonzero(unit != 3)[again].tolist()) == ([5, 7], [4, 2])


def test_rows_are_filled_up_and_cut_to_one_width() -> None:
    assert left_filled([[1], [1, 2, 3]], 2).tolist() == [[-1, 1], [2, 3]]
    assert filled([[1], [1, 2]], 3).tolist() == [[1, -1, -1], [1, 2, -1]]
