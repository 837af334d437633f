"""The active parameters say what a data set may spend, in whichever words the command line has them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fedtext.privacy.allowance import Allowance
from fedtext.wiring.account import active_allowance
from fedtext.wiring.config import ProjectConfigLoader, loader_for

TABLE = {"source": "table", "path": "mine.csv"}


@pytest.mark.parametrize(
    ("given", "allowance"),
    [
        ({}, Allowance(public=True, total=None)),
        ({"corpus": TABLE}, Allowance(public=False, total=None)),
        ({"corpus": TABLE, "privacy": {"total_epsilon": "inf"}}, Allowance(public=False, total=math.inf)),
        ({"corpus": TABLE, "privacy": {"total_epsilon": math.inf}}, Allowance(public=False, total=math.inf)),
        ({"corpus": TABLE, "privacy": {"total_epsilon": 3}}, Allowance(public=False, total=3.0)),
        ({"corpus": {"source": "nowhere"}, "privacy": {"epsilon": -1}}, Allowance(public=False, total=None)),
    ],
)
def test_it_is_typed_and_a_faulty_declaration_is_taken_for_a_private_corpus(
    given: dict[str, Any], allowance: Allowance
) -> None:
    loader_for(None, given)
    try:
        assert active_allowance() == allowance
    finally:
        ProjectConfigLoader.active = None
