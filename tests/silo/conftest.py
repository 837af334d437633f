"""Three silos' tables, embedded once for all tests of a process; each test has a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fedtext.silo.desk import Desk
from fedtext.silo.journal import FILE as JOURNAL
from tests.silo.examples import NAMES, silo, table


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("silos")
    for name in NAMES:
        table(name).to_csv(folder / f"{name}.csv", index=False)
        Desk(silo(name), folder).holdings()
        shutil.rmtree(folder / f"{name}-own" / ".fedtext")
        assert not (folder / f"{name}-own" / JOURNAL).exists()
    return folder


@pytest.fixture
def place(embedded: Path, tmp_path: Path) -> Path:
    shutil.copytree(embedded, tmp_path / "silos")
    return tmp_path / "silos"
