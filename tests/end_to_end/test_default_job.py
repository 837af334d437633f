"""The main job as it is, with its real models: private text helped, and the report says so."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from fedtext.generation.cleaning import is_legible
from fedtext.wiring.guard.private_strings import TELLING
from tests.end_to_end.conftest import kedro, params

ENOUGH = 0.4  # of the gap between the public model and as many private samples


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_it_is_above_every_control_and_closes_much_of_the_gap(tmp_path: Path) -> None:
    done = kedro("run", "--params", params(data_root=tmp_path, privacy__noise_seed=11), OMP_NUM_THREADS="2")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    accuracy = json.loads((tmp_path / "08_reporting" / "popri" / "accuracy.json").read_text())
    gains = accuracy["gains"]["synthetic"]
    assert set(gains) == {"eps0", "public_control", "matched_control"}, "public texts are the untuned generator's"
    for control, gain in gains.items():
        assert gain["estimate"] > 0, control
        assert gain["measurable"], control
    assert accuracy["gap_closed"]["synthetic"]["share"] > ENOUGH
    assert len({one["texts"] for name, one in accuracy["conditions"].items() if name != "eps0"}) == 1, "as many of each"
    texts = pd.read_parquet(tmp_path / "07_model_output" / "popri" / "synthetic.parquet")["text"]
    assert texts.is_unique
    assert texts.map(is_legible).all()
    first = pd.read_csv(tmp_path / "07_model_output" / "popri" / "for_reading.csv")
    pool = pd.read_parquet(tmp_path / "07_model_output" / "popri" / "reading_pool.parquet")["text"]
    assert len(first) == 80, "a fifth of 400"
    assert first["plausibility"].is_monotonic_decreasing
    assert set(first["text"]) <= set(pool)
    private = set(pd.read_parquet(tmp_path / "03_primary" / "private_samples.parquet")["text"])
    assert not private & {*texts, *pool}
    said = " ".join(done.stdout.split())
    assert "that is better than as many public texts" in said
    assert f"to read first {tmp_path / '07_model_output' / 'popri' / 'for_reading.csv'}" in said


@pytest.mark.slow
def test_its_corpus_whole_passes_the_guard_up_to_the_figure_of_its_clients(tmp_path: Path) -> None:
    """A label of many clients is shown, also where a client is called by it; the tiny job's corpus has no such label."""
    told = params(data_root=tmp_path, models__generator="bundled:generator", generation__prompt="list")
    done = kedro("run", "--to-nodes", "draw_partition", "--params", told)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    figure = json.loads((tmp_path / "08_reporting" / "figure_partition.json").read_text())
    shown = set(figure["data"][1]["x"]) - {"all others"}
    clients = set(pd.read_parquet(tmp_path / "03_primary" / "private_samples.parquet")["client_id"])
    assert any(len(label) >= TELLING and not label.isalpha() for label in shown & clients)
