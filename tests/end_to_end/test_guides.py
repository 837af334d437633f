"""The guides of docs/guides: every command on a page is run, in the page's order and small, and does what is said."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.contracts.test_docs import commands
from tests.dataset_hub import DatasetHub, serving
from tests.end_to_end.conftest import ROOT, kedro
from tests.real_data import real_data

GUIDES = ROOT / "docs" / "guides"
pytestmark = [pytest.mark.slow, pytest.mark.shared]

Words = tuple[list[str], dict[str, str]]  # of a command: its words but for `--params`, and those by name


def page_commands(name: str) -> list[Words]:
    """The `kedro run` commands of a page, in its order."""
    found = []
    for line in commands(GUIDES / f"{name}.md"):
        words = shlex.split(line, comments=True)[1:]
        at = words.index("--params")
        given: dict[str, str] = {}
        for part in words[at + 1].split(","):
            key, is_pair, value = part.partition("=")
            if is_pair:
                given[key] = value
            else:
                given[[*given][-1]] += f",{part}"
        found.append((words[:at], given))
    return found


def make_table(name: str, folder: Path) -> None:
    """Runs the page's lines that make its table of Banking77's file."""
    (folder / "train.csv").symlink_to(real_data("banking77/train.csv"))
    (lines,) = re.findall(r"```python\n(.*?)```", (GUIDES / f"{name}.md").read_text("utf-8"), re.S)
    subprocess.run([sys.executable, "-c", lines], cwd=folder, check=True)


def run(command: Words, folder: Path, **small: object) -> subprocess.CompletedProcess[str]:
    """One command with its files in `folder`, at the tiny size but for what `small` says."""
    words, given = command
    told = {**given, **{key.replace("__", "."): str(value) for key, value in small.items()}}
    for key in ("data_root", "corpus.path", "corpus.snapshot", "largefedbench.raw_dir"):
        if key in told:
            told[key] = str(folder / told[key])
    tiny = [] if "--env" in words or "largefedbench" in " ".join(words) else ["--env", "tiny"]
    return kedro(*words, *tiny, "--params", ",".join(f"{key}={value}" for key, value in told.items()))


def done(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-3000:]
    return " ".join(ran.stdout.split())


FEW = {"models__generator": "smollm2", "corpus__max_clients": 120, "corpus__public_texts": 60}


def test_a_table_becomes_safe_text(tmp_path: Path) -> None:
    make_table("stand_in_text", tmp_path)
    first, second = page_commands("stand_in_text")
    ran = run(first, tmp_path, **FEW, corpus__public_samples=60)
    assert "a client is: each value of column 'customer_id'" in ran.stderr
    assert "of a budget of 8.00" in done(ran)
    texts = pd.read_parquet(tmp_path / "data/stand_in/07_model_output/popri/synthetic.parquet")
    assert len(texts) == 60
    refused = run(second, tmp_path, **FEW, corpus__public_samples=60)
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith("Error: ")
    assert "budget" in refused.stderr.splitlines()[-1]


def test_an_algorithm_is_compared_with_popri(tmp_path: Path) -> None:
    tried, whole = page_commands("compare_with_popri")
    done(run(tried, tmp_path))
    page = (tmp_path / "data/versus/08_reporting/compare/comparison.md").read_text()
    assert "popri" in page
    assert "pe" in page
    # the same in earnest: here of the size and the seeds that were run, so that it finds all done
    done(run(whole, tmp_path, data_root="data/versus", compare__seeds=tried[1]["compare.seeds"]))


def test_three_hospitals_each_pay_for_their_own(tmp_path: Path) -> None:
    make_table("three_hospitals", tmp_path)
    (command,) = page_commands("three_hospitals")
    small = {**FEW, "flexible__texts": 40, "evaluation__texts": 20, "evaluation__private_texts": 20}
    assert "The guarantee is ε = 1.00" in done(run(command, tmp_path, **small))
    bill = (tmp_path / "data/hospitals/08_reporting/flexible/privacy_report.md").read_text()
    assert "| weak silo x 3 |" in bill


def test_a_snapshot_is_built_tried_and_released(tmp_path: Path) -> None:
    (tmp_path / "congress").symlink_to(real_data("congress"))
    build, tried, release = page_commands("benchmark_snapshot")
    done(run(build, tmp_path))
    assert (tmp_path / "data/bench/03_primary/largefedbench/2025.1/README.md").exists()
    done(run(tried, tmp_path))
    done(run(release, tmp_path))
    released = tmp_path / "data/bench/03_primary/largefedbench_releases/2025.1"
    subprocess.run(["sha256sum", "--check", "--quiet", "MANIFEST.sha256"], cwd=released, check=True)
    push = release[1] | {"release.repository": "ada/bench"}
    assert "--pipelines push" in (GUIDES / "benchmark_snapshot.md").read_text("utf-8")
    with serving(DatasetHub("a-token")) as hub:
        told = push | {"data_root": str(tmp_path / push["data_root"]), "release.endpoint": hub.endpoint}
        params = ",".join(f"{key}={value}" for key, value in told.items())
        done(kedro("run", "--pipelines", "push", "--params", params, HF_TOKEN="a-token"))
        assert hub.tags == ["2025.1"]
        assert "README.md" in hub.files
