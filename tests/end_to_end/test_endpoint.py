"""A server as generator: a job that trains nothing runs with it, one that trains is refused at once.

test_described.py runs a whole job with a server, to its reports.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.end_to_end.conftest import Said, kedro, params
from tests.openai_server import KEY, WORDS, Served, serving


@pytest.mark.slow  # test_described.py has such a job with a server at every commit
def test_private_evolution_with_a_server(tmp_path: Path) -> None:
    with serving(Served(key=KEY, faults=[(500, {}), (429, {"Retry-After": "0"})])) as served:
        given = params(data_root=tmp_path, models__generator=f"endpoint:tiny@{served.url}", privacy__noise_seed=7)
        made = "pe_synthetic,pe_privacy_report"
        command = ("run", "--pipelines", "pe", "--to-outputs", made, "--env", "tiny", "--params", given)
        done = kedro(*command, FEDTEXT_ENDPOINT_KEY=KEY)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        asked = len(served.asked)
        assert asked > 10
        again = kedro(*command, FEDTEXT_ENDPOINT_KEY=KEY)
        assert again.returncode == 0, again.stdout[-3000:] + again.stderr[-3000:]
        assert len(served.asked) == asked, "a finished run asked for texts again"
    synthetic = pd.read_parquet(tmp_path / "07_model_output" / "pe" / "synthetic.parquet")
    assert len(synthetic) > 0
    assert {word for text in synthetic["text"] for word in text.split()} <= set(WORDS)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in done.stdout + done.stderr


def test_an_algorithm_that_trains_is_refused_in_one_sentence(cli: Callable[..., Said], tmp_path: Path) -> None:
    given = params(data_root=tmp_path, models__generator="endpoint:tiny@http://127.0.0.1:9/v1")
    for name in ("popri", "pe_sft"):
        said = cli("run", "--pipelines", name, "--env", "tiny", "--params", given)
        assert said.code == 1
        assert f"{name} trains its generator, but 'generator' is endpoint 'tiny' at http://127.0.0.1:9/v1" in said.text
        assert "Traceback" not in said.text
    assert not (tmp_path / "02_intermediate").exists()
