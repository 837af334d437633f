"""Real runs of the real project in a process of its own, as a user would start them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from filelock import FileLock

os.environ["FEDTEXT_TRACKING"] = "off"  # before the settings are imported

from kedro.framework.cli.cli import KedroCLI

from fedtext.resuming.records import STORE
from fedtext.wiring.config import ProjectConfigLoader
from fedtext.wiring.console import LOG_FILE

ROOT = Path(__file__).parents[2]
LOG = Path(STORE, LOG_FILE)
KEDRO = Path(sys.executable).with_name("kedro")


def kedro(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`kedro ARGUMENTS` in the project, tracking off, bars off, two threads at most."""
    return subprocess.run(
        command(*arguments), cwd=ROOT, env=env(**environment), capture_output=True, text=True, check=False
    )


def command(*arguments: str) -> list[str]:
    return [str(KEDRO), *arguments]


def env(**more: str) -> dict[str, str]:
    return {**os.environ, "FEDTEXT_PROGRESS": "0", "FEDTEXT_TRACKING": "off", "OMP_NUM_THREADS": "1", **more}


def params(**values: object) -> str:
    return ",".join(f"{name.replace('__', '.')}={value}" for name, value in values.items())


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file a run left, by relative path; bookkeeping and logs apart."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {".fedtext", "08_reporting"} & set(path.relative_to(folder).parts)
    }


TINY = {  # what the shared run is told beside `--env tiny`: its bytes are a seed's, and no test is about its sizes
    "privacy__noise_seed": 7,
    "corpus__public_texts": 60,
    "corpus__public_samples": 60,
    "popri__prompts": 4,
    "popri__synthetic_texts": 30,
    "popri__pool_minimum": 30,
    "evaluation__texts": 20,
    "evaluation__private_texts": 20,
    "evaluation__max_eval_samples": 30,
}


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The data root of one finished `kedro run --env tiny --params TINY`; all workers share it."""
    own = tmp_path_factory.getbasetemp()
    root = (own if worker_id == "master" else own.parent) / "tiny"
    finished = root.with_suffix(".finished")
    with FileLock(root.with_suffix(".lock")):
        if not finished.exists():
            done = kedro("run", "--env", "tiny", "--params", params(data_root=root, **TINY))
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
            finished.touch()
    return root


class Said(NamedTuple):
    """What a command left: its exit code, and what it wrote to standard error and output."""

    code: int
    text: str


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Said]]:
    """`kedro ARGUMENTS` in this process: a fraction of the time, and an error without a sentence is raised here."""
    for name, value in env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(ROOT)

    def run(*arguments: str) -> Said:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            KedroCLI(project_path=ROOT).main(list(arguments))
        written, complained = capfd.readouterr()
        return Said(int(left.value.code or 0), written + complained)

    yield run
    ProjectConfigLoader.active = None
