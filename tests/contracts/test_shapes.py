"""The shapes in signatures are checked while tests run: a wrong one is an error where the call is made."""

from __future__ import annotations

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from fedtext.privacy.clipping import clip_rows
from fedtext.voting.witness import witness_scores


def test_a_wrong_number_of_axes_is_refused() -> None:
    assert clip_rows(np.ones((2, 3)), 1.0).shape == (2, 3)
    with pytest.raises(TypeCheckError):
        clip_rows(np.ones(3), 1.0)


def test_axes_of_one_name_have_one_length() -> None:
    assert witness_scores(np.ones((2, 3)), np.ones(3)).shape == (2,)
    with pytest.raises(TypeCheckError):
        witness_scores(np.ones((2, 3)), np.ones(4))
