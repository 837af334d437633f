"""A whole run of POPri on three silos' text, in this process: the handlers are real, the way to them is no network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from fedtext.pipelines.silos import nodes
from fedtext.privacy.history import release_history
from fedtext.silo.handler import MessageHandler
from tests.end_to_end.conftest import Said, params
from tests.golden.test_same_bytes import made_up
from tests.silo.conftest import embedded, place
from tests.silo.examples import NAMES, InProcess, silo

__all__ = ["embedded", "place"]  # fixtures


def test_a_run_with_silos_releases_once_and_the_same_command_asks_nobody(
    cli: Callable[..., Said], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server knows nobody's text: whose it is, and what was released of it, the silos know."""
    silos = InProcess(*(MessageHandler(silo(name), place) for name in NAMES))
    monkeypatch.setattr(nodes, "way_to", lambda _: silos)
    made_up(50, seed=2).to_csv(tmp_path / "public.csv", index=False)
    told = params(
        data_root=tmp_path / "data", corpus__source="silos", corpus__public_path=tmp_path / "public.csv",
        federation__engine="flower", federation__silos=3, federation__superlink="127.0.0.1:8000",
        privacy__aggregation="local", privacy__epsilon=1.0, privacy__delta=1e-5, chunking__min_tokens=4,
    )  # fmt: skip
    for _ in range(2):
        said = cli("run", "--env", "tiny", "--pipelines", "popri", "--params", told)
        assert said.code == 0, said.text
        assert silos.asked == 2  # for their cards, and once for their sums
    assert len(pd.read_parquet(tmp_path / "data" / "07_model_output" / "popri" / "synthetic.parquet"))
    for root in (tmp_path / "data", *(place / f"{name}-own" for name in NAMES)):
        assert [one.name for one in release_history(root)] == ["popri.mean_features"]
