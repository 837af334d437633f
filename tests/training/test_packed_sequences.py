"""Pairs in lines: who shares one, where each token stands, and who sees whom."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from fedtext.training.dpo import collate
from fedtext.training.packed_sequences import pack_first_fit, packed_pairs, packed_texts

PAIRS = [
    {"prompt_ids": [5, 6, 7], "chosen_ids": [8, 9], "rejected_ids": [1]},
    {"prompt_ids": [4], "chosen_ids": [2], "rejected_ids": [1, 2, 3]},
]


def lines_of(pairs):
    batch = collate(pairs)
    del batch["completion_mask"]
    return packed_pairs(**batch)


def test_two_pairs_in_one_line():
    lines = lines_of(PAIRS)
    #                          5  6 | 7  8 | 7 || 4 | 4  1  2      a completion's last token predicts nothing here
    assert lines.ids.tolist() == [[5, 6, 7, 8, 7, 4, 4, 1, 2]]
    assert lines.positions.tolist() == [[0, 1, 2, 3, 2, 0, 0, 1, 2]]
    assert lines.part.tolist() == [[0, 0, 1, 1, 2, 4, 5, 5, 5]]
    row, step = lines.completions
    assert row.tolist() == [0, 0, 2, 1, 3, 3, 3]  # chosen of both pairs, then rejected of both
    assert step.tolist() == [0, 1, 0, 0, 0, 1, 2]


def test_a_token_sees_its_context_and_its_own_completion():
    visible = lines_of(PAIRS).visible()[0, 0].int()
    assert visible.tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 0, 1, 1, 1],
    ]


def test_lines_of_two_lengths_are_filled_up_with_what_no_token_sees(monkeypatch):
    monkeypatch.setattr("fedtext.training.packed_sequences.LINE_TOKENS", 1)
    lines = lines_of(PAIRS)
    assert lines.ids.tolist() == [[5, 6, 7, 8, 7], [4, 4, 1, 2, 0]]
    assert lines.part.tolist() == [[0, 0, 1, 1, 2], [4, 5, 5, 5, -1]]
    assert not lines.visible()[1, 0, :4, 4].any()
    assert lines.scored.sum() == 7


def test_texts_are_completions_without_context():
    ids = torch.tensor([[3, 1, 4, -1], [1, 5, -1, -1], [9, -1, -1, -1]])
    lines, following = packed_texts(ids, ids != -1)
    assert lines.ids.tolist() == [[3, 1, 1]]  # a text of one token predicts nothing
    assert lines.positions.tolist() == [[0, 1, 0]]
    assert following.tolist() == [1, 4, 5]
    assert lines.visible()[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 1]]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.integers(1, 60))
def test_each_is_in_one_line_and_no_line_overflows(lengths, room):
    lines = pack_first_fit(lengths, room)
    assert sorted(number for line in lines for number in line) == list(range(len(lengths)))
    held = [sum(lengths[number] for number in line) for line in lines]
    assert max(held) <= max(room, *lengths)
    # First fit: two lines that are both at most half full would be one.
    assert sum(2 * own <= max(room, *lengths) for own in held) <= 1


def test_lines_are_as_many_as_the_longest_pair_wants():
    assert pack_first_fit([100, 400, 300, 112], 512) == [[1, 3], [2, 0]]
    assert pack_first_fit([700, 300, 400], 512) == [[0], [2, 1]]
    assert torch.equal(lines_of(PAIRS[:1]).contexts, torch.tensor([2]))
