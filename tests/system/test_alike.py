"""What a process computes with is known without importing it, and a worker of another kind is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fedtext.system import alike
from fedtext.system.alike import code_digest, computed_with, validate_alike
from tests.refusals import refuses

XEON = (
    "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\nmodel name : X\nflags : fpu avx2 avx ibrs\n"
)


def test_a_worker_computes_with_what_the_run_does_or_says_what_differs() -> None:
    own = computed_with()
    validate_alike(dict(own))
    for what in own:
        with refuses("worker-computes-otherwise") as refused:
            validate_alike({**own, what: "another"})
        assert f"another {what} ({own[what]})" in str(refused.value)


def test_a_processor_is_known_by_its_model_and_its_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by what a kernel adds to its flags, nor by how many of it there are."""
    found = []
    for at, text in enumerate((XEON, XEON + XEON.replace(" ibrs", ""), XEON.replace("143", "85"), "")):
        (tmp_path / str(at)).write_text(text)
        monkeypatch.setattr(alike, "CPU", tmp_path / str(at))
        found.append(computed_with.__wrapped__())
    assert found[0] == found[1]
    assert found[0]["kind of processor"].endswith("GenuineIntel 6 143")
    assert found[0]["set of instructions"] == "avx avx2"
    assert found[0]["kind of processor"] != found[2]["kind of processor"]
    monkeypatch.setattr(alike, "CPU", tmp_path / "none")
    assert "kind of processor" in computed_with.__wrapped__()


def test_the_digest_of_the_code_is_that_of_any_copy_and_changes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(alike.PACKAGE, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("bundled")))
    own = code_digest()
    monkeypatch.setattr(alike, "PACKAGE", copy)
    assert code_digest.__wrapped__() == own
    with (copy / "privacy" / "clipping.py").open("a") as file:
        file.write("\n# another line\n")
    assert code_digest.__wrapped__() != own
