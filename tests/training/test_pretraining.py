from __future__ import annotations

import numpy as np
import pytest

from fedtext.generation.prompt_forms import LISTED, SampleList, header, heading
from fedtext.params.training import Recipe
from fedtext.training.pretraining import few_shot_lists, recipe_rows, rows_from_stream, rows_from_texts, train_tokenizer
from tests.parameters import conf_base
from tests.refusals import refuses


def test_tokenizer_returns_every_text_unchanged(tokenizer):
    for text in (
        "Return the list.",
        "naïve — ünïcode ✓ 漢字",
        "tabs\tand\n\nlines  two",
        SampleList().request(["a", "b", "c"]),
    ):
        assert tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True) == text


def test_tokenizer_starts_every_text_with_bos_and_knows_the_prompts_frame(tokenizer):
    ids = tokenizer("Return the list.")["input_ids"]
    assert ids[0] == tokenizer.bos_token_id
    assert tokenizer.eos_token_id not in ids
    assert len({tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}) == 3
    assert len(tokenizer(heading(4), add_special_tokens=False)["input_ids"]) <= 6


def test_equal_texts_give_the_same_tokenizer():
    texts = ["one two three", "two three four"] * 20
    assert train_tokenizer(texts, 300).get_vocab() == train_tokenizer(texts, 300).get_vocab()


def test_a_list_holds_six_samples_in_the_prompts_form():
    samples = [f"sample number {i}" for i in range(20)]
    (text,) = few_shot_lists(samples, ["p"] * 20, 1, np.random.default_rng(0))
    listed = [line for line in text.splitlines() if line in samples]
    assert len(listed) == LISTED
    label = "p" if text.startswith(header("p")) else None
    assert text.startswith(SampleList().request(listed[:3], label))
    assert text.startswith(SampleList().request(listed[:5], label) + listed[5])


def test_half_of_the_lists_are_of_one_package_and_half_of_those_are_headed_by_it():
    packages = [name for name in "abcd" for _ in range(50)]
    samples = [f"{name}{i}" for i, name in enumerate(packages)]
    texts = list(few_shot_lists(samples, packages, 1000, np.random.default_rng(0)))
    headed = [text for text in texts if not text.startswith(header())]
    listed = [[line for line in text.splitlines() if line in set(samples)] for text in texts]
    single = sum(len({line[0] for line in lines}) == 1 for lines in listed)
    assert single / 1000 == pytest.approx(0.5, abs=0.05)
    assert len(headed) / 1000 == pytest.approx(0.25, abs=0.045)
    for text in headed:
        name = text.split(" about ")[1][0]
        assert all(line[0] == name for line in text.splitlines() if line in samples)


def test_lists_repeat_under_the_same_seed_only():
    draw = [list(few_shot_lists(list("abcdefgh"), list("aabbccdd"), 5, np.random.default_rng(s))) for s in (0, 0, 1)]
    assert draw[0] == draw[1] != draw[2]


def test_rows_from_texts_cuts_long_texts_and_leaves_short_ones_out(tokenizer):
    long, short = "Return the sorted list of items that match a given pattern", "the"
    rows = rows_from_texts([long, short, long], tokenizer, 8)
    assert rows.shape == (2, 8)
    assert rows.dtype == np.int64
    assert rows[0].tolist() == tokenizer(long)["input_ids"][:8]
    assert rows_from_texts([short], tokenizer, 8).shape == (0, 8)


def test_rows_from_stream_joins_documents_without_gaps(tokenizer):
    texts = ["Return the list.", "Raise an error.", "Match a pattern."] * 5
    rows = rows_from_stream(texts, tokenizer, 7)
    whole = [i for text in texts for i in [*tokenizer(text)["input_ids"], tokenizer.eos_token_id]]
    assert rows.shape == (len(whole) // 7, 7)
    assert rows.flatten().tolist() == whole[: rows.size]


def recipe(**changed):
    shape = {"hidden_size": 16, "layers": 1, "heads": 1, "feed_forward": 16}
    return conf_base(
        Recipe,
        {
            "shape": shape,
            "tokens": 4800,
            "row_length": 48,
            "few_shot_share": 0.75,
            "seed": 0,
            "data_seed": 0,
            **changed,
        },
    )


def test_a_recipe_gives_all_the_rows_it_asks_for_in_the_shares_it_names(tokenizer):
    samples = [f"Return the list of items number {i}." if i % 9 == 0 else "the" for i in range(90)]  # most lists short
    packages, texts = [f"p{i % 3}" for i in range(90)], ["Return the list. Raise an error."] * 600
    rows = recipe_rows(samples, packages, texts, tokenizer, recipe())
    assert rows.shape == (100, 48)
    starts = [tokenizer.decode(row, skip_special_tokens=True) for row in rows]
    assert [text.startswith(header()[:10]) for text in starts] == [True] * 75 + [False] * 25


def test_lists_that_never_fill_a_row_are_an_error(tokenizer):
    with refuses("no-list-long-enough", value=900):
        recipe_rows(["the"] * 20, ["p"] * 20, ["the"] * 20, tokenizer, recipe(row_length=900))
