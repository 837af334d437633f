from __future__ import annotations

import pytest
import torch

from fedtext.generation.cleaning import clean_samples
from fedtext.generation.generators import local
from fedtext.generation.generators.local import sample_responses
from fedtext.generation.prompt_forms import SAMPLE_MARKER, SampleList
from fedtext.models.language_model import LanguageModel, bundled
from fedtext.params.generation import Sampler
from tests.parameters import conf_base
from tests.refusals import refuses

PROMPTS = ["a list of public", "the value", "raises an error when nothing else is left or that was given"]
SAMPLER = conf_base(Sampler, max_new_tokens=24)


@pytest.fixture(autouse=True)
def full_precision(monkeypatch):
    """Texts are compared one by one here; bfloat16 rounds a product differently in differently shaped batches."""
    monkeypatch.setattr(local, "decoding_copy", lambda model: model)


def sample(model, tokenizer, prompts=PROMPTS, *, responses=3, sampler=SAMPLER, seed=7, stops=()):
    return sample_responses(model, tokenizer, prompts, responses=responses, sampler=sampler, seed=seed, stops=stops)


def test_the_same_call_gives_the_same_texts_whatever_ran_before(model, tokenizer):
    first = sample(model, tokenizer)
    torch.manual_seed(123)
    torch.rand(5)
    assert sample(model, tokenizer) == first
    assert [len(row) for row in first] == [3, 3, 3]
    assert len({text for row in first for text in row}) == 9
    assert sample(model, tokenizer, seed=8) != first


@pytest.mark.parametrize("batch_size", [1, 4, 6])
def test_texts_do_not_depend_on_the_batches(model, tokenizer, batch_size):
    small = SAMPLER.model_copy(update={"batch_size": batch_size})
    assert sample(model, tokenizer, sampler=small) == sample(model, tokenizer)


@pytest.mark.parametrize(("responses", "calls"), [(6, 2), (7, 1), (1, 1)])
def test_a_lone_prompt_is_written_to_by_two_cores_where_its_responses_halve(
    model, tokenizer, monkeypatch, responses, calls
):
    expected, batches = local.even_batches, []
    monkeypatch.setattr(local, "even_batches", lambda *given: batches.append(expected(*given)) or batches[-1])
    shared = sample(model, tokenizer, PROMPTS[:1], responses=responses)
    assert [len(batch) for batch in batches[0]] == [1] * calls
    monkeypatch.setattr(local, "AT_ONCE", 1)
    assert sample(model, tokenizer, PROMPTS[:1], responses=responses) == shared


def test_every_prompt_gets_its_own_continuation_back(model, tokenizer):
    cold = SAMPLER.model_copy(update={"temperature": 1e-5})
    forwards = sample(model, tokenizer, sampler=cold, responses=2)
    backwards = sample(model, tokenizer, PROMPTS[::-1], sampler=cold, responses=2)
    assert forwards == backwards[::-1]
    ids = tokenizer(PROMPTS[0], return_tensors="pt")["input_ids"]
    greedy = model.generate(ids, do_sample=False, max_new_tokens=24)[0, ids.shape[1] :]
    assert forwards[0][0] == tokenizer.decode(greedy, skip_special_tokens=True)


def test_a_text_ends_with_the_marker(llama, tokenizer):
    free = sample(llama, tokenizer)
    stop = free[0][0][4:6]
    stopped = sample(llama, tokenizer, stops=(stop, "never written"))
    assert stopped[0][0].endswith(stop)
    for row, free_row in zip(stopped, free, strict=True):
        for text, whole in zip(row, free_row, strict=True):
            before, found, _ = whole.partition(stop)
            assert text == before + found


def test_decoding_ends_once_every_response_holds_the_marker(llama, tokenizer):
    steps = []
    handle = llama.register_forward_hook(lambda *_: steps.append(1))
    try:
        stop = sample(llama, tokenizer, PROMPTS[:1], responses=1)[0][0][:1]
        steps.clear()
        sample(llama, tokenizer, PROMPTS[:1], responses=1, stops=(stop,))
    finally:
        handle.remove()
    assert len(steps) == local.CHECK_EVERY


def test_a_text_ends_before_any_end_of_text_token(llama, tokenizer, monkeypatch):
    cold = SAMPLER.model_copy(update={"temperature": 1e-5})
    ids = tokenizer(PROMPTS[0], return_tensors="pt")["input_ids"]
    greedy = llama.generate(ids, do_sample=False, max_new_tokens=24)[0, ids.shape[1] :].tolist()
    end = greedy[7]
    assert tokenizer.eos_token_id not in greedy
    for configured in (end, [tokenizer.eos_token_id, end]):
        monkeypatch.setattr(llama.generation_config, "eos_token_id", configured)
        text = sample(llama, tokenizer, PROMPTS[:1], responses=1, sampler=cold)[0][0]
        assert text == tokenizer.decode(greedy[: greedy.index(end)], skip_special_tokens=True)


def test_reduced_precision_samples_too(llama, tokenizer, monkeypatch):
    import copy

    reduced = copy.deepcopy(llama).to(torch.bfloat16)
    monkeypatch.setattr(local, "decoding_copy", lambda model: reduced)
    assert sample(llama, tokenizer) == sample(llama, tokenizer)


def test_no_prompts_no_responses(llama, tokenizer):
    assert sample(llama, tokenizer, []) == []


def test_impossible_requests_name_the_prompt_and_the_numbers(llama, tokenizer):
    with refuses("too-few-responses-asked", value=0):
        sample(llama, tokenizer, responses=0)
    with refuses("prompt-too-long", value=1):
        sample(llama, tokenizer, ["fine", "public " * 120])
    tokenizer_without_start = type(tokenizer)(
        tokenizer_object=__import__("tokenizers").Tokenizer.from_str(
            tokenizer.backend_tokenizer.to_str().replace('"<bos>"', '"<s>"')
        )
    )
    tokenizer_without_start.backend_tokenizer.post_processor = None
    with refuses("empty-prompt", value=0):
        sample(llama, tokenizer_without_start, [""])


def test_cleaned_texts_keep_their_places(llama, tokenizer):
    texts = [text for row in sample(llama, tokenizer) for text in row]
    cleaned = clean_samples([*texts, "Original Text Sample 5"], SampleList(), tokenizer, 10)
    assert len(cleaned) == 10
    assert cleaned[-1] == ""


@pytest.mark.parametrize("name", ["generator", "on_device"])
@pytest.mark.usefixtures("in_float32")
def test_a_shipped_model_decodes_as_transformers_does(name):
    try:
        model, tokenizer = LanguageModel(bundled(name)).load()
    except FileNotFoundError:
        pytest.skip(f"{name} is not shipped yet")
    prompts = [
        SampleList().request([f"Return the {x} of a list.", "Raise an error.", f"The {x}."])
        for x in ("size", "last item")
    ]
    cold = conf_base(Sampler, temperature=1e-5, max_new_tokens=40)
    texts = sample_responses(model, tokenizer, prompts, responses=2, sampler=cold, seed=0, stops=(SAMPLE_MARKER,))
    for prompt, row in zip(prompts, texts, strict=True):
        ids = tokenizer(prompt, return_tensors="pt")["input_ids"].to(model.device)
        greedy = model.generate(ids, do_sample=False, max_new_tokens=40)[0, ids.shape[1] :]
        before, found, _ = tokenizer.decode(greedy, skip_special_tokens=True).partition(SAMPLE_MARKER)
        assert row == [before + found] * 2
