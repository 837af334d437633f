"""Empty texts among others: a row of zeros, and no work."""

from __future__ import annotations

import numpy as np

from fedtext.embedding.nonempty import encode_nonempty, nonempty_by_round, nonempty_mask
from fedtext.models.encoder import Encoder, load_encoder


def test_empty_texts_are_zeros_and_the_others_as_if_they_were_alone() -> None:
    encoder: Encoder = load_encoder("offline")
    rows = encode_nonempty(encoder, ["", "a sorted list", "", "an open file"], label="texts")
    assert nonempty_mask(rows).tolist() == [False, True, False, True]
    assert not rows[[0, 2]].any()
    assert np.array_equal(rows[[1, 3]], encoder.encode(["a sorted list", "an open file"]))
    assert encode_nonempty(encoder, [], label="texts").shape == (0, encoder.dim)


def test_rounds_are_numbered_from_one_and_those_without_text_are_left_out() -> None:
    rows = np.eye(3, dtype=np.float32)
    rows[1] = 0
    by_round = nonempty_by_round([rows, np.zeros((2, 3), dtype=np.float32), rows[:1]])
    assert list(by_round) == ["round_01", "round_03"]
    assert np.array_equal(by_round["round_01"], rows[[0, 2]])
