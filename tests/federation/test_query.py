"""Questions and the parts of a joint answer."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedtext.federation.query import Parts, Query
from tests.refusals import refuses

NEAR_AND_FAR = Parts.of(near=3, far=2)


def test_what_it_is_asked_about_names_the_draw_and_changes_no_price() -> None:
    plain = Query("votes", 1, 5, 1.0, 4.0)
    asked = plain.about("digest", "settings")
    assert (asked.public_digest, asked.draw) == ("digest", ("settings", "digest"))
    assert asked.about("").about("digest", "settings") == asked != plain
    assert (asked.name, asked.round, asked.dim, asked.clip_norm, asked.noise_multiplier) == ("votes", 1, 5, 1.0, 4.0)


@given(widths=st.lists(st.integers(0, 5), min_size=1, max_size=5), rows=st.integers(1, 3))
def test_parts_read_back_what_was_laid_side_by_side(widths: list[int], rows: int) -> None:
    parts = Parts({str(i): width for i, width in enumerate(widths)})
    laid = [np.full((rows, width), float(i)) for i, width in enumerate(widths)]
    joint = np.concatenate(laid, axis=1)
    found = parts.read(joint)
    assert parts.dim == joint.shape[1] == sum(widths)
    assert list(found) == list(parts.widths)
    assert all(np.array_equal(found[str(i)], own) for i, own in enumerate(laid))
    assert all(np.array_equal(parts.read(joint[0])[str(i)], own[0]) for i, own in enumerate(laid))


def test_a_vector_of_another_width_is_refused() -> None:
    assert NEAR_AND_FAR.places == {"near": slice(0, 3), "far": slice(3, 5)}
    with refuses("numbers-do-not-fit-parts", value=6):
        NEAR_AND_FAR.read(np.zeros(6))
