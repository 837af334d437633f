"""A real run of flexible participation with the bundled models: three silos, one strong, four modules as codes."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from tests.end_to_end.conftest import kedro, params

CODES = "json email logging asyncio"


def job(root: Path, **more: object) -> list[str]:
    """Flexible participation and what it needs, without the evaluation, which other tests run."""
    chosen = {"data_root": root, "privacy__noise_seed": 7, "flexible__labels": CODES, **more}
    made = "flexible_privacy_report,flexible_privacy_report_text,flexible_synthetic,flexible_cost"
    return ["run", "--env", "tiny", "--pipelines", "flexible", "--to-outputs", made, "--params", params(**chosen)]


def test_a_tiny_run_ends_in_a_quarter_of_the_texts_and_a_bill_for_each_silo(tmp_path: Path) -> None:
    root = tmp_path / "flexible"
    done = kedro(*job(root))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    texts = pd.read_parquet(root / "07_model_output" / "flexible" / "synthetic.parquet")
    written = pd.read_parquet(root / "05_model_input" / "flexible" / "vote" / "candidates.parquet")
    assert 30 <= len(written) <= 40
    assert len(texts) == 10
    assert texts["text"].isin(written["text"]).all()
    assert set(texts["label"]) <= set(CODES.split())
    report = json.loads((root / "08_reporting" / "flexible" / "privacy_report.json").read_text())
    assert [release["name"] for release in report["releases"]] == [
        "flexible.dp_sgd",
        "flexible.profile",
        "flexible.votes",
    ]
    assert [(row["kind"], row["parties"], row["releases"]) for row in report["parties"]] == [
        ("strong silo", 1, ["flexible.dp_sgd", "flexible.profile"]),
        ("weak silo", 2, ["flexible.profile", "flexible.votes"]),
    ]
    each = {name: silo for row in report["parties"] for name, silo in row["each"].items()}
    assert sorted(each) == ["silo-0", "silo-1", "silo-2"]
    assert report["epsilon"] == max(silo["epsilon"] for silo in each.values()) <= 8.0 + 1e-9


def test_a_batch_larger_than_a_silo_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = kedro(*job(tmp_path / "none", flexible__training__batch_size=500))
    assert done.returncode != 0
    assert "batch_size is 500, but party 'silo-0' (strong silo) holds" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
