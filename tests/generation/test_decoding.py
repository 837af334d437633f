from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig

from fedtext.generation import decoding
from fedtext.generation.branch_attention import branch_attention
from fedtext.generation.decoding import CHECK_EVERY, decode, refuse_unfit
from fedtext.generation.drawing import draw_tokens
from fedtext.generation.kv_cache import Layout

PROMPTS = [[5, 9, 33, 47, 60, 12, 8], [70, 71], [14, 90, 15, 91, 16]]
STEPS = 2 * CHECK_EVERY + 3


def padded(prompts):
    length = max(map(len, prompts))
    ids = torch.tensor([[2] * (length - len(p)) + p for p in prompts])
    real = torch.tensor([[0] * (length - len(p)) + [1] * len(p) for p in prompts])
    return ids, real


def draws(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random((rows, STEPS), dtype=np.float32))


def never(tokens):
    return torch.zeros(len(tokens), dtype=torch.bool)


def run(model, prompts, uniforms, *, temperature=1.0, is_complete=never):
    return decode(
        model, *padded(prompts), uniforms, temperature=temperature, top_p=1.0, min_p=0.0, is_complete=is_complete
    )


def test_cold_decoding_is_greedy_generation_of_each_prompt_alone(model):
    responses = 3
    tokens = run(model, PROMPTS, draws(len(PROMPTS) * responses), temperature=1e-5)
    for i, prompt in enumerate(PROMPTS):
        alone = model.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=STEPS, eos_token_id=None, pad_token_id=2
        )[0, len(prompt) :]
        for j in range(responses):
            assert tokens[i * responses + j].tolist() == alone.tolist()


@pytest.mark.parametrize("responses", [1, 5, 17])
def test_a_branch_sees_its_prompt_and_itself_only(model, responses):
    uniforms = draws(len(PROMPTS) * responses)
    together = run(model, PROMPTS, uniforms)
    assert len({tuple(row.tolist()) for row in together}) == len(together)
    for i, prompt in enumerate(PROMPTS):
        for j in (0, responses // 2, responses - 1):
            row = i * responses + j
            assert run(model, [prompt], uniforms[row : row + 1])[0].tolist() == together[row].tolist()


def test_a_branch_that_sees_its_prompts_padding_would_be_seen(model, monkeypatch):
    uniforms = draws(2 * len(PROMPTS))
    right = run(model, PROMPTS, uniforms)
    monkeypatch.setattr(decoding, "Layout", lambda padding, prompts: Layout(torch.zeros_like(padding), prompts))
    assert not torch.equal(run(model, PROMPTS, uniforms), right)


@pytest.mark.parametrize("in_parts", [True, False])
@pytest.mark.parametrize("finished", [{0}, {1, 2, 3}, {0, 1, 2, 3, 4, 8, 9}, {5, 6, 7, 8, 9}, set(range(10))])
def test_complete_responses_leave_without_a_trace(llama, finished, in_parts):
    responses = 5
    uniforms = draws(10)
    full = run(llama, PROMPTS[:2], uniforms)
    widths = []
    handle = llama.register_forward_pre_hook(
        lambda _, __, kwargs: widths.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    firsts = [full[i, 0].item() * 1000 + full[i, 1].item() for i in range(10)]

    def is_complete(tokens):
        marks = tokens[:, 0] * 1000 + tokens[:, 1]
        return torch.tensor([int(m) in {firsts[i] for i in finished} for m in marks])

    try:
        with branch_attention(llama) if in_parts else nullcontext():
            tokens = run(llama, PROMPTS[:2], uniforms, is_complete=is_complete)
    finally:
        handle.remove()
    for i in set(range(10)) - finished:
        assert tokens[i].tolist() == full[i].tolist()
    steps = widths[1:]  # the first is the prompts
    assert steps[: CHECK_EVERY - 1] == [2 * responses] * (CHECK_EVERY - 1)
    if len(finished) == 10:
        assert len(steps) == CHECK_EVERY - 1
    else:
        assert steps[CHECK_EVERY - 1 :] == [10 - len(finished)] * (STEPS - CHECK_EVERY)


def test_few_complete_responses_stay_until_more_are(llama, monkeypatch):
    monkeypatch.setattr(decoding, "SHRINK", 0.5)
    seen = []
    handle = llama.register_forward_pre_hook(
        lambda _, __, kwargs: seen.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    complete = iter([[0], [1, 2, 3], *[[]] * STEPS])
    gone = torch.zeros(6, dtype=torch.bool)

    def is_complete(tokens):
        left = (~gone).nonzero()[:, 0]
        gone[next(complete)] = True
        return gone[left]

    try:
        run(llama, PROMPTS, draws(6), is_complete=is_complete)
    finally:
        handle.remove()
    steps = seen[1:]
    assert steps[: 2 * CHECK_EVERY - 1] == [6] * (2 * CHECK_EVERY - 1)
    assert set(steps[2 * CHECK_EVERY - 1 :]) == {2}


def test_a_prompt_is_read_once_for_all_its_responses(llama):
    seen = []
    handle = llama.register_forward_pre_hook(
        lambda _, __, kwargs: seen.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    try:
        run(llama, PROMPTS, draws(4 * len(PROMPTS)))
    finally:
        handle.remove()
    assert seen == [(3, 7)] + [(12, 1)] * (STEPS - 1)


def chi_square(tokens, probabilities) -> float:
    counts = np.bincount(tokens, minlength=len(probabilities))
    expected = probabilities * len(tokens)
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    kept = wanted > 0
    return float(stats.chisquare(observed[kept], wanted[kept] * observed[kept].sum() / wanted[kept].sum()).pvalue)


def test_drawn_tokens_follow_the_softmax_and_no_other_temperature(llama):
    number = 40_000
    logits = llama(torch.tensor([PROMPTS[0]])).logits[0, -1].detach()
    uniforms = torch.from_numpy(np.random.default_rng(1).random(number, dtype=np.float32))
    tokens = draw_tokens(logits.expand(number, -1), uniforms, temperature=0.7, top_p=1.0).numpy()
    assert chi_square(tokens, torch.softmax(logits.double() / 0.7, -1).numpy()) > 0.01
    assert chi_square(tokens, torch.softmax(logits.double() / 0.735, -1).numpy()) < 1e-4  # 5% too warm


def test_first_tokens_of_a_decode_follow_the_softmax(llama):
    responses = 4000
    uniforms = torch.from_numpy(np.random.default_rng(2).random((responses, 1), dtype=np.float32))
    tokens = run(llama, [PROMPTS[0]], uniforms)[:, 0].numpy()
    logits = llama(torch.tensor([PROMPTS[0]])).logits[0, -1].detach()
    assert chi_square(tokens, torch.softmax(logits.double(), -1).numpy()) > 0.01
    assert chi_square(tokens, torch.softmax(logits.double() * 1.3, -1).numpy()) < 1e-4


def tiny_config(kind: str, **changes: object) -> PretrainedConfig:
    """Two layers of one head."""
    return AutoConfig.for_model(
        kind, hidden_size=16, num_hidden_layers=2, num_layers=2, num_attention_heads=2, num_heads=2, vocab_size=100,
        num_key_value_heads=2, intermediate_size=32, **changes,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("mistral", {"sliding_window": 8}),
        ("gpt_neo", {"window_size": 8, "attention_types": [[["global", "local"], 1]]}),
    ],
)
def test_a_model_that_looks_back_a_number_of_places_only_is_refused(kind, changes):
    narrow = AutoModelForCausalLM.from_config(tiny_config(kind, **changes)).eval()
    with pytest.raises(ValueError, match=rf"{kind} looks back 8 tokens only; .* takes 30"):
        refuse_unfit(narrow, 30)
    refuse_unfit(narrow, 8)


def test_a_model_without_positions_is_refused():
    bloom = AutoModelForCausalLM.from_config(tiny_config("bloom", n_layer=2, n_head=2))
    with pytest.raises(ValueError, match="bloom takes no positions"):
        refuse_unfit(bloom, 30)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("qwen2", {"sliding_window": 8, "use_sliding_window": False}),
        ("mistral", {"sliding_window": None}),
        ("gpt2", {}),
    ],
)
def test_models_that_see_the_whole_row_pass(kind, changes):
    refuse_unfit(AutoModelForCausalLM.from_config(tiny_config(kind, **changes)), 30)
