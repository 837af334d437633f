"""The planted faults of tests/mutations.py are up to date; `python -m tests.mutations` sees whether each is caught."""

from __future__ import annotations

import ast

import pytest

from tests.mutations import MUTATIONS, Mutation, planted


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[one.fault for one in MUTATIONS])
def test_the_fault_can_be_planted_and_is_python(mutation: Mutation) -> None:
    ast.parse(planted(mutation))


def test_a_text_that_is_gone_is_an_error() -> None:
    gone = Mutation("privacy/noise.py", "this is not there", "", "nothing")
    with pytest.raises(ValueError, match="0 times"):
        planted(gone)
