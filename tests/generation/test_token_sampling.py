"""Draws against the plain definitions: a whole stable sort for the nucleus, a comparison with the highest for min-p."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation import token_sampling
from fedtext.generation.token_sampling import draw_tokens, penalised, without_repeats

UNIFORMS = torch.linspace(0, 1, 801)[:-1]
LOGITS = st.lists(st.integers(-12, 12), min_size=1, max_size=40)  # few values, so many ties


def plain_set(logits: torch.Tensor, top_p: float, min_p: float) -> torch.Tensor:
    """Which tokens may be drawn, by the definitions, token by token."""
    probabilities = torch.softmax(logits, -1)
    order = sorted(range(len(logits)), key=lambda i: (-probabilities[i].item(), i))
    kept, ahead = torch.zeros(len(logits), dtype=torch.bool), torch.zeros(())
    for i in order:
        kept[i] = bool(ahead < top_p or top_p == 1) and bool(probabilities[i] >= min_p * probabilities.max())
        ahead = ahead + probabilities[i]
    return kept


def test_nucleus_keeps_the_smallest_set_that_holds_its_mass() -> None:
    logits = torch.tensor([0.15, 0.5, 0.05, 0.3]).log()
    tokens = draw_tokens(logits.expand(800, -1), UNIFORMS, temperature=1.0, top_p=0.7)
    # A draw at the border itself goes by the last bit of a logarithm, which processors round differently.
    assert (tokens.bincount(minlength=4) - torch.tensor([0, 500, 0, 300])).abs().tolist() in ([0] * 4, [0, 1, 0, 1])


def test_min_p_keeps_what_has_its_share_of_the_highest() -> None:
    logits = torch.tensor([0.15, 0.5, 0.05, 0.3]).log()
    tokens = draw_tokens(logits.expand(800, -1), UNIFORMS, temperature=1.0, top_p=1.0, min_p=0.5)
    # A draw at the border itself goes by the last bit of a logarithm, which processors round differently.
    assert (tokens.bincount(minlength=4) - torch.tensor([0, 500, 0, 300])).abs().tolist() in ([0] * 4, [0, 1, 0, 1])
    both = draw_tokens(logits.expand(800, -1), UNIFORMS, temperature=1.0, top_p=0.9, min_p=0.7)
    assert both.bincount(minlength=4).tolist() == [0, 800, 0, 0]


@given(LOGITS, st.sampled_from([0.0, 0.05, 0.3, 0.9]), st.floats(0.5, 2), st.sampled_from([("cpu",), ()]))
def test_min_p_draws_from_the_renormalised_rest(
    values: list[int], min_p: float, temperature: float, few_sooner: tuple[str, ...]
) -> None:
    logits = torch.tensor(values, dtype=torch.float32)
    kept = plain_set(logits / temperature, 1.0, min_p)
    wanted = torch.softmax(logits / temperature, -1).masked_fill(~kept, 0.0)
    asked = {"temperature": temperature, "top_p": 1.0, "min_p": min_p}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_sampling, "FEW_SOONER", few_sooner)  # as a CPU draws, and as a GPU
        tokens = draw_tokens(logits.expand(len(UNIFORMS), -1), UNIFORMS, **asked)
    drawn = tokens.bincount(minlength=len(values)) / len(UNIFORMS)
    assert (drawn - wanted / wanted.sum()).abs().max() <= 2 / len(UNIFORMS)
    assert not drawn[~kept].any()


@given(st.data(), st.floats(0.05, 0.999), st.sampled_from([0.0, 0.1]), st.integers(1, 12))
def test_a_nucleus_is_the_same_however_many_tokens_are_sorted_first(
    data: st.DataObject, top_p: float, min_p: float, first: int
) -> None:
    size = data.draw(st.integers(1, 40))
    rows = data.draw(st.lists(st.lists(st.integers(-4, 4), min_size=size, max_size=size), min_size=1, max_size=4))
    logits = torch.tensor(rows, dtype=torch.float32)[:, None].expand(-1, len(UNIFORMS), -1)
    uniforms = UNIFORMS.expand(len(rows), -1)
    asked = {"temperature": 1.0, "top_p": top_p, "min_p": min_p}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_sampling, "FIRST", size)
        whole = draw_tokens(logits, uniforms, **asked)
        patch.setattr(token_sampling, "FIRST", first)
        assert torch.equal(draw_tokens(logits, uniforms, **asked), whole)
    for row, tokens in zip(logits[:, 0], whole, strict=True):
        kept = plain_set(row, top_p, min_p)
        wanted = torch.softmax(row, -1).masked_fill(~kept, 0.0)
        drawn = tokens.bincount(minlength=size) / len(UNIFORMS)
        assert (drawn - wanted / wanted.sum()).abs().max() <= 2 / len(UNIFORMS)


def test_a_nucleus_wider_than_what_is_sorted_first_is_drawn_from_whole() -> None:
    flat = torch.zeros(4 * token_sampling.FIRST)  # all equal: half of them are the nucleus, by their number
    tokens = draw_tokens(flat.expand(800, -1), UNIFORMS, temperature=1.0, top_p=0.5)
    assert tokens.max() == pytest.approx(2 * token_sampling.FIRST, abs=4)
    assert len(tokens.unique()) == 800


def test_rows_of_which_min_p_keeps_different_numbers_are_drawn_from_each_by_itself() -> None:
    rows = torch.tensor([[0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 9.0], [0.0, 0.0, 9.0, 0.0]])
    for uniform, wanted in ((0.0, [0, 0, 2]), (0.49, [1, 0, 2]), (0.51, [2, 3, 2]), (0.99, [3, 3, 2])):
        draws = torch.full((3,), uniform)
        assert draw_tokens(rows, draws, temperature=1.0, top_p=1.0, min_p=0.5).tolist() == wanted


def test_logits_that_are_no_numbers_are_no_error() -> None:
    """A policy that has diverged is told by its texts, not by a crash in the midst of a batch."""
    nothing = torch.full((2, 3), torch.nan)
    assert draw_tokens(nothing, torch.tensor([0.1, 0.9]), temperature=1.0, top_p=1.0, min_p=0.1).shape == (2,)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=40), st.data())
def test_impossible_tokens_are_never_drawn(values: list[float], data: st.DataObject) -> None:
    allowed = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)).filter(any))
    uniform = data.draw(st.sampled_from([0.0, 0.5, float(np.nextafter(np.float32(1), np.float32(0)))]))
    top_p, min_p = data.draw(st.sampled_from([1.0, 0.9])), data.draw(st.sampled_from([0.0, 0.1]))
    logits = torch.tensor([v if a else -torch.inf for v, a in zip(values, allowed, strict=True)])
    token = draw_tokens(logits[None], torch.tensor([uniform]), temperature=1.0, top_p=top_p, min_p=min_p)
    assert allowed[int(token)]


@given(st.integers(0, 2**31), st.floats(1.0, 2.0))
def test_the_penalty_is_that_of_transformers(seed: int, penalty: float) -> None:
    from transformers import RepetitionPenaltyLogitsProcessor

    drawn = torch.Generator().manual_seed(seed)
    logits = torch.randn(3, 11, generator=drawn) * 4
    held = torch.randint(0, 11, (3, 6), generator=drawn)
    expected = RepetitionPenaltyLogitsProcessor(penalty)(held, logits.clone())
    assert torch.allclose(penalised(logits.clone(), held, penalty), expected, rtol=1e-5)


@given(LOGITS, st.integers(1, 8), st.sampled_from([(1.0, 0.0), (1.0, 0.1), (0.8, 0.0)]))
def test_top_k_draws_from_the_k_likeliest_and_their_equals(
    values: list[int], top_k: int, limits: tuple[float, float]
) -> None:
    logits, (top_p, min_p) = torch.tensor(values, dtype=torch.float32), limits
    least = sorted(values, reverse=True)[min(top_k, len(values)) - 1]
    asked = {"temperature": 1.0, "top_p": top_p, "min_p": min_p}
    drawn = draw_tokens(logits.expand(len(UNIFORMS), -1), UNIFORMS, top_k=top_k, **asked)
    assert (logits[drawn] >= least).all()
    alone = logits.masked_fill(logits < least, -torch.inf)
    assert torch.equal(drawn, draw_tokens(alone.expand(len(UNIFORMS), -1), UNIFORMS, **asked))


def test_no_top_k_changes_nothing() -> None:
    logits = torch.randn(4, 30, generator=torch.Generator().manual_seed(0))
    asked = {"temperature": 1.0, "top_p": 1.0, "min_p": 0.05}
    draws = torch.linspace(0.1, 0.9, 4)
    assert torch.equal(draw_tokens(logits, draws, **asked), draw_tokens(logits, draws, top_k=30, **asked))


@given(st.lists(st.integers(0, 3), min_size=0, max_size=12), st.integers(1, 3))
def test_what_would_repeat_a_run_of_tokens_is_excluded_and_nothing_else(held: list[int], ngram: int) -> None:
    found = without_repeats(torch.zeros(1, 5), torch.tensor([held], dtype=torch.long), ngram)[0]
    runs = {tuple(held[at : at + ngram]) for at in range(len(held) - ngram + 1)}
    for token in range(5):
        repeats = len(held) >= ngram - 1 and (*held[len(held) - ngram + 1 :], token) in runs
        assert (found[token] == -torch.inf) == repeats


def test_rows_are_barred_from_their_own_repeats_alone() -> None:
    held = torch.tensor([[1, 2, 1], [3, 2, 3]])
    found = without_repeats(torch.zeros(2, 4), held, 2)
    assert (found == -torch.inf).nonzero().tolist() == [[0, 2], [1, 2]]
    held = torch.tensor([[1, 2, 1], [3, 2, 1]])
    assert (without_repeats(torch.zeros(2, 4), held, 2) == -torch.inf).nonzero().tolist() == [[0, 2]]
