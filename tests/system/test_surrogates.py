from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from fedtext.system.surrogates import has_lone_surrogate, without_lone_surrogates

CHARACTERS = st.characters(codec=None, exclude_categories=())  # half pairs too


def test_a_whole_pair_of_json_is_one_character_and_stays() -> None:
    assert without_lone_surrogates(json.loads(r'"\ud83d\ude00 \ud83d \ude00"')) == "😀 \ufffd \ufffd"


@given(st.text(CHARACTERS))
def test_what_is_left_is_unicode_text_of_the_same_length(text: str) -> None:
    clean = without_lone_surrogates(text)
    assert len(clean) == len(text)
    assert not has_lone_surrogate(clean)
    assert (clean == text) is not has_lone_surrogate(text)
