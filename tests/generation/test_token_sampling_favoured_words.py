"""Word weights at the draw: which tokens they are, that the right response has them, and what they do to its odds."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch

from fedtext.generation.generators import local
from fedtext.generation.generators.local import sample_responses
from fedtext.generation.token_sampling import favoured_tokens
from fedtext.models.generator import WordWeights
from fedtext.params.generation import Sampler
from tests.parameters import conf_base
from tests.refusals import refuses

PROMPTS = ["a list of public", "the value"]
SAMPLER = conf_base(Sampler, max_new_tokens=12, min_p=0.0)
FAVOURED = WordWeights({"samples": 60.0}, {"value": 60.0})  # both are a token of the small tokenizer


@pytest.fixture(autouse=True)
def full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "decoding_copy", lambda model: model)


def written(
    model: Any, tokenizer: Any, words: list[WordWeights], responses: int = 3, **changes: Any
) -> list[list[str]]:
    sampler = SAMPLER.model_copy(update=changes)
    return sample_responses(model, tokenizer, PROMPTS, responses=responses, sampler=sampler, seed=7, words=words)


def test_a_response_begins_with_what_is_favoured_first_and_goes_on_with_what_is_favoured(model, tokenizer) -> None:
    for text in chain.from_iterable(written(model, tokenizer, [FAVOURED])):
        assert text.split() == ["value"] + ["samples"] * 11


def test_each_prompt_has_its_own_weights_whatever_the_batches(model, tokenizer) -> None:
    words = [FAVOURED, WordWeights({"of": 60.0}, {"given": 60.0})]
    for batch_size in (3, 256):
        mine, others = written(model, tokenizer, words, batch_size=batch_size)
        assert [text.split() for text in mine] == [["value"] + ["samples"] * 11] * 3
        assert [text.split() for text in others] == [["given"] + ["of"] * 11] * 3


def test_without_weights_the_bytes_are_what_they_were(model, tokenizer) -> None:
    plain = written(model, tokenizer, [])
    assert written(model, tokenizer, [WordWeights()]) == plain
    assert written(model, tokenizer, [WordWeights({"nowhere": 60.0})]) == plain, "no token is that word"
    assert written(model, tokenizer, [WordWeights({"samples": 6.0})]) != plain


def test_a_weight_is_added_to_the_log_odds_of_the_word(llama, tokenizer) -> None:
    """Of first tokens: as often as the softmax of the model's logits with the weight says, and not as without it."""
    draws, weights = 4000, WordWeights(first={"value": 8.0})
    logits = llama(tokenizer(PROMPTS[0], return_tensors="pt")["input_ids"]).logits[0, -1].double()
    token = tokenizer.convert_tokens_to_ids("value")
    favoured = logits + 8.0 * torch.nn.functional.one_hot(torch.tensor(token), len(logits))
    wanted, without = (torch.softmax(each, -1)[token].item() for each in (favoured, logits))
    sampler = SAMPLER.model_copy(update={"max_new_tokens": 4})
    (texts,) = sample_responses(
        llama, tokenizer, PROMPTS[:1], responses=draws, sampler=sampler, seed=1, words=[weights]
    )
    seen = sum(text.startswith("value") for text in texts) / draws
    error = np.sqrt(wanted * (1 - wanted) / draws)
    assert abs(seen - wanted) < 4 * error
    assert abs(seen - without) > 4 * error


def test_tokens_are_whole_words_and_a_continuation_is_none(tokenizer) -> None:
    weights = WordWeights({"samples": 1.0, ".": 2.0, "\n": 3.0}, {"samples": 4.0})
    favoured = favoured_tokens([weights], 3, tokenizer, len(tokenizer), torch.device("cpu"))
    first, later = ({piece(tokenizer, token): each[0, token].item() for token in each[0].nonzero()[:, 0].tolist()}
                    for each in (favoured.first, favoured.later))  # fmt: skip
    assert later == {"Ġsamples": 1.0, ".": 2.0, "Ċ": 3.0}
    assert first == {"Ġsamples": 4.0, "samples": 4.0}
    assert favoured.row.tolist() == [0, 0, 0]


def piece(tokenizer: Any, token: int) -> str:
    return str(tokenizer.convert_ids_to_tokens(token))


def test_logits_of_a_padded_vocabulary_are_left_alone(tokenizer) -> None:
    favoured = favoured_tokens([FAVOURED], 1, tokenizer, len(tokenizer), torch.device("cpu"))
    logits = torch.zeros(2, len(tokenizer) + 8)
    favoured.added_to(logits, torch.tensor([0, 0]), torch.zeros(2, 1, dtype=torch.long))
    assert logits.sum() == 120.0
    assert not logits[:, len(tokenizer) :].any()


def test_a_wrong_number_of_weights_is_refused(model, tokenizer) -> None:
    with refuses("word-weights-do-not-fit-prompts", value=3):
        written(model, tokenizer, [FAVOURED] * 3)


PAIRED = WordWeights(after={"value": {"samples": 60.0}, "samples": {"of": 60.0}, "of": {"samples": 60.0}})
CHAIN = ["value", *["samples", "of"] * 5, "samples"]


def test_a_pair_weighs_where_its_first_word_is_the_token_before(model, tokenizer) -> None:
    begins = WordWeights(first={"value": 60.0}, after=PAIRED.after)
    for text in chain.from_iterable(written(model, tokenizer, [begins])):
        assert text.split() == CHAIN


def test_pairs_are_each_prompt_s_own_whatever_the_batches(model, tokenizer) -> None:
    words = [WordWeights(first={"value": 60.0}, after=PAIRED.after), WordWeights(first={"value": 60.0})]
    for batch_size in (3, 256):
        mine, others = written(model, tokenizer, words, batch_size=batch_size)
        assert [text.split() for text in mine] == [CHAIN] * 3
        assert all(text.split()[:2] != ["value", "samples"] for text in others)


def test_a_pair_of_words_that_are_no_tokens_changes_nothing(model, tokenizer) -> None:
    plain = written(model, tokenizer, [])
    assert written(model, tokenizer, [WordWeights(after={"nowhere": {"value": 60.0}})]) == plain
    assert written(model, tokenizer, [WordWeights(after={"value": {"nowhere": 60.0}})]) == plain


def test_a_continuation_of_a_word_is_no_first_word_of_a_pair_but_a_response_s_first_token_is(tokenizer) -> None:
    favoured = favoured_tokens([PAIRED], 1, tokenizer, len(tokenizer), torch.device("cpu"))
    token = tokenizer.convert_tokens_to_ids("samples")  # without a space it continues a word, or begins the response
    follows = tokenizer.convert_tokens_to_ids("Ġof")
    for others, wanted in ((0, 60.0), (1, 0.0)):
        before = torch.tensor([[*[0] * others, token]])
        logits = favoured.added_to(torch.zeros(1, len(tokenizer)), torch.tensor([0]), before)
        assert logits[0, follows] == wanted
