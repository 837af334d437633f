"""A small Kedro project with the real settings, hooks, session and datasets; runs are real sessions in this process."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

os.environ["FEDTEXT_TRACKING"] = "off"  # before the settings are imported

from kedro.framework import project
from kedro.framework.project import settings
from kedro.framework.startup import bootstrap_project
from kedro.runner import AbstractRunner

from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy
from fedtext.resuming import source_digest
from fedtext.wiring.config import ProjectConfigLoader
from tests.parameters import conf_base

TOY = Path(__file__).parent / "toy"


class ToyProject:
    """A copy of the toy project to run, kill, change and look into."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data"

    def run(
        self,
        pipeline: str | None = None,
        *,
        env: str | None = None,
        runner: AbstractRunner | None = None,
        **params: Any,
    ) -> dict[str, Any]:
        """One session, as `kedro run --pipelines PIPELINE --env ENV --runner RUNNER --params ...` makes it."""
        with settings.SESSION_CLASS.create(project_path=self.path, env=env, runtime_params=params) as session:
            return session.run(pipeline_names=[pipeline] if pipeline else None, runner=runner)

    def source(self, file: str, old: str, new: str) -> None:
        """Changes a source file of the toy, and forgets what was imported of it."""
        path = self.path / "src" / "toy" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        forget()
        bootstrap_project(self.path)

    def files(self, root: Path | None = None) -> dict[str, str]:
        """SHA-256 of every result by its relative path; the records of the runs left out."""
        root = root or self.data
        return {
            path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(root.rglob("*"))
            if path.is_file() and ".fedtext" not in path.parts
        }


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToyProject]:
    """A fresh copy, bootstrapped, with nothing left of earlier copies in this process."""
    path = tmp_path / "project"
    shutil.copytree(TOY, path, ignore=shutil.ignore_patterns("__pycache__"))
    complete(path / "conf" / "base" / "parameters.yml")
    monkeypatch.chdir(path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.endswith("project/src")])
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(project, "PACKAGE_NAME", project.PACKAGE_NAME)  # bootstrapping sets it for the whole process
    forget()
    bootstrap_project(path)
    out_of_the_guard_s_sight()
    yield ToyProject(path)
    forget()
    ProjectConfigLoader.active = None


@pytest.fixture
def tracked(toy: ToyProject) -> Any:
    """The toy project with kedro-mlflow's hooks on."""
    pytest.importorskip("kedro_mlflow")
    before = settings.DISABLE_HOOKS_FOR_PLUGINS
    settings.set("DISABLE_HOOKS_FOR_PLUGINS", ("kedro-viz",))
    yield toy
    settings.set("DISABLE_HOOKS_FOR_PLUGINS", before)


def out_of_the_guard_s_sight() -> None:
    """Take what was imported since out of what the guard looks through, twice for each node that reads private data."""
    gc.collect()
    gc.freeze()


def complete(parameters: Path) -> None:
    """Adds to the file what the real conf/base has below the groups that the toy shares with it."""
    given = yaml.safe_load(parameters.read_text())
    shared = {"corpus": conf_base(Corpus, given["corpus"]), "privacy": conf_base(Privacy, given["privacy"])}
    parameters.write_text(yaml.safe_dump(given | {name: group.model_dump() for name, group in shared.items()}))


def here() -> dict[str, str]:
    """The environment of a process that imports what this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def forget() -> None:
    """Drops the toy package and everything that was remembered of source files."""
    for name in [name for name in sys.modules if name == "toy" or name.startswith("toy.")]:
        del sys.modules[name]
    source_digest.source_tree.cache_clear()
    source_digest.statements.cache_clear()
