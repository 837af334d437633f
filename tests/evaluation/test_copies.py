"""How much held-out text stands in the training text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fedtext.evaluation.copies import copied, summary

TEXT = "The night nurse left a note on the door on Monday, as the forms had changed."
WORDS = st.lists(st.sampled_from(["tea", "rum", "sun", "ice", "fog", "oak", "elm", "ash"]), min_size=1, max_size=9).map(
    " ".join
)


def test_exact_copies_near_copies_and_others_are_told_apart() -> None:
    held_out = [TEXT, TEXT.upper().replace(",", " ,"), TEXT.replace("changed", "gone"), "Another day, another bus.", ""]
    found = copied([TEXT, "Tea."], held_out)
    assert found["verbatim"].tolist() == [True, True, False, False, False]
    assert found["near"].tolist() == [False, False, True, False, False]
    assert summary(found) == {"samples": 5, "verbatim": 2, "near": 1}


def test_short_texts_are_copies_only_word_for_word() -> None:
    assert summary(copied(["Two cups of tea"], ["two cups of tea", "cups of tea"])) == {
        "samples": 2,
        "verbatim": 1,
        "near": 0,
    }


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=5))
def test_what_is_in_the_training_text_is_a_copy_and_none_is_counted_twice(train: list[str], others: list[str]) -> None:
    found = copied(train, [*train, *others])
    assert found["verbatim"][: len(train)].all()
    assert not (found["verbatim"] & found["near"]).any()
    assert summary(copied([], train)) == {"samples": len(train), "verbatim": 0, "near": 0}
