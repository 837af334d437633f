from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import AutoConfig, AutoModelForCausalLM, PretrainedConfig

from fedtext.generation import decoding
from fedtext.generation import decoding as module
from fedtext.generation.decoding import (
    CHECK_EVERY,
    NAME,
    PLAIN,
    Layout,
    branch_attention,
    decode,
    new_cache,
    step_of,
    validate_model,
)
from fedtext.generation.token_sampling import draw_tokens
from tests.generation.conftest import tiny
from tests.refusals import refuses

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
    with refuses("window-too-short", value=8):
        validate_model(narrow, 30)
    validate_model(narrow, 8)


def test_a_model_without_positions_is_refused():
    bloom = AutoModelForCausalLM.from_config(tiny_config("bloom", n_layer=2, n_head=2))
    with refuses("no-positions"):
        validate_model(bloom, 30)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("qwen2", {"sliding_window": 8, "use_sliding_window": False}),
        ("mistral", {"sliding_window": None}),
        ("gpt2", {}),
    ],
)
def test_models_that_see_the_whole_row_pass(kind, changes):
    validate_model(AutoModelForCausalLM.from_config(tiny_config(kind, **changes)), 30)


BLOCKED = torch.finfo(torch.float32).min


def written(model, responses: int = 5) -> torch.Tensor:
    uniforms = draws(len(PROMPTS) * responses)
    return decode(model, *padded(PROMPTS), uniforms, temperature=1.0, top_p=1.0, min_p=0.0, is_complete=never)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_it_writes_what_the_models_own_attention_writes(tokenizer, kind):
    model = tiny(kind, tokenizer)
    plain = written(model)
    with branch_attention(model):
        assert torch.equal(written(model), plain)


def test_no_key_of_a_prompt_is_copied_for_a_branch_or_a_head(llama, monkeypatch):
    import transformers.integrations.sdpa_attention as theirs

    copied = []
    kept = theirs.repeat_kv
    monkeypatch.setattr(theirs, "repeat_kv", lambda states, n: copied.append(states.shape[0]) or kept(states, n))
    with branch_attention(llama):
        written(llama)
    assert copied == [len(PROMPTS)] * 2 * llama.config.num_hidden_layers, "each prompt's keys and values, once"


@pytest.fixture
def two_prompts():
    """A layer at its second step: three branches of the first prompt and one of the second, whose start is padding."""
    padding = torch.zeros(2, 6)
    padding[1, :2] = BLOCKED
    cache = new_cache(Layout(padding, torch.tensor([0, 0, 0, 1])), room=4, in_parts=True)
    torch.manual_seed(0)
    cache.update(torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 8), 0)
    for _ in range(2):
        own = cache.update(torch.randn(4, 2, 1, 8), torch.randn(4, 2, 1, 8), 0)
    return cache, own


def attended(cache, own, query, **options):
    with step_of(cache):
        return module._attention(SimpleNamespace(layer_idx=0), query, *own, None, **options)[0]


@pytest.mark.parametrize("device_type", ["cpu", "cuda"])
@pytest.mark.parametrize("scaling", [None, 0.5])
def test_the_two_parts_are_one_softmax(two_prompts, monkeypatch, device_type, scaling):
    """Also by the formula that other devices take, here on a CPU."""
    cache, own = two_prompts
    layer = cache.layers[0]
    query = torch.randn(4, 6, 1, 8)
    keys, values = (x.repeat_interleave(3, dim=1) for x in layer.whole())
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, keys, values, attn_mask=layer.layout.mask(2), scale=scaling
    ).transpose(1, 2)
    if device_type != "cpu":
        original = module._read
        fake = SimpleNamespace(type=device_type)

        class Elsewhere(torch.Tensor):
            device = property(lambda self: fake)

        monkeypatch.setattr(module, "_read", lambda q, *rest: original(q.as_subclass(Elsewhere), *rest))
    found = attended(cache, own, query, scaling=scaling).as_subclass(torch.Tensor)
    assert found.shape == (4, 1, 6, 8)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    layer.layout.padding.zero_()  # a mask that is not heeded is seen
    with pytest.raises(AssertionError):
        torch.testing.assert_close(attended(cache, own, query, scaling=scaling).as_subclass(torch.Tensor), expected)


def test_branches_stay_what_they_are_when_others_leave(two_prompts):
    cache, own = two_prompts
    query = torch.randn(4, 6, 1, 8)
    before = attended(cache, own, query)
    layer = cache.layers[0]
    kept, prompts = torch.tensor([1, 3]), torch.tensor([0, 1])
    layer.keep(kept, prompts, Layout(layer.layout.padding, torch.tensor([0, 1])))
    torch.testing.assert_close(attended(cache, layer.own_parts(), query[kept]), before[kept])
    layer.keep(torch.tensor([1]), torch.tensor([1]), Layout(layer.layout.padding[1:], torch.tensor([0])))
    assert layer.prompt[0].shape[0] == 1
    torch.testing.assert_close(attended(cache, layer.own_parts(), query[[3]]), before[[3]])


def test_the_model_is_put_back_after_an_error(llama):
    def fails() -> None:
        with branch_attention(llama):
            assert llama.config._attn_implementation == NAME
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert llama.config._attn_implementation == PLAIN


def test_a_model_with_an_attention_of_its_own_stays_as_it_is(llama):
    llama.set_attn_implementation("eager")
    try:
        with branch_attention(llama):
            assert llama.config._attn_implementation == "eager"
            eager = written(llama)
    finally:
        llama.set_attn_implementation(PLAIN)
    assert torch.equal(eager, written(llama))


def test_what_it_does_not_know_goes_to_transformers_with_whole_keys(two_prompts, monkeypatch):
    import transformers.integrations.sdpa_attention as theirs

    asked = []
    monkeypatch.setattr(
        theirs, "sdpa_attention_forward", lambda *given, **options: asked.append(given[2].shape) or (None, None)
    )
    cache, own = two_prompts
    query = torch.zeros(4, 6, 1, 8)
    for option in ({"softcap": 5.0}, {"position_bias": query}, {"dropout": 0.1}):
        attended(cache, own, query, **option)
    assert asked == [(4, 2, 8, 8)] * 3
    attended(cache, own, query, dropout=0.0, scaling=0.5)
    assert len(asked) == 3
