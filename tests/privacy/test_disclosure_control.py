"""Numbers of units that leave without noise: many units only, rounded."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedtext.privacy.disclosure_control import round_counts


@given(st.lists(st.integers(0, 500), min_size=1, max_size=50))
def test_small_and_exact_numbers_of_units_are_never_shown(numbers: list[int]) -> None:
    shown = round_counts(np.array(numbers))
    assert all(
        s == 0 if n < 20 else s >= 20 and s % 10 == 0 and abs(s - n) <= 5 for s, n in zip(shown, numbers, strict=True)
    )
