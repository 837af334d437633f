"""The one sequence of a release: a planted release that leaves out a step cannot be written through it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedtext
from fedtext.federation.charged_release import ChargedRelease, charged_releases
from fedtext.federation.mechanism import PlannedSum, opened_ledger, planned_sum
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.params.privacy import Privacy
from fedtext.privacy.budget_guard import guarding
from fedtext.privacy.ledger import BudgetExceeded, Ledger, Release
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base
from tests.refusals import refuses

KEY, DIM, CLIENTS = new_noise_key(3), 4, 50
SOURCE = Path(str(fedtext.__file__)).parent
# Where each step is written down: its definition, and the one sequence.
STEPS = {
    "charge": {"privacy/ledger.py", "federation/charged_release.py"},
    "admit": {"federation/charged_release.py"},
    "discrete_gaussian": {"federation/charged_release.py"},
    "confirm": {"federation/charged_release.py"},
    "ChargedRelease": {"federation/charged_release.py"},
    "HolderNoise": {"federation/charged_release.py"},
    "Noise": {"federation/charged_release.py"},
}


class Watch:
    """A guard that notes what it is told; `refuses` names the step that it does not allow."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self.seen: list[str] = []

    def _note(self, step: str) -> None:
        self.seen.append(step)
        if step.partition(" ")[0] == self.refuses:
            raise RuntimeError(f"no {step}")

    def admit(self, release: Release, ledger: Ledger, draw: str) -> None:
        self._note(f"admit {release.name}")

    def confirm(self, release: Release, round: int, receipt: str, draw: str) -> None:
        self._note(f"confirm {release.name}")

    def unaccounted(self, name: str, reason: str, ledger: Ledger) -> None:
        raise AssertionError


def declared() -> Privacy:
    return conf_base(Privacy, {"epsilon": 8.0, "delta": 1e-4, "noise_seed": 3})


def plans(*names: str) -> tuple[list[PlannedSum], Ledger]:
    queries = [Query(name, 1, DIM, 1.0, 20.0) for name in names]
    return [planned_sum(query, declared(), CLIENTS) for query in queries], opened_ledger(queries, declared(), CLIENTS)


def holding() -> PrivateSamples:
    return PrivateSamples.of_one_class(np.zeros((CLIENTS, 1)), np.arange(CLIENTS))


class Unreadable(PrivateSamples):
    """Private samples that nobody may look at."""

    def __init__(self) -> None:
        """Hold nothing."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return super().__getattribute__(name)
        raise AssertionError(f"{name} was read")


def zeros() -> np.ndarray:
    return np.zeros(DIM, dtype=np.int64)


def test_all_are_charged_and_admitted_before_the_block_and_confirmed_after_it_in_order() -> None:
    planned, ledger = plans("one", "two")
    with guarding(watch := Watch()), charged_releases(planned, holding(), ledger, KEY) as (charged, releases):
        assert watch.seen == ["admit one", "admit two"]
        assert charged.releases == tuple(plan.release for plan in planned)
        assert all(release.noised(zeros(), ("sum",)).any() for release in releases)
        assert watch.seen == ["admit one", "admit two"]
    assert watch.seen == ["admit one", "admit two", "confirm one", "confirm two"]
    assert not ledger.releases


def test_no_release_is_made_without_its_charge() -> None:
    """The ledger refuses what was not planned and what is beyond the budget; nothing is read."""
    planned, _ = plans("one")
    other = opened_ledger([Query("other", 1, DIM, 1.0, 20.0)], declared(), CLIENTS)
    small = Ledger(declaration=declared().model_copy(update={"epsilon": 0.01}), population=CLIENTS)
    with refuses("release-not-planned"):
        entered(planned, other)
    with pytest.raises(BudgetExceeded):
        entered(planned, small)


def test_no_release_is_made_that_the_guard_refuses_and_nothing_is_read() -> None:
    planned, ledger = plans("one", "two")
    with guarding(watch := Watch("admit")), pytest.raises(RuntimeError, match="no admit one"):
        entered(planned, ledger)
    assert watch.seen == ["admit one"]


def entered(planned: list[PlannedSum], ledger: Ledger) -> None:
    with charged_releases(planned, Unreadable(), ledger, KEY):
        raise AssertionError("the block was entered")


def planted_return(releases: list[ChargedRelease]) -> None:
    """Draws noise for the first release and forgets that of the second."""
    releases[0].noised(zeros(), ("sum",))


@pytest.mark.parametrize("planted", [planted_return, lambda releases: None])
def test_a_release_that_draws_no_noise_is_refused(planted: Callable[[list[ChargedRelease]], None]) -> None:
    planned, ledger = plans("one", "two")

    def release() -> str:
        with charged_releases(planned, holding(), ledger, KEY) as (_, releases):
            planted(releases)
            return "private sums"

    with refuses("charged-but-not-asked"):
        release()


def test_a_result_is_not_returned_that_the_guard_does_not_confirm() -> None:
    planned, ledger = plans("one")

    def release() -> np.ndarray:
        with charged_releases(planned, holding(), ledger, KEY) as (_, [one]):
            return one.noised(zeros(), ("sum",))

    with guarding(Watch("confirm")), pytest.raises(RuntimeError, match="no confirm one"):
        release()


def test_a_block_that_fails_is_not_confirmed() -> None:
    planned, ledger = plans("one")

    def fails() -> None:
        with charged_releases(planned, holding(), ledger, KEY) as (_, [one]):
            one.noised(zeros(), ("sum",))
            raise KeyError

    with guarding(watch := Watch()), pytest.raises(KeyError):
        fails()
    assert watch.seen == ["admit one"]


def test_no_noise_is_drawn_after_the_release_was_confirmed() -> None:
    """It would be in no receipt: two different sums would be one release to the guard."""
    planned, ledger = plans("one")
    with charged_releases(planned, holding(), ledger, KEY) as (_, [one]):
        one.noised(zeros(), ("sum",))
    with refuses("noise-drawn-outside-release"):
        one.noised(zeros(), ("another sum",))
    with refuses("noise-drawn-outside-release"):
        one.sum_of_noised(lambda noise: [noise.sum_of([(1, zeros())], DIM, {})], ("another sum",), DIM)


def calls(source: str) -> set[str]:
    """Return which steps the source calls, by whatever alias of a module or value."""
    called = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in called}
    imported = {
        alias.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    return (names | (imported & {"discrete_gaussian"})) & STEPS.keys()


def test_each_step_is_written_once() -> None:
    """A release function that charged, admitted, drew or confirmed by itself could forget another step."""
    found: dict[str, set[str]] = {step: set() for step in STEPS}
    for path in SOURCE.rglob("*.py"):
        for step in calls(path.read_text(encoding="utf-8")):
            found[step].add(path.relative_to(SOURCE).as_posix())
    assert found == STEPS


@pytest.mark.parametrize(
    "planted",
    [
        "def release(ledger, plan):\n    return ledger.charge(plan)",
        "from fedtext.privacy.budget_guard import current\ncurrent().admit(1, 2, 3)",
        "guard = current()\nguard.confirm(1, 2, 3, 4)",
        "from fedtext.privacy.noise import discrete_gaussian as noise\nnoise(1)",
        "from fedtext.privacy import noise\nnoise.discrete_gaussian(1)",
        "from fedtext.federation import charged_release as c\nc.ChargedRelease(1, 2, 3).noised(4, ())",
    ],
)
def test_a_planted_step_outside_of_the_sequence_is_seen(planted: str) -> None:
    assert calls(planted)
