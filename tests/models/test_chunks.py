"""Texts of many scripts are cut into chunks of whole characters, by tokenizers whose tokens end inside some."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedtext.models.chunks import Chunk, chunks_by_tokens, end_within, tokenizable
from fedtext.models.language_model import Tokenizer

SOURCES = ("smollm2", "bundled:generator")
SCRIPTS = [
    "我的订单还没有到",
    "สวัสดีครับคำสั่งซื้อ",
    "ትዕዛዜ አልደረሰም",
    "🙂👩‍👩‍👧🎉🏳️‍🌈",
    "मेरा ऑर्डर",
    "𒀀𓀀𝔸ﷺ",
    "Été — naïve",
    "plain words, ",
    "═╬",
]
TEXTS = st.lists(st.sampled_from(SCRIPTS) | st.sampled_from("".join(SCRIPTS)), max_size=60).map("".join)
tokenizer = cache(lambda source: Tokenizer(source).load())


def spans_of(text: str, source: str) -> list[tuple[int, int]]:
    return tokenizer(source)(tokenizable(text), add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]


def chunked(text: str, source: str, length: int, min_tokens: int = 1) -> list[Chunk]:
    spans = spans_of(text, source)
    return chunks_by_tokens(len(spans), spans.__getitem__, length, min_tokens)


def counted(text: str, chunk: Chunk, source: str) -> int:
    """Return the chunk's own tokens, with the space before it where that is part of its first one."""
    starts = (chunk.start, len(text[: chunk.start].removesuffix(" ")))
    return min(len(spans_of(text[start : chunk.end], source)) for start in starts)


@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=100)
@example(text="我的订单还没有到，请告诉我什么时候可以收到。" * 8, length=64, min_tokens=4)
@example(text="═" * 300, length=64, min_tokens=64)
@given(text=TEXTS, length=st.integers(4, 64), min_tokens=st.integers(1, 64))
def test_chunks_are_disjoint_in_order_complete_and_never_too_long(
    text: str, length: int, min_tokens: int, source: str
) -> None:
    min_tokens = min(min_tokens, length)
    chunks = chunked(text, source, length, min_tokens)
    assert all(one.end <= other.start for one, other in pairwise(chunks))
    assert all(0 <= one.start < one.end and counted(text, one, source) <= length for one in chunks)
    left_out = "".join(_between(text, chunks))
    assert not left_out.strip()
    rest = text[chunks[-1].end :] if chunks else text
    assert len(spans_of(rest.strip(), source)) < min_tokens or not rest.strip()


def _between(text: str, chunks: list[Chunk]) -> list[str]:
    """Return what stands before the first chunk and between two."""
    ends = [0, *(one.end for one in chunks)]
    return [text[end : one.start] for end, one in zip(ends, chunks, strict=False)]


@given(text=st.text(st.characters(codec="ascii")), length=st.integers(4, 9))
@example("00000000000\x16:;", 4)
def test_in_ascii_every_chunk_but_the_last_is_full(text: str, length: int) -> None:
    spans = spans_of(text, "smollm2")
    parts = [spans[first : first + length] for first in range(0, len(spans), length)]
    assert chunked(text, "smollm2", length) == [Chunk(part[0][0], part[-1][1], len(part)) for part in parts]


def test_tokens_that_all_end_inside_a_character_are_cut_by_characters() -> None:
    linked = [(0, 1), *((i, i + 2) for i in range(8)), (8, 9), (9, 10)]
    assert chunks_by_tokens(len(linked), linked.__getitem__, 8, 1) == [
        Chunk(0, 2, 3), Chunk(2, 4, 2), Chunk(4, 6, 2), Chunk(6, 8, 2), Chunk(8, 9, 1),
        Chunk(9, 10, 1),
    ]  # fmt: skip
    assert end_within(linked, 8) == 2


@given(text=TEXTS, length=st.integers(4, 20))
def test_the_beginning_of_a_text_is_within_its_length_and_ends_with_a_character(text: str, length: int) -> None:
    spans = spans_of(text, "smollm2")
    end = end_within(spans, length)
    assert len(spans_of(text[:end], "smollm2")) <= length
    assert len(spans) > length or end == (spans[-1][1] if spans else 0)
