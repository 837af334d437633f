"""Which texts are in a writing system that hardly any other is in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation.scripts import minority_script_mask, script_of

ENGLISH, JAPANESE, RUSSIAN = "Reads a file.", "ファイルを読み込む。", "Читает файл."


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (ENGLISH, "LATIN"),
        ("Où est la bibliothèque ? (naïveté)", "LATIN"),
        (JAPANESE, "CJK"),
        ("한국어 문장", "CJK"),
        (RUSSIAN, "CYRILLIC"),
        ("Reads файл.", "LATIN"),
        ("Читает file.", "CYRILLIC"),
        ("1 + 1 = 2", None),
        ("", None),
    ],
)
def test_a_text_is_in_the_script_of_most_letters(text: str, script: str | None) -> None:
    assert script_of(text) == script


def test_one_of_thirty_is_a_stray_and_three_of_thirty_are_not() -> None:
    assert minority_script_mask([ENGLISH] * 29 + [JAPANESE]) == [False] * 29 + [True]
    assert not any(minority_script_mask([ENGLISH] * 27 + [JAPANESE] * 3))
    assert minority_script_mask([JAPANESE] * 39 + [ENGLISH, "", "42"]) == [False] * 39 + [True, False, False]


def test_a_few_texts_have_no_strays() -> None:
    assert not any(minority_script_mask([ENGLISH] * 18 + [JAPANESE]))


@given(st.lists(st.sampled_from([ENGLISH, JAPANESE, RUSSIAN, "", "42"]), max_size=80), st.randoms())
def test_strays_are_fewer_than_a_twentieth_of_a_script_and_in_any_order(texts: list[str], random: object) -> None:
    found = minority_script_mask(texts)
    lettered = [text for text in texts if script_of(text)]
    for text in set(texts):
        own = {stray for other, stray in zip(texts, found, strict=True) if other == text}
        assert len(own) == 1  # alike texts share their fate
        if own == {True}:
            assert 20 * texts.count(text) < len(lettered)
            assert len(lettered) >= 20
    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sorted(zip(shuffled, minority_script_mask(shuffled), strict=True)) == sorted(zip(texts, found, strict=True))
