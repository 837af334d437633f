"""A team's budget in whole runs: the same refusals on every machine, one charge of two at once, and no password anywhere."""

from __future__ import annotations

import logging
import multiprocessing
import os
import platform
import shutil
import subprocess
import sys
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from fedtext.privacy.data_set_budget import DataSetBudget
from fedtext.privacy.history import HISTORY_ROOT, History, release_history
from fedtext.privacy.spending import Rules, TotalExceeded
from fedtext.privacy.team_registry import KEYS, TeamRegistry
from fedtext.wiring import account
from fedtext.wiring.config import ProjectConfigLoader
from tests.postgres_server import PASSWORD, Server, postgres, team_database
from tests.privacy.test_data_set_budget import opened
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject, here
from tests.wiring.test_unit_identity_whose import TEXTS, run, table

__all__ = ["postgres", "team_database"]
SPAWN = multiprocessing.get_context("spawn")
DELTAS = (1e-4, 1.01e-4)


def test_of_two_machines_that_together_would_overspend_exactly_one_is_refused(
    tmp_path: Path, team_database: str, registry_of_the_test: Path
) -> None:
    TeamRegistry(team_database).check()
    ready, said = SPAWN.Barrier(2), SPAWN.Queue()
    members = [
        SPAWN.Process(target=ask, args=(number, tmp_path, team_database, registry_of_the_test, ready, said))
        for number in range(2)
    ]
    for member in members:
        member.start()
    found = sorted(said.get(timeout=120) for _ in members)
    for member in members:
        member.join(60)
    assert found == ["refused", "released"]
    roots = [tmp_path / f"machine {number}" / "data" for number in range(2)]
    assert sum(len(release_history(root)) for root in roots) == 1


def ask(number: int, folder: Path, address: str, key: Path, ready: Barrier, said: Queue[str]) -> None:
    """One machine: it has been admitted, and confirms its release when the other one does."""
    os.environ.pop(HISTORY_ROOT, None)
    own = folder / f"machine {number}"
    shutil.copytree(key / KEYS, own / "state" / KEYS)
    os.environ["FEDTEXT_STATE"] = str(own / "state")
    history = History(own / "data", registry=TeamRegistry(address, f"host{number}"))
    history.register_units([], ["what all of them have written to somebody"])
    ledger = opened(delta=DELTAS[number])
    budget = DataSetBudget(history=history, public=False, total=None, rules=Rules("s"))
    gate, (made, *_) = budget.guard_of("node", releases=True), ledger.planned or ()
    gate.admit(made, ledger, "draw")
    ready.wait(100)
    try:
        gate.confirm(made, made.round, f"{number}", "draw")
    except TotalExceeded:
        said.put("refused")
    else:
        said.put("released")


def test_a_run_on_another_machine_over_the_same_people_is_refused(
    toy: ToyProject, tmp_path: Path, team_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the guard: the nodes that release ask the database while they read private text."""
    run(toy, table(tmp_path / "mine.txt", TEXTS), history=team_database)
    assert len(release_history(toy.data)) == 1
    monkeypatch.setattr(platform, "node", lambda: "another")
    with refuses("total-exceeded", parameter="privacy.total_epsilon") as refused:
        run(toy, table(tmp_path / "copy.txt", TEXTS[::-1]), "other", history=team_database)
    assert f"in {os.uname().nodename}:{toy.data}: 1)" in str(refused.value)
    assert release_history(toy.path / "other") == ()
    assert not (toy.path / "other/02_released/mean.safetensors").exists()
    others = [text.replace("person", "client") for text in TEXTS]
    run(toy, table(tmp_path / "others.txt", others), "others", history=team_database)


def test_where_releases_are_recorded_changes_no_result(
    toy: ToyProject, tmp_path: Path, team_database: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = table(tmp_path / "mine.txt", TEXTS)
    run(toy, file)
    before = toy.files()
    with caplog.at_level(logging.INFO, logger="fedtext.wiring.runner"):
        caplog.clear()
        run(toy, file, history=team_database)
    assert [one for one in caplog.messages if one.startswith("Node ")] == []
    assert toy.files() == before
    assert not any("postgresql" in path.read_text(errors="replace") for path in toy.data.rglob("*") if path.is_file())


def test_the_password_is_in_no_file_and_no_line(
    tracked: ToyProject,
    tmp_path: Path,
    team_database: str,
    registry_of_the_test: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = table(tmp_path / "mine.txt", TEXTS)
    run(tracked, file, history=team_database)
    with_secret = team_database.replace("owner@", f"owner:{PASSWORD}@")
    for address in (with_secret, f"{team_database}&password={PASSWORD}"):
        with refuses("database-address-holds-a-secret", parameter="privacy.history"):
            run(tracked, file, "second", history=address)
    with refuses("no-database-address", parameter="privacy.history"):
        run(tracked, file, "second", history=f"sqlite://owner:{PASSWORD}@somewhere/history.db")
    written, complained = capfd.readouterr()
    assert PASSWORD not in written + complained
    for folder in (tracked.path, registry_of_the_test):
        holding = [path for path in folder.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
        assert holding == []
    assert (tracked.data / "mlflow.db").exists(), "MLflow has recorded the run"


def test_a_command_with_a_password_prints_and_keeps_none_of_it(toy: ToyProject, postgres: Server) -> None:
    told = f"privacy.history=postgresql://owner:{PASSWORD}@127.0.0.1:{postgres.port}/postgres"
    done = subprocess.run(
        [sys.executable, "-m", "kedro", "run", "--params", told],
        cwd=toy.path, env=here(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "privacy.history holds a password" in done.stdout + done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert not any(PASSWORD.encode() in path.read_bytes() for path in toy.path.rglob("*") if path.is_file())


def test_a_database_that_does_not_answer_is_found_before_anything_is_read(
    toy: ToyProject, tmp_path: Path, postgres: Server
) -> None:
    with refuses("team-history-lost", parameter="privacy.history"):
        run(toy, table(tmp_path / "mine.txt", TEXTS), history=postgres.address(port=1))
    assert not (toy.data / "01_raw").exists()


@pytest.mark.parametrize("given", [None, "postgresql://me@db/other"])
def test_reports_ask_the_database_of_the_files_or_of_the_command_line(toy: ToyProject, given: str | None) -> None:
    stated = "postgresql://me@db/team"
    parameters, catalog = (toy.path / "conf/base" / name for name in ("parameters.yml", "catalog.yml"))
    parameters.write_text(parameters.read_text().replace("privacy:\n", f"privacy:\n  history: {stated}\n"))
    catalog.write_text('release_history: {type: x, history: "${parameter:privacy.history}"}\n' + catalog.read_text())
    loader = ProjectConfigLoader(
        conf_source=str(toy.path / "conf"),
        runtime_params={"privacy": {"history": given}} if given else {},
        base_env="base",
        default_run_env="local",
    )
    assert loader["catalog"]["release_history"]["history"] == (given or stated)


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "is_installed", lambda: False)
    with refuses("postgresql-not-installed", parameter="privacy.history"):
        account.check_history({"privacy": {"history": "postgresql://db/team"}})
    nothing: dict[str, Any] = {"privacy": {"history": None}}
    account.check_history(nothing)
