"""What a model has read is told from what it has not; a model that has read neither tells no difference.

How much held-out text stands in the training text.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.corpora.public import public_records
from fedtext.evaluation.contamination import (
    Gap,
    bootstrap_gap,
    continuations,
    copy_masks,
    log_likelihoods,
    longest_run,
    shared_ngrams,
    split_words,
    summary,
)
from fedtext.evaluation.next_token import PADDING, count_next_tokens, padded, text_windows
from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Corpus
from fedtext.params.training import CausalTraining
from fedtext.training.causal_lm import train_causal_lm
from tests.parameters import conf_base
from tests.refusals import refuses

ON_DEVICE = LanguageModel("bundled:on_device")
WORDS, SIDE = 12, 16
words = st.lists(st.sampled_from(["the", "Ferry", "sailed", "from", "harbour"]), max_size=12).map(" ".join)


def gap(values: np.ndarray, is_newer: np.ndarray, seed: int = 0) -> Gap:
    return bootstrap_gap(values, is_newer, resamples=1000, seed=seed)


@pytest.mark.parametrize(
    ("written", "true", "run"),
    [
        ("the ferry sailed", "a ferry sailed home", 2),
        ("The FERRY, sailed!", "the ferry sailed", 3),
        ("", "the ferry", 0),
        ("gulls", "the ferry", 0),
        ("a b a b c", "x a b c", 3),
    ],
)
def test_longest_run(written: str, true: str, run: int) -> None:
    assert longest_run(written, true) == run


def test_shared_ngrams() -> None:
    assert shared_ngrams("the ferry sailed home", "the ferry sailed off", 2) == pytest.approx(2 / 3)
    assert shared_ngrams("sailed ferry the", "the ferry sailed", 2) == 0
    assert shared_ngrams("the", "the", 2) == 0


@given(words, words)
def test_both_are_bounded_by_a_copy_s(written: str, true: str) -> None:
    count = len(true.split())
    assert longest_run(written, true) == longest_run(true, written) <= longest_run(true, true) == count
    assert 0 <= shared_ngrams(written, true, 2) <= shared_ngrams(true, true, 2) == (count > 1)


@given(st.text(), st.integers(1, 20))
def test_halves_are_successive_words(text: str, count: int) -> None:
    first, second = split_words(text, count)
    assert first.split() + second.split() == text.split()[: 2 * count]


def test_the_interval_covers_what_is_there_and_rejects_what_is_not() -> None:
    draws = np.random.default_rng(0)
    is_newer = np.arange(80) >= 40
    alarms = [gap(draws.normal(size=80), is_newer, seed).detected for seed in range(200)]
    assert 0 < sum(alarms) < 15  # one in forty is expected, without a difference
    found = [gap(draws.normal(size=80) + ~is_newer, is_newer, seed).detected for seed in range(50)]
    assert sum(found) > 45
    one = gap(np.where(is_newer, 1.0, 3.0), is_newer)
    assert one == Gap(3.0, 1.0, 2.0, 2.0, 2.0)
    assert not gap(np.where(is_newer, 3.0, 1.0), is_newer).detected  # newer text that is better known is no sign


def test_a_gap_needs_texts_of_both_sides() -> None:
    with refuses("too-few-dated-texts"):
        gap(np.zeros(20), np.arange(20) >= 9)


def test_a_log_likelihood_is_that_of_the_text_s_tokens() -> None:
    texts = ["The ferry sailed at dusk.", "Gulls."]
    model, tokenizer = ON_DEVICE.load()
    nats = count_next_tokens(model, text_windows(tokenizer, texts, 64).rows, top=(1,)).nats
    told = log_likelihoods(ON_DEVICE, texts)
    assert told == pytest.approx([-nats[0] / len(texts[0]), -nats[1] / len(texts[1])], rel=1e-5)


@pytest.fixture(scope="module")
def read_and_unread() -> tuple[list[str], list[str]]:
    """Texts of one kind, of which a model may read the first half."""
    docs = public_records(conf_base(Corpus), max_texts=400)["text"]
    fit = [" ".join(text.split()[: 2 * WORDS]) for text in docs if len(text.split()) >= 2 * WORDS]
    fit = list(dict.fromkeys(fit))[: 2 * SIDE]
    return fit[::2], fit[1::2]


@pytest.fixture(scope="module")
def reader(read_and_unread: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    """The on-device model after a few epochs on the first half: a contaminated model."""
    read, _ = read_and_unread
    model, tokenizer = ON_DEVICE.load()
    recipe = CausalTraining(epochs=16.0, batch_size=8, learning_rate=3e-3, warmup_share=0.05, weight_decay=0.0)
    train_causal_lm(
        model, padded(text_windows(tokenizer, read, 256).rows), recipe, seed=0, pad_token_id=PADDING, label="reader"
    )
    place = tmp_path_factory.mktemp("reader")
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return LanguageModel(str(place))


def measures(model: LanguageModel, sides: tuple[list[str], list[str]]) -> dict[str, Gap]:
    texts = [*sides[0], *sides[1]]
    is_newer = np.arange(len(texts)) >= len(sides[0])
    parts = [split_words(text, WORDS) for text in texts]
    written = continuations(LocalGenerator(model.source), [a for a, _ in parts], words=WORDS, batch_size=32, seed=0)
    pairs = [(text, true) for text, (_, true) in zip(written, parts, strict=True)]
    values = {
        "longest_run": np.array([longest_run(*pair) for pair in pairs], dtype=np.float64),
        "shared_ngrams": np.array([shared_ngrams(*pair, 4) for pair in pairs]),
        "log_likelihood": log_likelihoods(model, texts),
    }
    values["beyond_reference"] = values["log_likelihood"] - log_likelihoods(ON_DEVICE, texts)
    return {name: gap(value, is_newer) for name, value in values.items()}


@pytest.mark.slow
def test_a_model_that_has_read_the_records_is_found(
    reader: LanguageModel, read_and_unread: tuple[list[str], list[str]]
) -> None:
    found = measures(reader, read_and_unread)
    assert {name for name, one in found.items() if one.detected} == set(found)
    assert found["shared_ngrams"].older > 0.3
    assert found["shared_ngrams"].newer < 0.05


def test_a_model_that_has_not_is_not(read_and_unread: tuple[list[str], list[str]]) -> None:
    found = measures(ON_DEVICE, read_and_unread)
    assert {name for name, one in found.items() if one.detected} == set()
    assert found["beyond_reference"] == Gap(0, 0, 0, 0, 0)


def test_continuations_are_the_surest_words_and_the_same_twice(tmp_path: Path) -> None:
    ask = {"words": 6, "batch_size": 4, "seed": 0}
    first, second = (
        continuations(LocalGenerator("bundled:on_device"), ["The ferry sailed", "We had"], **{**ask, "seed": seed})
        for seed in (0, 1)
    )
    assert first == second  # whatever the seed
    assert all(0 < len(text.split()) <= 6 for text in first)


TEXT = "The night nurse left a note on the door on Monday, as the forms had changed."
WORDS_COPIES = st.lists(
    st.sampled_from(["tea", "rum", "sun", "ice", "fog", "oak", "elm", "ash"]), min_size=1, max_size=9
).map(" ".join)


def test_exact_copies_near_copies_and_others_are_told_apart() -> None:
    held_out = [TEXT, TEXT.upper().replace(",", " ,"), TEXT.replace("changed", "gone"), "Another day, another bus.", ""]
    found = copy_masks([TEXT, "Tea."], held_out)
    assert found["verbatim"].tolist() == [True, True, False, False, False]
    assert found["near"].tolist() == [False, False, True, False, False]
    assert summary(found) == {"samples": 5, "verbatim": 2, "near": 1}


def test_short_texts_are_copies_only_word_for_word() -> None:
    assert summary(copy_masks(["Two cups of tea"], ["two cups of tea", "cups of tea"])) == {
        "samples": 2,
        "verbatim": 1,
        "near": 0,
    }


@given(st.lists(WORDS_COPIES, max_size=5), st.lists(WORDS_COPIES, max_size=5))
def test_what_is_in_the_training_text_is_a_copy_and_none_is_counted_twice(train: list[str], others: list[str]) -> None:
    found = copy_masks(train, [*train, *others])
    assert found["verbatim"][: len(train)].all()
    assert not (found["verbatim"] & found["near"]).any()
    assert summary(copy_masks([], train)) == {"samples": len(train), "verbatim": 0, "near": 0}
