"""Check array shapes and types while the tests run, and only then (jaxtyping with beartype)."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from beartype import BeartypeConf, beartype
from hypothesis import settings
from jaxtyping import install_import_hook

from tests.cpu_seconds import CpuSeconds
from tests.once import (
    docstrings_are_parsed_once,
    files_are_parsed_once,
    no_source_is_read_for_names_of_files,
    patterns_are_compiled_once,
    sources_are_parsed_once,
)
from tests.sampled import leave_to_the_night

__all__ = [
    "docstrings_are_parsed_once",
    "files_are_parsed_once",
    "no_source_is_read_for_names_of_files",
    "patterns_are_compiled_once",
    "sources_are_parsed_once",
]

STATE = "FEDTEXT_STATE"  # fedtext.system.folders; nothing of the package may be imported before the checks are in place
SOURCE = Path(__file__).parents[1] / "src" / "fedtext"
LONG = {"end_to_end", "neighbours", "golden", "audits", "wiring", "tutorial", "contracts"}
SHARED = "test_main_job.py"
ARRAYS = ("voting", "privacy", "federation")
# Their own tests call them with arguments that their signatures forbid, and expect their error messages.
UNCHECKED = {"privacy.accounting", "privacy.calibration", "privacy.dominating_pairs"}


def tower(function: object) -> object:
    """Apply beartype, with integers allowed for floats, as in PEP 484."""
    return beartype(conf=BeartypeConf(is_pep484_tower=True))(function)  # type: ignore[call-overload]


def _modules() -> list[str]:
    named = {f"{package}.{path.stem}" for package in ARRAYS for path in (SOURCE / package).glob("[!_]*.py")}
    return [f"fedtext.{name}" for name in sorted(named - UNCHECKED)]


install_import_hook(_modules(), "tests.conftest.tower")
# A busy machine is no fault of an example. Who asks for fewer or more examples than these says so at the test.
settings.register_profile("commit", deadline=None, max_examples=30)
settings.register_profile("night", deadline=None)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin that reports the cost of tests, and try fewer examples where slow tests are left out."""
    settings.load_profile("commit" if "not slow" in config.getoption("markexpr") else "night")
    config.pluginmanager.register(CpuSeconds(), "cpu_seconds")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of a sampled test to the night, and run packages whose tests take minutes first.

    So no worker ends alone with the long ones. Tests of the run that other files share come before all others, so that
    no worker waits for it later.
    """
    leave_to_the_night(items)
    items.sort(key=lambda item: (item.path.name != SHARED, not LONG & set(item.path.parts)))


def pytest_collection_finish() -> None:
    """Take what all tests import out of the garbage collector's sight, and so of the guard's search for open files.

    The guard looks at every object before and after a node that reads private data. Files that a test opens are new.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_registry_of_a_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Register releases of shared fixtures in a folder of the session, and not in a user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE, str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def registry_of_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a user folder of its own, so that no test spends another one's budget."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv(STATE, str(folder))
    return folder


@pytest.fixture
def in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train and decode in float32, whatever precision is faster on this machine."""
    for place in ("system.hardware", "system.precision", "models.language_model", "training.opacus_gradients"):
        monkeypatch.setattr(f"fedtext.{place}.is_bfloat16_faster", lambda device: False)
    monkeypatch.setattr("fedtext.system.precision.float16_packs", lambda device: False)
