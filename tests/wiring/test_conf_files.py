"""Configuration is the same wherever it lies, and a mistake in it is one sentence that names the file."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fedtext.wiring.config import ProjectConfigLoader
from tests.refusals import refuses
from tests.wiring.conftest import ToyProject, here
from tests.wiring.test_hooks import KEDRO

ROOT = Path(__file__).parents[2]
PARAMETERS = "base/parameters_more.yml"


def loader(source: Path, env: str | None = None) -> ProjectConfigLoader:
    return ProjectConfigLoader(conf_source=str(source), env=env, base_env="base", default_run_env="local")


FAULTS = [
    (PARAMETERS, "a: [1", "conf-file-unreadable", "parameters_more.yml"),
    (PARAMETERS, "a: 1\na: 2", "conf-file-unreadable", "parameters_more.yml"),
    (PARAMETERS, "a: *nobody", "conf-file-unreadable", "parameters_more.yml"),
    (PARAMETERS, "- 1", "conf-file-unreadable", "parameters_more.yml"),
    (PARAMETERS, "toy: {rounds: 1}", "conf-unusable", "parameters_more.yml"),
    (PARAMETERS, "a: ${globals:nobody}", "conf-unusable", "'nobody'"),
    ("base/globals.yml", "data_root: [", "conf-file-unreadable", "globals.yml"),
    ("local/catalog.yml", "a: {", "conf-file-unreadable", "catalog.yml"),
]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("file", "text", "code", "name"), FAULTS, ids=[fault[1] for fault in FAULTS])
def test_a_mistake_is_one_sentence(toy: ToyProject, file: str, text: str, code: str, name: str) -> None:
    (toy.path / "conf" / file).write_text(text)
    with refuses(code) as refusal:
        toy.run()
    assert name in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not toy.data.exists()


@pytest.mark.parametrize("archive", ["gztar", "zip", "tar"])
def test_an_archive_is_the_same_configuration(tmp_path: Path, archive: str) -> None:
    packed = Path(shutil.make_archive(str(tmp_path / "conf"), archive, ROOT, "conf"))
    for env in (None, "tiny"):
        there, here = loader(packed, env), loader(ROOT / "conf", env)
        assert there["parameters"] == here["parameters"]
        assert there.groups == here.groups != frozenset()
        assert here.named_source is None
        assert there.named_source == str(packed)


@pytest.mark.slow
def test_a_run_from_an_archive_without_a_folder_of_ones_own_is_the_same_run(toy: ToyProject) -> None:
    toy.run(data_root="one")
    with tarfile.open(toy.path / "conf.tar.gz", "w:gz") as archive:
        archive.add(toy.path / "conf", "conf", filter=lambda found: None if "local" in found.name else found)
    command = [KEDRO, "run", "--conf-source", "conf.tar.gz", "--params", "data_root=two"]
    subprocess.run(command, cwd=toy.path, env=here(), check=True, capture_output=True)
    one, two = toy.files(toy.path / "one"), toy.files(toy.path / "two")
    assert {name: digest for name, digest in one.items() if "private" not in name} == {
        name: digest for name, digest in two.items() if "private" not in name
    }


def test_what_is_not_there_is_said(toy: ToyProject) -> None:
    broken = toy.path / "conf.tar.gz"
    broken.write_text("no archive")
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: loader(toy.path / "conf", "papr"), "unknown-environment"),
        (lambda: loader(toy.path / "nowhere"), "base-folder-missing"),
        (lambda: loader(broken), "conf-source-unreadable"),
    ]
    for make, code in cases:
        with refuses(code):
            make()
    shutil.rmtree(toy.path / "conf" / "local")
    assert loader(toy.path / "conf")["parameters"]["toy"]["rounds"] == 2


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("versioned", "sentence"), [(False, "keeps no versions"), (True, "no such version; it has none yet")]
)
def test_a_version_that_is_not_there_is_refused_before_anything_runs(
    toy: ToyProject, versioned: bool, sentence: str
) -> None:
    catalog = toy.path / "conf" / "base" / "catalog.yml"
    catalog.write_text(
        catalog.read_text().replace('"{name}_report":\n', f'"{{name}}_report":\n  versioned: {versioned}\n')
    )
    command = [KEDRO, "run", "--load-versions", "toy_report:2020-01-01T00.00.00.000Z"]
    done = subprocess.run(command, cwd=toy.path, env=here(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (toy.data / "08_reporting").exists()
