"""Empty texts among others: a row of zeros, and no work."""

from __future__ import annotations

import numpy as np

from fedtext.embedding.blanks import encode_written, written
from fedtext.embedding.encoder import Encoder, load_encoder


def test_empty_texts_are_zeros_and_the_others_as_if_they_were_alone() -> None:
    encoder: Encoder = load_encoder("offline")
    rows = encode_written(encoder, ["", "a sorted list", "", "an open file"], label="texts")
    assert written(rows).tolist() == [False, True, False, True]
    assert not rows[[0, 2]].any()
    assert np.allclose(rows[[1, 3]], encoder.encode(["a sorted list", "an open file"]), atol=5e-3)
    assert encode_written(encoder, [], label="texts").shape == (0, encoder.dim)
