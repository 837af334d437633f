from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation.dialogue import Dialogue
from fedtext.generation.prompt_forms import SampleList
from fedtext.training.preference_pairs import completion, distinct_pairs, tokenised, validate_lengths
from tests.refusals import refuses


def frame(*rows):
    return pd.DataFrame(rows, columns=["prompt", "chosen", "rejected"])


def test_equal_texts_are_dropped_and_counted(caplog):
    caplog.set_level(logging.INFO)
    kept = distinct_pairs(frame(("p", "a", "b"), ("p", "a", " a\n"), ("q", "c", "d")), "round 3")
    assert kept["prompt"].tolist() == ["p", "q"]
    assert "round 3: chosen equals rejected in 1 of 3 pairs" in caplog.text


@pytest.mark.parametrize(
    ("pairs", "code"),
    [
        (frame(), "no-pairs-left"),
        (frame(("p", "a", "a"), ("p", "b", "b ")), "no-pairs-left"),
        (frame(("p", "a", "b"), ("p", np.nan, "b")), "pair-without-text"),
        (frame(("p", "a", None)), "pair-without-text"),
        (frame(("p", "a", "  \n")), "pair-without-text"),
        (frame(("", "a", "b")), "pair-without-text"),
        (pd.DataFrame({"prompt": ["p"], "chosen": ["a"]}), "missing-pair-column"),
    ],
)
def test_what_cannot_be_trained_on_is_named(pairs, code):
    with refuses(code):
        distinct_pairs(pairs, "round 3")


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1), min_size=4, max_size=4))
def test_a_completion_continues_its_prompt_as_the_next_listed_sample(samples):
    assert SampleList().request(samples).startswith(SampleList().request(samples[:3]) + completion(samples[3]))


def test_an_answer_goes_on_a_transcript_as_the_next_turn_shows_it():
    """So a model is trained on what it writes: behind "Assistant:" it goes on with a space."""
    asked = "Human: How?\n\nAssistant: So.\n\nHuman: And now?\n\nAssistant:"
    form = Dialogue()
    begun = form.request([], topic="How?")
    assert asked.startswith(begun + completion("So.", form.framing.closing, form.framing.lead))


def test_tokens_of_prompt_and_completion_are_those_of_the_joint_text(tokenizer, pairs):
    for row, (_, pair) in zip(tokenised(pairs, tokenizer), pairs.iterrows(), strict=True):
        for side in ("chosen", "rejected"):
            whole = row["prompt_ids"] + row[f"{side}_ids"]
            assert whole == tokenizer(pair["prompt"] + pair[side] + "\n")["input_ids"]
        assert row["prompt_ids"] == tokenizer(pair["prompt"])["input_ids"]  # a prompt ends on a token boundary
        assert tokenizer.eos_token_id not in row["chosen_ids"]


def test_a_token_across_the_boundary_belongs_to_the_completion(tokenizer):
    (row,) = tokenised(frame(("Return the it", "ems that match", "xxxx")), tokenizer)
    assert tokenizer.decode(row["prompt_ids"] + row["chosen_ids"]).endswith("Return the items that match\n")
    assert len(row["prompt_ids"]) < len(tokenizer("Return the it")["input_ids"])


def test_rows_longer_than_the_model_are_refused(llama, pairs):
    model, tokenizer = llama.load()
    rows = tokenised(pairs, tokenizer)
    validate_lengths(rows, model, "x")
    model.config.max_position_embeddings = 20
    with refuses("pair-too-long"):
        validate_lengths(rows, model, "x")
