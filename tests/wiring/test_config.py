"""Which parameters, data root and catalog a run sees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kedro.framework.project import pipelines

from fedtext.wiring.config import ProjectConfigLoader, active_data_root, active_parameters, privacy_class
from fedtext.wiring.hooks import preflight
from fedtext.wiring.pipeline_settings import Settings
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject


def loader(project: Path, env: str | None = None, **params: object) -> ProjectConfigLoader:
    return ProjectConfigLoader(
        conf_source=str(project / "conf"), env=env, runtime_params=params, base_env="base", default_run_env="local"
    )


def rounds() -> int:
    return sum(".state" in name for name in pipelines["__default__"].all_outputs())


def test_the_newest_loader_is_active(toy: ToyProject) -> None:
    loader(toy.path, toy={"rounds": 9})
    newest = loader(toy.path, toy={"rounds": 5})
    assert ProjectConfigLoader.active is newest
    assert active_parameters()["toy"]["rounds"] == 5


def test_without_a_session_conf_and_kedro_env_decide(toy: ToyProject, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rounds() == 2
    pipelines.configure("toy.pipeline_registry")
    ProjectConfigLoader.active = None
    monkeypatch.setenv("KEDRO_ENV", "paper")
    assert rounds() == 4


def test_the_graph_follows_env_and_params_from_session_to_session(toy: ToyProject) -> None:
    for env, params, expected in ((None, {}, 2), (None, {"toy": {"rounds": 3}}, 3), ("paper", {}, 4), (None, {}, 2)):
        toy.run(env=env, **params)
        assert rounds() == expected


def test_params_win_over_an_environment_that_keeps_the_other_keys(toy: ToyProject) -> None:
    assert loader(toy.path, "paper")["parameters"]["toy"] == {"rounds": 4, "draws": 5, "seconds": 0.0, "start": 1}
    assert loader(toy.path, "paper", toy={"rounds": 1})["parameters"]["toy"]["rounds"] == 1


def test_a_catalog_that_is_read_before_anything_else_finds_its_data_root() -> None:
    """As `kedro viz run` reads it, which asks for no parameter first."""
    catalog = loader(Path(__file__).parents[2])["catalog"]
    assert catalog["private_noise_key"]["filepath"].startswith("/")


def test_the_data_root_is_absolute_and_follows_params(toy: ToyProject, tmp_path: Path) -> None:
    assert loader(toy.path).data_root == toy.path / "data"
    assert loader(toy.path, data_root="other").data_root == toy.path / "other"
    assert loader(toy.path, data_root=str(tmp_path / "far")).data_root == tmp_path / "far"
    assert active_data_root() == tmp_path / "far"
    filepath = ProjectConfigLoader.active["catalog"]["private_records"]["filepath"]  # type: ignore[index]
    assert filepath == str(tmp_path / "far/01_raw/private_records.parquet")


def test_a_given_data_root_is_not_empty_and_one(toy: ToyProject) -> None:
    for wrong in (None, "", {"a": "b"}, ["a", "b"]):  # `--params data_root=$UNSET`
        with refuses("data-root-empty"):
            toy.run(data_root=wrong)
    assert not toy.data.exists()


def test_a_relative_data_root_starts_at_the_project_wherever_conf_is(toy: ToyProject, tmp_path: Path) -> None:
    shutil.copytree(toy.path / "conf", tmp_path / "other" / "conf")
    assert loader(tmp_path / "other").data_root == toy.data


def test_a_group_of_parameters_is_not_one_value(toy: ToyProject) -> None:
    settings = Settings(loader(toy.path, toy=3))
    with refuses("group-given-a-value", parameter="toy", value=3):
        settings.group("toy")


def test_a_run_writes_below_its_data_root_only(toy: ToyProject, tmp_path: Path) -> None:
    before = {p for p in toy.path.rglob("*") if "__pycache__" not in p.parts}
    toy.run(data_root=str(tmp_path / "far"))
    assert {p for p in toy.path.rglob("*") if "__pycache__" not in p.parts} == before
    assert (tmp_path / "far/08_reporting/toy.json").is_file()


def test_a_private_entry_that_was_set_after_the_files_were_read_is_not_previewed_either(toy: ToyProject) -> None:
    config = loader(toy.path)
    assert "private_more" not in config["catalog"]
    config["catalog"] = {"private_more": {"type": "pandas.ParquetDataset", "filepath": "more.parquet"}}
    assert config["catalog"]["private_more"]["metadata"]["kedro-viz"] == {"preview": False}


@pytest.mark.parametrize("metadata", [{"fedtext": {"privacy": "private"}, "kedro-viz": {"preview": True}}, {}, None])
def test_an_entry_that_may_be_private_is_not_previewed_whatever_it_says(
    metadata: dict[str, Any] | None, toy: ToyProject
) -> None:
    """Kedro-Viz asks no flow check: what `kedro run` refuses, it would show."""
    config = loader(toy.path)
    config["catalog"] = {"notes": {"type": "pandas.CSVDataset", "filepath": "notes.csv", "metadata": metadata}}
    assert config["catalog"]["notes"]["metadata"]["kedro-viz"] == {"preview": False}


def test_private_entries_are_not_previewed(toy: ToyProject) -> None:
    catalog = loader(toy.path)["catalog"]
    assert catalog["private_records"]["metadata"]["kedro-viz"] == {"layer": "private", "preview": False}
    assert "kedro-viz" not in catalog["released_mean"]["metadata"]


@pytest.mark.parametrize(
    ("name", "entry", "expected"),
    [
        ("private_x", {}, "private"),
        ("popri.round_01.private_x", {}, "private"),
        ("scores", {"metadata": {"fedtext": {"privacy": "released"}}}, "released"),
        ("scores", {"metadata": None}, None),
    ],
)
def test_privacy_classes(name: str, entry: dict[str, object], expected: str | None) -> None:
    assert privacy_class(name, entry) == expected


@pytest.mark.parametrize("command", [["registry", "list"], ["registry", "describe", "__default__"]])
def test_the_command_line_says_nothing_idle(toy: ToyProject, command: list[str]) -> None:
    kedro = Path(sys.executable).with_name("kedro")
    env = {**os.environ, "KEDRO_ENV": "paper"}
    done = subprocess.run([kedro, *command], cwd=toy.path, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "__default__" in done.stdout or "toy.round_04.close" in done.stdout


def test_a_group_that_no_pipeline_of_the_run_asks_for_is_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison gives all its runs every group's seed, whatever their corpus makes of the graph."""
    project = Path(__file__).parents[2]
    monkeypatch.setattr(preflight, "pipelines", {})
    tables = loader(project, None, corpus={"source": "table"})
    assert {"annotation", "popri", "compare", "claims"} <= tables.groups
    seeded = [group for group, values in tables["parameters"].items() if isinstance(values, dict) and "seed" in values]
    preflight.check_names({group: {"seed": 1} for group in seeded})
    with refuses("unknown-parameter", parameter="anotation"):
        preflight.check_names({"anotation": {"seed": 1}})
