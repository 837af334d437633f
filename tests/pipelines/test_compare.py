"""What is handed to each run of a comparison, what its data root starts with, and what comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedtext.datasets.files import PlotlyDataset
from fedtext.params.compare import Claims, Compare, Entry
from fedtext.params.privacy import Privacy
from fedtext.pipelines.compare import children, nodes
from fedtext.pipelines.compare.nodes import entries_runner, entry_checker
from fedtext.pipelines.compare.pipeline import FIGURES
from fedtext.privacy.history import HISTORY_ROOT, History, release_history
from fedtext.privacy.ledger import Ledger, Release
from fedtext.privacy.report import privacy_report
from fedtext.reporting.figures_pca import pca_panels
from fedtext.resuming.records import NodeRecord, Store
from fedtext.system.atomic import REPLACED, partial_path
from fedtext.system.finished_pieces import FinishedPieces
from fedtext.wiring.console import LOG_FILE
from tests.evaluation.examples import CLIENTS, HELD_OUT, PCA, card, cloud
from tests.parameters import conf_base
from tests.pipelines.compare.test_children import ended, lives
from tests.privacy.histories import release, spent
from tests.refusals import refuses

PARAMETERS = {
    "popri": {"seed": 0, "rounds": 2},
    "evaluation": {"seed": 0},
    "partition": {"seed": 0},
    "privacy": {"noise_seed": None},
    "corpus": {"source": "docstrings"},
    "largefedbench": {"out_dir": "/benchmark"},
}
SNAPSHOTS = {"largefedbench": {"out_dir": "/benchmark"}}
ENTRIES = ("popri", "rank_7")
MEAN, VOTES = release(name="other.mean"), release(name="popri.votes", round=1)
REPORT = {"releases": [{**one.model_dump(), "epsilon_alone": 1.0} for one in (MEAN, VOTES)]}
NOBODY = {"algorithm": "nobody", "params": {}}
LEFT = children.ResultPaths(*(Path("08_reporting/popri") / f"{name}.json" for name in children.ResultPaths._fields))
CARD = {"algorithm": "POPri", "protection": {"units": 2470}, "cost": [{"method": "POPri"}]}
RANK_7 = Entry(algorithm="popri", params={"popri": {"rejected_rank": 7}})


def planned(root: Path, name: str = "popri", entry: Entry | None = None, **changed: Any) -> children.ChildRun:
    given: dict[str, Any] = {
        "root": root,
        "project": root,
        "conf": "/conf",
        "env": "tiny",
        "given": {},
        "parameters": PARAMETERS,
        "left": LEFT,
    }
    return children.planned(name, entry or Entry(algorithm="popri", params={}), 3, **{**given, **changed})


def test_every_seed_but_the_partition_s_is_the_run_s_own(tmp_path: Path) -> None:
    params = planned(tmp_path).params.values
    own = {"popri": {"seed": 3}, "evaluation": {"seed": 3}, "data_root": str(tmp_path / "seed_3")}
    assert params == {**own, **SNAPSHOTS}


def test_a_simulation_has_another_noise_seed_for_every_seed(tmp_path: Path) -> None:
    simulated = {**PARAMETERS, "privacy": {"noise_seed": 10}}
    params = planned(tmp_path, parameters=simulated, given={"privacy": {"noise_seed": 10}}).params.values
    assert params["privacy"] == {"noise_seed": 13}


def test_given_parameters_go_to_every_run_and_the_entry_s_own_win(tmp_path: Path) -> None:
    given = {"popri": {"rounds": 5, "rejected_rank": 2}, "compare": {"seeds": "3"}, "data_root": "elsewhere"}
    child = planned(tmp_path, "rank_7", RANK_7, given=given)
    assert child.params.values["popri"] == {"rounds": 5, "rejected_rank": 7, "seed": 3}
    assert "compare" not in child.params.values
    assert child.params.values["data_root"] == str(tmp_path / "seed_3_rank_7")
    assert given["popri"] == {"rounds": 5, "rejected_rank": 2}, "what was given is not changed"


def test_snapshots_are_the_comparison_s_and_not_below_the_run_s_data_root(tmp_path: Path) -> None:
    given = {"corpus": {"source": "snapshot", "snapshot": "mine"}, "largefedbench": {"shard_bytes": 2}}
    params = planned(tmp_path, given=given).params.values
    assert params["largefedbench"] == {"shard_bytes": 2, "out_dir": "/benchmark"}
    assert params["corpus"] == given["corpus"]


def test_entries_with_parameters_of_their_own_start_from_the_shared_files(tmp_path: Path) -> None:
    assert planned(tmp_path).start_from is None
    assert planned(tmp_path, "rank_7", RANK_7).start_from == tmp_path / "seed_3"
    assert planned(tmp_path, "rank_7", RANK_7, start_from="rank_7").start_from is None
    assert planned(tmp_path, "ipo", RANK_7, start_from="rank_7").start_from == tmp_path / "seed_3_rank_7"


def finished(root: Path) -> None:
    """What a run of popri leaves, as far as a comparison reads it."""
    reports = root / "08_reporting" / "popri"
    reports.mkdir(parents=True, exist_ok=True)
    (reports / "scorecard.json").write_text(json.dumps(CARD))
    (reports / "privacy_report.json").write_text(json.dumps(REPORT))
    store = Store(root)
    store.record_run(["popri.release", "popri.round_01.train", "evaluation.score", "other.release"])
    for name, seconds in (
        ("popri.release", 4.0),
        ("popri.round_01.train", 9.0),
        ("evaluation.score", 1.0),
        ("other.release", 6.0),
        ("popri.round_02.release", 70.0),  # left by a run with more rounds
    ):
        store.commit(name, NodeRecord(parts={}, outputs={"x": name}, files={}, seconds=seconds))
    for name, made, receipt in (
        ("other.release", MEAN, "of the data before"),
        ("other.release", MEAN, "of the data now"),
        ("popri.release", VOTES, "votes"),
        ("popri.round_02.release", release(name="popri.more", round=2), "left by a run with more rounds"),
    ):
        History(root).add(spent(made, receipt, node=name))


@pytest.fixture
def around() -> list[str]:
    """Whose budget each started run was told to share."""
    return []


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, around: list[str]) -> list[list[str]]:
    """The commands that would have been run; each leaves what a finished run leaves."""
    seen: list[list[str]] = []
    monkeypatch.delenv(HISTORY_ROOT, raising=False)

    def pretend(command: list[str], env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        around.append(env[HISTORY_ROOT])
        settings = yaml.safe_load(Path(command[command.index("--config") + 1]).read_text())
        finished(Path(settings["run"]["params"]["data_root"]))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(children.subprocess, "run", pretend)
    return seen


def test_a_run_hands_over_its_reports_and_seconds_by_side(tmp_path: Path, commands: list[list[str]]) -> None:
    result, seconds, asked = entries_runner([planned(tmp_path)])(True)
    assert asked
    assert commands[0][:6] == [sys.executable, "-m", "kedro", "run", "--pipelines", "popri"]
    assert commands[0][-4:] == ["--conf-source", "/conf", "--env", "tiny"]
    assert (result["card"], result["privacy"], result["sets_map"]) == (
        CARD,
        REPORT,
        {},
    )
    assert result["released"] == ["of the data now", "votes"], "its report's own, each as it was released last"
    assert (seconds["units"], seconds["cost"]) == (2470, {"method": "POPri"})
    assert seconds["clients"] == {"popri.release": 4.0, "other.release": 6.0}
    assert seconds["server"] == {"popri.round_01.train": 9.0}
    json.dumps([result, seconds])


def test_a_repeated_release_is_the_one_that_was_handed_over_and_not_the_newest(
    tmp_path: Path, commands: list[list[str]]
) -> None:
    """Parameters were changed and put back: the repetition is the same bytes, which the history records once."""
    entries_runner([planned(tmp_path)])(True)
    root = tmp_path / "seed_3"
    History(root).add(spent(VOTES, "votes with other parameters", node="popri.release"))
    Store(root).commit("popri.release", NodeRecord(parts={}, outputs={"x": "y"}, files={}, receipts=("votes",)))
    assert children.release_receipts(planned(tmp_path), REPORT) == ["of the data now", "votes"]


KILLED = """
import sys
from pathlib import Path
from fedtext.params.compare import Entry
from fedtext.pipelines.compare.children import ChildRun, ResultPaths, run
from fedtext.wiring.own_run import RunParameters
root, left = Path(sys.argv[1]), ResultPaths(Path("a"), Path("b"), Path("c"))
entry = Entry(algorithm="popri", params={})
run(ChildRun("popri", entry, 1, RunParameters({}), root / "seed_1", root, left, None, root, "conf", None))
"""
SLEEPS = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's request is Linux's")
def test_a_comparison_that_is_killed_takes_its_run_with_it(tmp_path: Path) -> None:
    (tmp_path / "kedro").mkdir()  # stands before the installed one: a run is started in its project
    (tmp_path / "kedro" / "__init__.py").touch()
    (tmp_path / "kedro" / "__main__.py").write_text(SLEEPS)
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as compare:
        assert compare.stdout is not None
        started = int(compare.stdout.readline())
        assert lives(started)
        compare.kill()
    assert ended(started, within=10)


def test_all_runs_of_a_comparison_share_the_budget_of_its_data_root(
    tmp_path: Path, commands: list[list[str]], around: list[str]
) -> None:
    """And so do those of a comparison that another run started."""
    child = planned(tmp_path / "comparison")
    entries_runner([child])(True)
    entries_runner([planned(tmp_path / "comparison", "rank_7", RANK_7)])(True)
    assert around == [str(tmp_path)] * 2


def test_a_comparison_that_a_run_started_passes_on_whose_budget_it_is(
    tmp_path: Path, commands: list[list[str]], around: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HISTORY_ROOT, "/of the run that started it")
    entries_runner([planned(tmp_path / "comparison")])(True)
    assert around == ["/of the run that started it"]


def test_a_variant_s_data_root_is_linked_once_and_whole(tmp_path: Path, commands: list[list[str]]) -> None:
    entries_runner([planned(tmp_path)])(True)
    (tmp_path / "seed_3" / "mlflow.db").write_text("records")
    (tmp_path / "seed_3" / ".fedtext" / LOG_FILE).write_text("what it said")  # a log grows: it would be both's
    piece = tmp_path / "seed_3" / ".fedtext" / "pieces" / "popri.write" / "recipe" / "prompts.jsonl"
    piece.parent.mkdir(parents=True)
    FinishedPieces(piece).keep(0, "a text")
    killed = tmp_path / "seed_3" / "03_primary"
    for leftover in (partial_path(killed / "table.parquet"), killed / f"{REPLACED}adapter" / "weights"):
        leftover.parent.mkdir(parents=True, exist_ok=True)
        leftover.write_text("half")
    variant = planned(tmp_path, "rank_7", RANK_7)
    entries_runner([variant])(True)
    shared = tmp_path / "seed_3" / ".fedtext" / "releases.jsonl"
    assert (variant.data_root / ".fedtext" / "releases.jsonl").samefile(shared)
    assert not (variant.data_root / "mlflow.db").exists()
    assert not (variant.data_root / ".fedtext" / LOG_FILE).exists()
    assert not (variant.data_root / ".fedtext" / "pieces").exists(), "two would write one file"
    assert not list(tmp_path.glob(".partial*"))
    assert not list((variant.data_root / "03_primary").iterdir()), "what killed writes left stays where it is"
    (variant.data_root / "kept").write_text("")
    entries_runner([variant])(True)
    assert (variant.data_root / "kept").exists(), "a data root that is there is not linked again"
    History(variant.data_root).add(spent(release(name="of the variant"), "v"))
    assert len(release_history(tmp_path / "seed_3")) == 4, "the linked history is not written through the link"
    assert len(release_history(variant.data_root)) == 5


def test_a_failed_run_stops_the_comparison_and_says_how_to_repeat_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1))
    with refuses("child-failed", value="popri"):
        entries_runner([planned(tmp_path)])(True)


def test_an_algorithm_that_is_not_there_is_refused_before_any_run() -> None:
    compare = Compare.model_validate({"algorithms": "a", "seeds": "1", "entries": {"a": NOBODY}})
    with refuses("unknown-algorithm", parameter="compare.entries.a.algorithm", value="nobody"):
        compare.validate_names(["popri"])
    compare.validate_names(["nobody"])


def test_a_claim_about_nobody_is_refused_before_any_run() -> None:
    compare = Compare.model_validate({"algorithms": "a", "seeds": "1", "entries": {}})
    claim = {"says": "x", "better": "a", "worse": "b", "relation": "more", "measures": []}
    claims = Claims.model_validate({"margin": 0.1, "measures": [], "judged": {"x": claim}})
    with refuses("claim-of-unknown-entry", value="b"):
        entry_checker(["a"])(compare, claims)
    assert entry_checker(["a", "b"])(compare, claims)


@pytest.mark.parametrize("own", [{"measures": "top_1 fud"}, {"judged": {"a": {"measures": "fud"}}}])
def test_a_measure_that_is_not_there_is_refused_before_any_run(own: dict[str, Any]) -> None:
    compare = Compare.model_validate(
        {"algorithms": "a", "seeds": "1", "entries": {"a": {"algorithm": "popri", "params": {}}}}
    )
    said = {"says": "x", "better": "a", "worse": "eps0", "relation": "more"}
    judged = {name: {**said, **claim} for name, claim in own.get("judged", {}).items()}
    claims = Claims.model_validate({"margin": 0.1, "measures": "", **own, "judged": judged})
    with refuses("unknown-measure", value="fud"):
        entry_checker(["popri"])(compare, claims)


def result(entry: str, seed: int, level: float) -> dict[str, Any]:
    """What a run's node hands over, of a made-up run."""
    found = card()
    found["accuracy"]["conditions"]["synthetic"]["top_1"] = level
    sets = {"synthetic": cloud(40, seed), "public": cloud(40, seed + 9)}
    drawn = json.loads(pca_panels("sets", sets, HELD_OUT, CLIENTS, PCA).to_json())
    made = Release(name="popri.mean", round=0, mechanism="discrete Gaussian", sensitivity=1.0, noise_stddev=4.0)
    ledger = Ledger(declaration=conf_base(Privacy, epsilon=2.0, delta=1e-5), population=2000, releases=(made,))
    return {
        "entry": entry,
        "algorithm": "popri",
        "seed": seed,
        "params": {} if entry == "popri" else {"popri": {"rejected_rank": 7}},
        "card": json.loads(json.dumps(found)),
        "privacy": privacy_report(ledger),
        "released": [f"{entry} {seed}"],
        "sets_map": drawn,
    }


def test_tables_figures_and_page_come_out_of_what_the_runs_handed_over(tmp_path: Path) -> None:
    results = [result(entry, seed, 0.1 + 0.01 * i + 0.001 * seed) for seed in (1, 2) for i, entry in enumerate(ENTRIES)]
    claim = {"says": "the 5th is better", "better": "popri", "worse": "rank_7", "relation": "more", "measures": ""}
    claims = Claims.model_validate({"margin": 0.1, "measures": "", "judged": {"rank": claim}})
    comparison, table1, text = nodes.tabulate(claims, conf_base(Privacy, epsilon=2.0, delta=1e-5), *results)
    seconds = {"clients": {"popri.release": 200.0}, "server": {"popri.round_01.train": 3.0}}
    timed = [{"entry": one["entry"], "units": 2470, "cost": one["card"]["cost"][0], **seconds} for one in results]
    costs, table2 = nodes.tabulate_costs(*timed)
    drawn = nodes.draw_figures(json.loads(json.dumps(comparison)), *results[:2])
    assert len(drawn) == len(FIGURES)
    dataset = PlotlyDataset(filepath=str(tmp_path / "figure.json"))
    loaded = []
    for figure in drawn:
        dataset.save(figure)
        loaded.append(dataset.load())
    page = nodes.write_page(comparison, costs, *loaded)
    assert comparison["claims"]["rank"]["measured"]["top_1"]["verdict"] == "not reproduced"
    assert "all runs of seed 1" in text
    assert "4 different sets of releases" in text
    assert table1.count("\n") == 1 + 2 + 5
    assert "\nrank_7,POPri," in table2
    assert page.count("<figure>") == 4, "accuracy, sets, rounds and the rejected rank; nothing varies the others"
    assert "left out: no two entries of one algorithm differ in privacy.clients_per_round" in page
