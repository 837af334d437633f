"""Array shapes and types are checked while the tests run, and only then (jaxtyping with beartype)."""

from __future__ import annotations

from pathlib import Path

import pytest
from beartype import BeartypeConf, beartype
from hypothesis import settings
from jaxtyping import install_import_hook

SOURCE = Path(__file__).parents[1] / "src" / "fedtext"
LONG = {"end_to_end", "neighbours", "golden", "audits", "wiring", "tutorial", "contracts"}
ARRAYS = ("voting", "privacy", "federation")
# Told by their own tests to refuse what their signatures forbid, with messages of their own.
UNCHECKED = {"privacy.accountant", "privacy.calibration"}


def tower(function: object) -> object:
    """Beartype with whole numbers allowed where a float is meant, as PEP 484 has it."""
    return beartype(conf=BeartypeConf(is_pep484_tower=True))(function)  # type: ignore[call-overload]


def _modules() -> list[str]:
    named = {f"{package}.{path.stem}" for package in ARRAYS for path in (SOURCE / package).glob("[!_]*.py")}
    return [f"fedtext.{name}" for name in sorted(named - UNCHECKED)]


install_import_hook(_modules(), "tests.conftest.tower")
settings.register_profile("fedtext", deadline=None)  # a busy machine is no fault of an example
settings.load_profile("fedtext")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Rooms whose tests take minutes come first, or one worker would end with them while the others have nothing."""
    items.sort(key=lambda item: not LONG & set(item.path.parts))


@pytest.fixture
def in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training and decoding as exact as float32 is, whatever pays on this machine."""
    for place in ("system.hardware", "system.precision", "models.language_model"):
        monkeypatch.setattr(f"fedtext.{place}.bfloat16_pays", lambda device: False)
    monkeypatch.setattr("fedtext.system.precision.float16_packs", lambda device: False)
