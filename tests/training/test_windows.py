from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedtext.training.windows import Windows

SAMPLES = st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=40), max_size=8)


@given(SAMPLES, st.integers(1, 12))
def test_each_token_is_predicted_once_and_in_its_place(samples: list[list[int]], length: int) -> None:
    windows = Windows.of(samples, length)
    assert windows.samples == len(samples)
    for number, tokens in enumerate(samples):
        own = [row for row, sample in zip(windows.rows, windows.sample, strict=True) if sample == number]
        assert [token for row in own for token in row[1:]] == tokens[1:]
        assert [row[0] for row in own] == [tokens[0], *(row[-1] for row in own[:-1])]
        assert all(len(row) <= length + 1 for row in own)
        assert len(own) == max(-(-(len(tokens) - 1) // length), 1)  # no more than its own tokens ask for


@given(SAMPLES, st.integers(1, 12))
def test_a_sample_s_windows_are_its_own(samples: list[list[int]], length: int) -> None:
    together = Windows.of(samples, length)
    for number, tokens in enumerate(samples):
        assert together.chosen(np.array([number])).rows == Windows.of([tokens], length).rows


@given(SAMPLES, st.integers(1, 12), st.data())
def test_samples_are_chosen_whole(samples: list[list[int]], length: int, data: st.DataObject) -> None:
    kept = [number for number in range(len(samples)) if data.draw(st.booleans())]
    chosen = Windows.of(samples, length).chosen(np.array(kept, dtype=np.int64))
    alone = Windows.of([samples[number] for number in kept], length)
    assert chosen.rows == alone.rows
    assert chosen.sample.tolist() == alone.sample.tolist()


@given(SAMPLES, st.integers(1, 12))
def test_a_sum_by_sample_is_that_of_its_windows(samples: list[list[int]], length: int) -> None:
    windows = Windows.of(samples, length)
    told = windows.summed(np.array([len(row) - 1 for row in windows.rows], dtype=np.int64))
    assert told.tolist() == [len(tokens) - 1 for tokens in samples]
    with_tokens = windows.with_tokens()
    assert with_tokens.samples == sum(len(tokens) > 1 for tokens in samples)
    assert with_tokens.rows == [row for row in windows.rows if len(row) > 1]
