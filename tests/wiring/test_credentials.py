"""Catalog entries with credentials: every command works, they are read with them, and nothing tells on them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import yaml
from kedro.framework.project import pipelines

from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.config import ProjectConfigLoader
from fedtext.wiring.guard.catalog import catalog_resolver, entry
from tests.contracts.graphs import check_pipeline, check_registered_pipelines
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject

SECRET = "hunter2-which-nobody-may-read"
PRIVATE = {"fedtext": {"privacy": "private"}}


@pytest.fixture
def database(toy: ToyProject, tmp_path: Path) -> Path:
    """The toy's private records in a database that is named with a secret; a wrapped entry and one of a pattern too."""
    place = tmp_path / f"{SECRET}.db"
    with sqlite3.connect(place) as connection:
        connection.execute("create table notes (client_id text, text text)")
        connection.executemany("insert into notes values (?, ?)", [(str(i), f"secret-{i}") for i in range(40)])
    connection.close()
    conf = toy.path / "conf"
    secrets = {"notes": {"con": f"sqlite:///{place}"}, "bucket": {"username": "u", "token": SECRET}}
    (conf / "local" / "credentials.yml").write_text(yaml.safe_dump(secrets))
    file = conf / "base" / "catalog.yml"
    csv = {"type": "pandas.CSVDataset", "filepath": "memory://notes.csv", "credentials": "bucket"}
    entries = {
        "private_notes": {
            "type": "pandas.SQLTableDataset",
            "table_name": "notes",
            "credentials": "notes",
            "metadata": PRIVATE,
        },
        "{name}_of_a_bucket": {**csv, "metadata": {"fedtext": {"privacy": "public"}}},
        "public_cached": {
            "type": "CachedDataset",
            "dataset": csv,
            "metadata": {"fedtext": {"privacy": "public"}},
        },
    }
    file.write_text(file.read_text() + yaml.safe_dump(entries))
    toy.source(
        "pipeline_registry.py",
        '"params:corpus", "private_records", name="read_private"',
        '"private_notes", "private_records", name="read_private"',
    )
    toy.source(
        "nodes.py",
        "def read_private(corpus: dict[str, Any]) -> pd.DataFrame:",
        "def read_private(notes: pd.DataFrame) -> pd.DataFrame:\n    return notes\n\n\ndef read_file(corpus: dict[str, Any]) -> pd.DataFrame:",
    )
    return place


def test_a_table_of_a_database_is_read_and_its_credentials_are_told_nowhere(
    toy: ToyProject, database: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    toy.run()
    assert (toy.data / "08_reporting" / "toy.json").is_file()
    told = [path for path in toy.data.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert told == []
    assert SECRET not in "".join(capfd.readouterr())


def test_every_check_reads_the_catalog_without_credentials(toy: ToyProject, database: Path) -> None:
    loader = ProjectConfigLoader(conf_source=str(toy.path / "conf"), base_env="base", default_run_env="local")
    check_registered_pipelines(dict(pipelines))
    assert check_pipeline(pipelines["__default__"], loader["catalog"]) == []
    resolver = catalog_resolver(loader["catalog"])
    for name in ("private_notes", "toys_of_a_bucket", "public_cached"):
        assert entry(name, resolver)["type"]
        assert "credentials" not in str(entry(name, resolver))


def test_a_database_that_is_not_there_is_refused_without_its_secret(
    toy: ToyProject, database: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    database.unlink()
    with pytest.raises(RunRefusedError, match="private_notes") as refusal:
        toy.run()
    assert SECRET not in str(refusal.value) + "".join(capfd.readouterr())


def test_credentials_of_conf_local_hold_in_every_environment(toy: ToyProject, database: Path) -> None:
    toy.run(env="paper")
    assert (toy.data / "08_reporting" / "toy.json").is_file()
    (toy.path / "conf" / "local" / "credentials.yml").unlink()
    with refuses("credentials-missing") as caught:
        toy.run(env="paper")
    assert all(name in str(caught.value) for name in ("'private_notes'", "conf/local/credentials.yml"))
