"""Two members of a team, each with a machine's state of their own, run the main job over the same people's text."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from fedtext.privacy.team_registry import KEYS
from tests.end_to_end.conftest import kedro, params
from tests.end_to_end.test_own_table import HOLD_TEXT, SMALL, texts
from tests.postgres_server import PASSWORD, postgres, team_database

__all__ = ["postgres", "team_database"]


@pytest.mark.slow
def test_the_first_has_the_budget_in_the_report_and_the_second_is_refused(tmp_path: Path, team_database: str) -> None:
    for name, kind in (("mine", "private"), ("public", "public")):
        ids = [f"person-{i}" for i in range(HOLD_TEXT)] * 2
        frame = {"client_id": ids, "text": texts(kind, len(ids))}
        pd.DataFrame(frame).to_csv(tmp_path / f"{name}.csv", index=False)

    def job(member: str) -> subprocess.CompletedProcess[str]:
        told = params(
            corpus__source="table",
            corpus__path=tmp_path / "mine.csv",
            corpus__public_path=tmp_path / "public.csv",
            privacy__population=HOLD_TEXT,
            privacy__history=team_database,
            data_root=tmp_path / member,
            **SMALL,
        )
        made = "popri_privacy_report"
        state = str(tmp_path / f"{member}'s state")
        return kedro("run", "--env", "tiny", "--to-outputs", made, "--params", told, FEDTEXT_STATE=state)

    done = job("first")
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads((tmp_path / "first/08_reporting/popri/privacy_report.json").read_text())
    assert (report["data_set"]["releases"], report["data_set"]["budget"]) == (1, 8.0)
    shutil.copytree(tmp_path / "first's state" / KEYS, tmp_path / "second's state" / KEYS)
    refused = job("second")
    assert refused.returncode == 1
    assert f":{tmp_path / 'first'}: 8); 'popri.mean_features' would make it" in refused.stderr
    assert not (tmp_path / "second/05_model_input/popri/released_mean.safetensors").exists()
    assert "Traceback" not in done.stderr + refused.stderr
    holding = [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert holding == []
