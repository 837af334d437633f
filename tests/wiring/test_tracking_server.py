"""MLflow's records lie where they should: at a server that a user names, and else below any data root."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from fedtext.wiring.hooks.tracking import flat_parameters
from fedtext.wiring.tracking_server import check_server, complete_tracking, database_uri, remove_half_made
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject, here
from tests.wiring.test_hooks import KEDRO


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A real one on this machine, and where it keeps files."""
    place = tmp_path_factory.mktemp("server")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{place}/mlflow.db", "--artifacts-destination", str(place / "files")]
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=place, env=env, stdout=log, stderr=log)
        try:
            until = time.monotonic() + 180
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                    break
                except OSError:
                    assert time.monotonic() < until
                    assert process.poll() is None, (place / "log").read_text()
                    time.sleep(0.5)
            yield f"http://127.0.0.1:{port}", place / "files"
        finally:
            process.terminate()
            process.wait(timeout=60)


def run(toy: ToyProject, *options: str) -> subprocess.CompletedProcess[str]:
    env = here() | {"FEDTEXT_TRACKING": "on"}
    return subprocess.run(
        [KEDRO, "run", *options], cwd=toy.path, env=env, capture_output=True, text=True, check=False, timeout=300
    )


def runs(uri: str) -> list[Any]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    return [run for found in client.search_experiments() for run in client.search_runs([found.experiment_id])]


@pytest.mark.slow  # tests/wiring/test_hooks.py follows what is tracked into a file at every commit
def test_a_server_gets_the_files_and_the_name_that_a_user_chose(toy: ToyProject, server: tuple[str, Path]) -> None:
    address, files = server
    (toy.path / "conf" / "prod").mkdir()
    (toy.path / "conf" / "prod" / "mlflow.yml").write_text(
        f"server: {{mlflow_tracking_uri: '{address}'}}\ntracking: {{run: {{name: mine}}}}\n"
    )
    done = run(toy, "--env", "prod")
    assert done.returncode == 0, done.stderr
    (only,) = runs(address)
    assert (only.info.run_name, only.info.status) == ("mine", "FINISHED")
    assert [path.name for path in files.rglob("*.json")] == ["toy.json"]
    assert not (toy.data / "mlartifacts").exists()


@pytest.mark.slow
@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", ["a%20b?c", "é 1#2"])
def test_records_lie_below_a_data_root_of_any_name(toy: ToyProject, name: str) -> None:
    done = run(toy, "--params", f"data_root=roots/{name}")
    assert done.returncode == 0, done.stderr
    root = toy.path / "roots" / name
    assert [path.name for path in root.parent.iterdir()] == [name]
    assert list((root / "mlartifacts").rglob("toy.json"))
    (only,) = runs(database_uri(f"sqlite:///{root}/mlflow.db", root))
    assert only.info.status == "FINISHED"


@pytest.mark.parametrize("name", ["plain", "a b", "%20", "a?b#c", "100%", "ü/ß"])
def test_a_path_is_what_sqlalchemy_reads_out_of_the_uri(name: str) -> None:
    root = Path("/data") / name
    assert make_url(database_uri(f"sqlite:///{root}/mlflow.db", root)).database == f"{root}/mlflow.db"


@pytest.mark.slow
def test_the_template_of_kedro_mlflow_breaks_nothing(toy: ToyProject) -> None:
    env = here() | {"FEDTEXT_TRACKING": "on"}
    subprocess.run([KEDRO, "mlflow", "init"], cwd=toy.path, env=env, check=True, capture_output=True)
    done = run(toy)
    assert done.returncode == 0, done.stderr
    assert (toy.data / "mlflow.db").exists()
    assert not (toy.path / "mlruns").exists()


def test_a_run_that_fails_in_a_hook_is_a_failed_one(toy: ToyProject) -> None:
    (toy.data / "mlartifacts").mkdir(parents=True)
    (toy.data / "mlartifacts").rmdir()
    (toy.data / "mlartifacts").write_text("in the way of the report")
    assert run(toy).returncode != 0
    assert [run.info.status for run in runs(f"sqlite:///{toy.data}/mlflow.db")] == ["FAILED"]


def test_a_setting_that_is_none_and_a_server_that_is_down_are_one_sentence(toy: ToyProject) -> None:
    mlflow = toy.path / "conf" / "local" / "mlflow.yml"
    for text, sentence in (
        ("tracking: {experimnt: {name: x}}", "Error: mlflow.yml: tracking.experimnt is no setting"),
        ("server: {mlflow_tracking_uri: 'http://127.0.0.1:9'}", "Error: MLflow's server http://127.0.0.1:9 cannot be"),
    ):
        mlflow.write_text(text)
        done = run(toy)
        assert done.returncode == 1
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    check_server("sqlite:////data/mlflow.db")


def test_a_server_s_password_is_in_no_refusal() -> None:
    with refuses("tracking-server-unreachable", value="https://127.0.0.1:9") as refused:
        check_server("https://me:secret@127.0.0.1:9")
    assert "secret" not in str(refused.value)


def test_names_are_in_signs_that_mlflow_has() -> None:
    assert flat_parameters({"a[0]": 1, "a(0)": 2}) == {"a_0_": "1", "a_0__": "2"}


def test_files_of_ones_own_choice_stay_where_they_are() -> None:
    chosen = {"experiment": {"create_experiment_kwargs": {"artifact_location": "s3://bucket"}}}
    config = {"server": {"mlflow_tracking_uri": "http://host"}, "tracking": chosen}
    made = complete_tracking(config, Path("/data"))["tracking"]
    assert made["experiment"] == chosen["experiment"]
    assert made["run"] == {"nested": False}


def test_a_database_that_a_kill_left_half_made_is_removed_and_no_other(tmp_path: Path) -> None:
    for name, rows in (("half", 0), ("whole", 1)):
        with closing(sqlite3.connect(tmp_path / name)) as database, database:
            database.execute("create table experiments (experiment_id integer)")
            database.executemany("insert into experiments values (?)", [(0,)] * rows)
        os.utime(tmp_path / name, (1, 1))
        remove_half_made(f"sqlite:///{tmp_path / name}")
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]
