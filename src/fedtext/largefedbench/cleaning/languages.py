"""Words in a language other than the record's, as they stand in the Canadian record: Inuktitut above all.

"Uqaqtittiji," is its "Mr. Speaker,"; longer passages stand between "[Member spoke in Inuktitut as follows:]" and
"[... translated as follows:]", in syllabics or in Latin letters.
"""

from __future__ import annotations

import re

SPEAKER = r"[Uu]qaqtit+i(?:ji|tsii)"  # the one who lets others speak, in the spellings of the record
_WORD = re.compile(r"[^\W\d_]{3,}")
# Sequences of letters that no English word has and most words of Inuktitut do.
_INUKTITUT = re.compile(r"q(?!u[aeio])|uu|ii|aa|jj|vv|rng|ngn|tt?it|luk|tuq|vunga")
_ENGLISH = re.compile(r"\b(?:the|of|and|to|is|are|was|that|for|with|it|in|on|a|my|we|our|you)\b", re.I)
_FEWEST_WORDS = 2


def is_another_language(sentence: str) -> bool:
    """Whether most letters of the sentence are of another script, or most of its words Inuktitut in Latin letters."""
    if not sentence.isascii():
        letters = [letter for letter in sentence if letter.isalpha()]
        if sum(letter > "\u024f" for letter in letters) * 2 > len(letters):
            return True
    if _ENGLISH.search(sentence):
        return False
    words = _WORD.findall(sentence.lower())
    return len(words) >= _FEWEST_WORDS and sum(bool(_INUKTITUT.search(word)) for word in words) * 2 > len(words)
