"""The mark `sampled`: of a test's many cases a commit sees some, and the night all.

`@pytest.mark.sampled(every=4)` keeps the first of each four cases in the order of their definition.
`@pytest.mark.sampled(only=("popri",))` keeps the cases that have one of these words in their id. A name that is in no
case's id is an error: a case that was renamed would otherwise leave the commits in silence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import pytest


def leave_to_the_night(items: Iterable[pytest.Item]) -> None:
    """Mark the cases `slow` that a commit does not see."""
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for name, found in cases.items():
        mark = found[0].get_closest_marker("sampled")
        assert mark is not None
        kept = _kept(name, found, **mark.kwargs)
        for item in found:
            if item not in kept:
                item.add_marker(pytest.mark.slow)


def _kept(name: str, cases: Sequence[pytest.Item], every: int = 1, only: Sequence[str] = ()) -> list[pytest.Item]:
    ids = {case.nodeid.partition("[")[2].removesuffix("]"): case for case in cases}
    unknown = [word for word in only if not any(word in one for one in ids)]
    if unknown and len(ids) > 1:  # one case: somebody runs it by its id
        raise pytest.UsageError(f"{name} is to run its case {unknown[0]!r} at every commit, and has {', '.join(ids)}")
    chosen = [case for one, case in ids.items() if not only or any(word in one for word in only)]
    return chosen[::every]
