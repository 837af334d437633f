"""The figure of votes shows released votes by code, and says where there are none."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedtext.reporting.figures_flexible import SHOWN, vote_distribution

CANDIDATES = pd.DataFrame({"label": ["bars\t5"] * 3 + ["<b>\t1"] * 2 + [f"rare {i}" for i in range(SHOWN)]})
VOTES = np.arange(len(CANDIDATES), dtype=np.float64)


def test_the_largest_codes_have_their_votes_in_words_and_no_code_is_markup() -> None:
    figure = vote_distribution(CANDIDATES, VOTES, 1.5)
    assert len(figure.data) == SHOWN
    assert [list(bars.x) for bars in figure.data[:2]] == [[0.0, 1.0, 2.0], [3.0, 4.0]]
    assert [bars.name for bars in figure.data[:2]] == ["bars, 5", "&lt;b&gt;, 1"]
    assert "deviation of 1.50" in figure.layout.annotations[-1].text
    assert "without noise" in vote_distribution(CANDIDATES, VOTES, 0.0).layout.annotations[-1].text


def test_texts_without_codes_are_of_one_kind() -> None:
    (bars,) = vote_distribution(CANDIDATES.assign(label=None), VOTES, 1.0).data
    assert (bars.name, len(bars.x)) == ("all texts", len(CANDIDATES))


def test_without_votes_the_reason_stands_in_its_place() -> None:
    figure = vote_distribution(CANDIDATES, np.zeros(0), 0.0)
    assert not figure.data
    assert "not chosen by votes" in figure.layout.meta
