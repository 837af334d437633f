"""The budget of a comparison: what all its runs have yet to release, added up before the first of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kedro.pipeline import Pipeline, node

from fedtext.params.compare import Entry
from fedtext.params.privacy import Privacy
from fedtext.pipelines.compare import budget, children
from fedtext.pipelines.compare.budget import PlannedReleases, budget_checker, is_planned, release_planner
from fedtext.pipelines.compare.pipeline import _plans
from fedtext.privacy.history import History
from fedtext.privacy.ledger import Ledger, Release, open_ledger
from fedtext.privacy.spending import Rules, total_epsilon
from fedtext.privacy.tags import Tag
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.config import ProjectConfigLoader
from tests.parameters import conf_base
from tests.pipelines.test_compare import RANK_7, planned
from tests.privacy.histories import release, spent

RULES = Rules("s")  # the split of `spent`
MEAN, VOTES = release(8.0, name="popri.mean"), release(8.0, name="pe.votes", round=1)


def privacy(**changes: Any) -> Privacy:
    return conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-5, **changes})


def opened(*releases: Release, epsilon: float = 1.0) -> Ledger:
    return open_ledger(privacy(epsilon=epsilon), 1000, releases)


def asked(ledger: Ledger, seed: int = 1) -> PlannedReleases:
    return PlannedReleases(seed, ledger, ledger.planned or (), RULES)


def price(*releases: Release) -> float:
    return total_epsilon([], opened(), RULES, releases)


def refused(root: Path, total: float | None, *plans: list[PlannedReleases]) -> str:
    """What is said if these plans are refused, nothing if they are not."""
    try:
        budget_checker(root)(privacy(total_epsilon=total), *plans)
    except RunRefusedError as error:
        return str(error)
    return ""


def test_the_sum_over_entries_and_seeds_is_held_against_the_total(tmp_path: Path) -> None:
    plans = [[asked(opened(one), seed) for seed in (1, 2)] for one in (MEAN, VOTES)]
    whole = price(MEAN, VOTES, MEAN, VOTES)
    assert refused(tmp_path, whole * 1.001, *plans) == ""
    said = refused(tmp_path, whole * 0.999, *plans)
    for words in (
        "none was started",
        "0 is spent",
        "'popri.mean', 'pe.votes'",
        f"make it {whole:.6g}",
        "compare.seeds",
    ):
        assert words in said
    assert refused(tmp_path, price(MEAN, VOTES) * 1.001, *([one[0]] for one in plans)) == ""


def test_without_a_total_the_first_entry_s_budget_is_everybody_s(tmp_path: Path) -> None:
    small, large = opened(MEAN, epsilon=price(MEAN) * 1.001), opened(VOTES, epsilon=7.0)
    assert refused(tmp_path, None, [asked(small)]) == ""
    assert f"may cost epsilon {price(MEAN) * 1.001:.6g};" in refused(tmp_path, None, [asked(small)], [asked(large)])


def test_what_two_entries_of_one_seed_release_alike_counts_once(tmp_path: Path) -> None:
    """As the test clients' mean features, which every entry of a data root asks for and gets from the first."""
    plans = [[asked(opened(MEAN))], [asked(opened(MEAN, VOTES))]]
    assert refused(tmp_path, price(MEAN, VOTES) * 1.001, *plans) == ""
    assert refused(tmp_path, price(MEAN) * 1.001, *plans)


def test_what_was_spent_before_counts_and_clients_of_the_two_parts_pay_apart(tmp_path: Path) -> None:
    History(tmp_path).add(spent(MEAN, "earlier"))
    tested = open_ledger(privacy(), 1000, [VOTES], part="test")
    assert refused(tmp_path, price(VOTES) * 1.001, [asked(tested)]) == ""
    assert "'popri.mean' x 1" in refused(tmp_path, price(VOTES) * 1.001, [asked(opened(VOTES))])


def test_an_entry_of_other_clients_or_records_is_left_out() -> None:
    assert is_planned(Entry(algorithm="popri", params={}))
    assert is_planned(RANK_7)
    assert is_planned(Entry(algorithm="pe", params={"privacy": {"epsilon": 7.0}}))
    for group in ("corpus", "partition", "chunking", "models", "evaluation"):
        assert not is_planned(Entry(algorithm="pe", params={group: {}})), group


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[children.ChildRun, tuple[str, ...]]]:
    """What would have been started; each leaves the ledgers that a run opens."""
    seen: list[tuple[children.ChildRun, tuple[str, ...]]] = []

    def pretend(child: children.ChildRun, *options: str, quiet: bool) -> None:
        assert quiet
        seen.append((child, options))
        child.data_root.mkdir(parents=True)
        (child.data_root / "ledger.json").write_text(opened(MEAN, VOTES).model_dump_json())

    monkeypatch.setattr(budget, "start", pretend)
    return seen


def test_an_entry_is_asked_once_for_all_seeds_in_a_data_root_of_its_own(
    tmp_path: Path, started: list[tuple[children.ChildRun, tuple[str, ...]]]
) -> None:
    child = planned(tmp_path, "rank_7", RANK_7)
    History(tmp_path / "seed_1").add(spent(MEAN, "a"))
    roots = {1: (tmp_path / "seed_1_rank_7", tmp_path / "seed_1"), 2: (tmp_path / "seed_2",)}
    first, second = release_planner(child, {"popri.open": Path("ledger.json")}, roots, RULES)(True)
    ((plan, options),) = started
    assert options == ("--to-nodes", "popri.open")
    assert plan.data_root == tmp_path / "plan_rank_7"
    assert plan.params.values == {**child.params.values, "data_root": str(plan.data_root)}
    assert not child.data_root.exists(), "it starts from the files of another entry, later"
    assert (first.seed, first.releases) == (1, (VOTES,)), "the mean was released by the entry that it starts from"
    assert (second.seed, second.releases) == (2, (MEAN, VOTES))


def test_on_public_text_the_settings_of_each_entry_are_checked_before_any_run(
    tmp_path: Path, started: list[tuple[children.ChildRun, tuple[str, ...]]]
) -> None:
    job = Pipeline([node(privacy, None, "key", name="create_key", tags=Tag.KEEP), node(privacy, None, "text")])
    runs = [planned(tmp_path, name, entry) for name, entry in {"popri": None, "rank_7": RANK_7}.items()]
    here = cast("ProjectConfigLoader", SimpleNamespace(data_root=tmp_path))
    checks = _plans(runs, {"popri": job}, lambda _: [], here, public=True)
    assert [check.func(True) for check in checks[:2]] == [[], []]
    assert [(run.name, options) for run, options in started] == [
        ("popri", ("--nodes", "create_key")),
        ("rank_7", ("--nodes", "create_key")),
    ]
    assert checks[2].inputs[1:] == [check.outputs[0] for check in checks[:2]]
    assert checks[2].func(privacy(), [], []), "of public text nothing is refused"
