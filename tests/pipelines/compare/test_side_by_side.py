"""Runs of a comparison on the engine: those of one data root follow each other, those of others stand beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedtext.params.compare import Entry
from fedtext.pipelines.compare import children
from fedtext.pipelines.compare.children import ChildRun
from fedtext.pipelines.compare.nodes import entries_runner, lanes_of
from fedtext.pipelines.compare.pipeline import _runs
from fedtext.system.engine import computing_on, over_processes

# Stands before the installed Kedro: a run is started in its project. It waits until a second one is under way.
KEDRO = """
import sys, time
from pathlib import Path
import yaml
root = Path(yaml.safe_load(Path(sys.argv[sys.argv.index("--config") + 1]).read_text())["run"]["params"]["data_root"])
(root.parent / f"started_{root.name}").touch()
until = time.monotonic() + 120
while len(list(root.parent.glob("started_*"))) < 2 and time.monotonic() < until:
    time.sleep(0.05)
beside = len(list(root.parent.glob("started_*")))
(root / "card.json").write_text('{"protection": {"units": %d}, "cost": [{}]}' % beside)
(root / "privacy.json").write_text('{"releases": []}')
"""
LEFT = children.ResultPaths(Path("card.json"), Path("privacy.json"), Path("map.json"))


def planned(root: Path, name: str, seed: int, **entry: Any) -> ChildRun:
    return children.planned(
        name,
        Entry(algorithm="popri", params=entry),
        seed,
        root=root / "compare",
        project=root,
        conf=str(root),
        env=None,
        given={},
        parameters={
            "largefedbench": {"out_dir": "/b"},
            "engine": {"name": "processes"},
            "for_reading": {"texts": 400},
        },
        left=LEFT,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "kedro").mkdir()
    (tmp_path / "kedro" / "__init__.py").touch()
    (tmp_path / "kedro" / "__main__.py").write_text(KEDRO)
    (tmp_path / "compare").mkdir()
    return tmp_path


def test_data_roots_are_side_by_side_and_results_come_in_their_order(project: Path) -> None:
    runs = [planned(project, "popri", seed) for seed in (1, 2)]
    with over_processes(2) as engine, computing_on(engine):
        one, two, *seconds, done = entries_runner(runs)(True)
    assert done
    assert [(one["entry"], one["seed"]), (two["entry"], two["seed"])] == [("popri", 1), ("popri", 2)]
    assert [timed["units"] for timed in seconds] == [2, 2], "each saw the other under way"
    json.dumps([one, two, seconds])


def test_runs_of_one_data_root_follow_each_other_and_variants_come_last(tmp_path: Path) -> None:
    shared = [planned(tmp_path, name, seed) for seed in (1, 2) for name in ("popri", "pe")]
    variants = [planned(tmp_path, "rank", seed, popri={"rejected_rank": 7}) for seed in (1, 2)]
    mixed = [*shared[:2], variants[0], *shared[2:], variants[1]]
    assert lanes_of(mixed) == [shared[:2], [variants[0]], shared[2:], [variants[1]]]
    first, second = _runs(mixed, ready="compare.checked")
    assert first.inputs == ["compare.checked"]
    assert second.inputs == [first.outputs[-1]]
    assert len(first.outputs) == 2 * len(shared) + 1
    assert len(second.outputs) == 2 * len(variants) + 1


def test_a_run_that_an_engine_may_have_started_starts_none(tmp_path: Path) -> None:
    assert planned(tmp_path, "popri", 1).params.values["engine"] == children.ALONE


def test_a_run_writes_texts_for_people_only_if_its_entry_asks_for_them(tmp_path: Path) -> None:
    assert planned(tmp_path, "popri", 1).params.values["for_reading"] == {"texts": 0}
    asked = planned(tmp_path, "read", 1, for_reading={"texts": 50})
    assert asked.params.values["for_reading"] == {"texts": 50}
