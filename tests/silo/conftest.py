"""Three silos' tables, embedded once for all tests of a process; each test has a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fedtext.silo.audit_log import FILE as AUDIT_LOG
from fedtext.silo.handler import MessageHandler
from tests.silo.examples import NAMES, silo, table


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("silos")
    for name in NAMES:
        table(name).to_csv(folder / f"{name}.csv", index=False)
        MessageHandler(silo(name), folder).local_data()
        shutil.rmtree(folder / f"{name}-own" / ".fedtext")
        assert not (folder / f"{name}-own" / AUDIT_LOG).exists()
    return folder


@pytest.fixture
def place(embedded: Path, tmp_path: Path) -> Path:
    shutil.copytree(embedded, tmp_path / "silos")
    return tmp_path / "silos"
