"""A real run of WASP with the bundled models: two temperatures, four modules as classes, from records to texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.end_to_end.conftest import Said, kedro, params

CLASSES = "json email logging asyncio"


def job(root: Path, **more: object) -> list[str]:
    """WASP and what it needs, without the evaluation, which other tests run."""
    made = "wasp_privacy_report,wasp_synthetic,wasp_models_figure,wasp_examples_figure"
    chosen = {"data_root": root, "privacy__noise_seed": 7, "wasp__texts": 64, "wasp__labels": CLASSES, **more}
    return ["run", "--env", "tiny", "--pipelines", "wasp", "--to-outputs", made, "--params", params(**chosen)]


@pytest.mark.slow
def test_a_tiny_run_ends_in_texts_of_every_class_and_one_vote(tmp_path: Path) -> None:
    root = tmp_path / "wasp"
    done = kedro(*job(root))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    texts = pd.read_parquet(root / "07_model_output" / "wasp" / "synthetic.parquet")
    assert 40 <= len(texts) <= 64
    assert set(texts["label"]) == set(CLASSES.split())
    assert set(texts["round"]) == {1, 2}
    report = json.loads((root / "08_reporting" / "wasp" / "privacy_report.json").read_text())
    assert [(release["name"], release["round"]) for release in report["releases"]] == [("wasp.votes", 1)]
    assert report["epsilon"] <= 8.0 + 1e-9
    state = json.loads((root / "05_model_input" / "wasp" / "round_01" / "state.json").read_text())
    assert set(state["weights"]) == {"calm", "lively"}


def test_an_undeclared_class_and_one_round_are_refused_in_a_sentence(cli: Callable[..., Said], tmp_path: Path) -> None:
    for wrong, said in (({"wasp__labels": "json emial"}, "emial"), ({"wasp__rounds": 1}, "wasp.rounds is 1")):
        told = cli(*job(tmp_path / "none", **wrong))
        assert told.code == 1
        assert said in told.text


@pytest.mark.slow
def test_claims_are_judged_on_modules_of_the_docstrings(tmp_path: Path) -> None:
    """A comparison as docs/wasp.md has it, of the small models: too small to mean anything, and whole."""
    entries = ["wasp", "wasp_random", "fusegen", "zero_shot"]
    told = params(
        data_root=tmp_path, compare__algorithms=" ".join(entries), compare__seeds="1 2", claims__measures="class_accuracy",
        wasp__labels=CLASSES, task__labels=CLASSES, wasp__texts=64, fusegen__texts=64, zero_shot__texts=64,
    )  # fmt: skip
    done = kedro("run", "--env", "tiny", "--pipelines", "compare", "--params", told)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads((tmp_path / "08_reporting" / "compare" / "comparison.json").read_text())
    assert set(found["entries"]) == set(entries)
    judged = {"wasp_votes", "wasp_over_zero_shot", "wasp_over_fusegen"}
    for claim in judged:
        verdict = found["claims"][claim]["measured"]["class_accuracy"]
        assert verdict["runs"] == 2
        assert verdict["low"] <= verdict["mean"] <= verdict["high"]
        assert verdict["verdict"]
    page = (tmp_path / "08_reporting" / "compare" / "comparison.md").read_text()
    assert all(found["claims"][claim]["says"] in page for claim in judged)
