"""What a release may do to its ledger, and what it may give out; leaks by releases are in test_leaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger, Release
from fedtext.wiring.guard import release_faults
from tests.parameters import conf_base

OPEN = Ledger(declaration=conf_base(Privacy, epsilon=4.0, delta=1e-5), population=100)
ONE = Release(name="mean", round=1, mechanism="gaussian", sensitivity=1.0, noise_stddev=4.0)
TWO = ONE.model_copy(update={"round": 2})
RUN = ONE.model_copy(update={"name": "rows", "rounds": 8})


def faults(before: Ledger, after: Any, *passed: Release, **shown: Any) -> list[str]:
    """The codes of what is wrong."""
    outputs = {"ledger_out": after, "shown": np.ones(3)} | shown
    found = release_faults({"private_x": 1, "ledger": before}, outputs, passed, private=["private_open_sums"])
    return [fault.code for fault in found]


SOUND = {
    "one release": (OPEN, OPEN.charge(ONE), (ONE,), {}),
    "two releases": (OPEN, OPEN.charge(ONE).charge(TWO), (ONE, TWO), {}),
    "the first round of many": (OPEN, OPEN.charge(RUN), (RUN,), {}),
    "a later round of many": (OPEN.charge(RUN), OPEN.charge(RUN), (RUN,), {}),
    "a round that was skipped": (OPEN, OPEN, (), {"shown": np.zeros(0)}),
    "a declared read without a mechanism": (OPEN, OPEN.unaccounted_read("fid", "none"), (), {"shown": {"adapter": 3}}),
    "private sums that stay": (OPEN, OPEN.charge(RUN), (RUN,), {"private_open_sums": "anything"}),
}
WRONG = {
    "nothing charged": (OPEN, OPEN, (), {}, "nothing-released"),
    "a door's release that is not charged": (OPEN, OPEN, (ONE,), {}, "wrongly-charged"),
    "a charge that no door made": (OPEN, OPEN.charge(ONE), (), {}, "wrongly-charged"),
    "the same round again": (OPEN.charge(ONE), OPEN.charge(ONE), (ONE,), {}, "wrongly-charged"),
    "earlier charges dropped": (
        OPEN.charge(ONE),
        OPEN.charge(TWO),
        (TWO,),
        {},
        "wrongly-charged",
    ),
    "another population": (
        OPEN,
        OPEN.charge(ONE).model_copy(update={"population": 10**6}),
        (ONE,),
        {},
        "ledger-changed",
    ),
    "unaccounted reads dropped": (
        OPEN.unaccounted_read("x", "y"),
        OPEN.charge(ONE),
        (ONE,),
        {},
        "unaccounted-reads-dropped",
    ),
    "text": (OPEN, OPEN.charge(ONE), (ONE,), {"shown": "text"}, "releases-no-numbers"),
    "text inside": (OPEN, OPEN.charge(ONE), (ONE,), {"shown": {"a": [1.0, ["text"]]}}, "releases-no-numbers"),
    "text as a key": (OPEN, OPEN.charge(ONE), (ONE,), {"shown": {"a text": 1.0}}, "releases-no-numbers"),
    "an array of texts": (OPEN, OPEN.charge(ONE), (ONE,), {"shown": np.array(["text"])}, "releases-no-numbers"),
    "an array of objects": (OPEN, OPEN.charge(ONE), (ONE,), {"shown": np.array([{}])}, "releases-no-numbers"),
    "a second ledger": (OPEN, OPEN.charge(ONE), (ONE,), {"ledger_2": OPEN}, "not-one-ledger"),
}


@pytest.mark.parametrize("case", SOUND)
def test_what_goes_through_a_door_may_leave(case: str) -> None:
    before, after, passed, shown = SOUND[case]
    assert faults(before, after, *passed, **shown) == []


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_is_refused(case: str) -> None:
    before, after, passed, shown, code = WRONG[case]
    assert code in faults(before, after, *passed, **shown)
