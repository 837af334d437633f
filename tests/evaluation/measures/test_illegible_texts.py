from __future__ import annotations

import pytest

from fedtext.evaluation.measures.illegible_texts import ILLEGIBLE_TEXTS, illegible_share
from fedtext.evaluation.measures.known import measure

GOOD, LOOP = "Why was my card declined?", "the fee is the fee is the fee is the fee is the fee"


def test_loops_count_and_sentences_do_not() -> None:
    assert illegible_share([GOOD, LOOP, GOOD, "Dear [Your Name]"]) == pytest.approx(0.5)
    assert illegible_share([GOOD]) == 0


def test_it_is_found_by_its_name() -> None:
    assert measure("illegible_texts") is ILLEGIBLE_TEXTS


def test_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        illegible_share([])
