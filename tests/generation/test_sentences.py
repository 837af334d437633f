"""Answers that a limit cut off end with their last whole sentence; others stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.generation.cleaning import trim_to_sentences
from fedtext.generation.generators.local import LocalGenerator
from fedtext.generation.sentences import whole_sentences


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ("It returns a list. Each of its", "It returns a list."),
        ('He said "four." Then', 'He said "four."'),
        ("It is 3.5 metres long. And", "It is 3.5 metres long."),
        ("It ends **here.** Not", "It ends **here.**"),
        ("1. read it\n2. write it\n3.", "1. read it\n2. write it"),
        ("- one\n- two\n- thr", "- one\n- two"),
        ("Whole. As it is!", "Whole. As it is!"),
        ("ฉันสั่งของไปแล้ว แต่ยังไม่ได้รับ", "ฉันสั่งของไปแล้ว แต่ยังไม่ได้รับ"),
        ("မရောက်သေးပါဘူး။ဘယ်မှာ", "မရောက်သေးပါဘူး။"),
        ("It came. He met J. Smith and", "It came."),
        ("It came. See No. 7 and", "It came."),
        ("Did it? No. And then it", "Did it? No."),
        ("Es kam nie. Es sollte am 3. Mai da sein und", "Es kam nie."),
        ("It came! 😊 And then it", "It came! 😊"),
        ("It came. I love 😊 it and", "It came."),
        ("It was 39°C. Then it fell to", "It was 39°C."),
        ("no end anywhere", "no end anywhere"),
        ("", ""),
    ],
)
def test_a_text_is_cut_behind_its_last_whole_sentence(cut: str, whole: str) -> None:
    assert whole_sentences(cut) == whole


@given(st.text(alphabet="ab .!?\n1"))
def test_what_is_kept_is_a_beginning_that_holds_every_whole_sentence(text: str) -> None:
    assert text.startswith(whole_sentences(text))
    assert whole_sentences(f"{text} It ends. And") == f"{text} It ends."


def test_a_text_that_the_limit_cannot_have_cut_off_stays_whole() -> None:
    tokenizer = LocalGenerator("bundled:generator").length_tokenizer()
    texts = ["Yes. Use the other one", "It returns the value. " * 5 + "It also"]
    kept = trim_to_sentences(texts, tokenizer, 24)
    assert kept[0] == texts[0]
    assert kept[1] == ("It returns the value. " * 5).strip()
