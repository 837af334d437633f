"""Which results tell of earlier ones than lie there, over whatever was made between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.resuming.fingerprint import FileDigests
from fedtext.resuming.outdated import outdated
from fedtext.resuming.records import NodeRecord, Store

TEXTS, MODEL, REPORT = "07_model_output/texts", "07_model_output/job/model", "08_reporting/job/report"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (TEXTS, f"{MODEL}/weights", f"{MODEL}/tokens", REPORT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def made(root: Path, node: str, output: str, file: str | None = None, **inputs: str) -> str:
    """Record a node with one output, saved in a file or folder of the root or elsewhere; return the output's digest."""
    digests = FileDigests()
    digest = digests.of(root / file) if file else f"digest of {node}'s {output} of {inputs}"
    files = digests.persisted(root / file) if file else {}
    Store(root).commit(node, NodeRecord(parts={"code": "c", **inputs}, outputs={output: digest}, files=files))
    return digest


def found(root: Path) -> list[str]:
    files = sorted(path for path in root.glob("0*/**/*") if path.is_file())
    return [path.relative_to(root).as_posix() for path in outdated(root, files)]


@pytest.mark.parametrize("result", [TEXTS, MODEL])
def test_a_report_follows_what_it_was_made_from_over_results_elsewhere(root: Path, result: str) -> None:
    texts = made(root, "write", "texts", result)
    figures = made(root, "measure", "figures", texts=texts)
    made(root, "report", "report", REPORT, figures=figures)
    assert found(root) == []
    (root / result / "weights" if result == MODEL else root / result).write_text("others")
    texts = made(root, "write", "texts", result)
    assert found(root) == [REPORT]
    figures = made(root, "measure", "figures", texts=texts)
    assert found(root) == [REPORT]
    made(root, "report", "report", REPORT, figures=figures)
    assert found(root) == []


def test_a_job_s_results_are_of_one_run_though_what_it_read_was_made_again(root: Path) -> None:
    """Another algorithm has read another corpus since."""
    records = made(root, "read", "records")
    texts = made(root, "write", "texts", TEXTS, records=records)
    made(root, "report", "report", REPORT, texts=texts, records=records)
    made(root, "read", "records", table="another")
    assert found(root) == []


def test_a_model_s_folder_is_outdated_as_a_whole(root: Path) -> None:
    texts = made(root, "write", "texts", TEXTS)
    made(root, "train", "model", MODEL, texts=texts)
    assert found(root) == []
    (root / TEXTS).write_text("others")
    made(root, "write", "texts", TEXTS)
    assert found(root) == [f"{MODEL}/tokens", f"{MODEL}/weights"]


def test_files_without_a_record_are_never_outdated(root: Path) -> None:
    assert found(root) == []
