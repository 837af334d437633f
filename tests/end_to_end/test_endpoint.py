"""A server as generator: a job that needs weights is refused at once. test_described.py runs one that trains nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.end_to_end.conftest import Said, params


def test_an_algorithm_that_needs_weights_is_refused_in_one_sentence(cli: Callable[..., Said], tmp_path: Path) -> None:
    given = params(
        data_root=tmp_path, models__generator="endpoint:tiny@http://127.0.0.1:9/v1", privacy__aggregation="trusted"
    )
    for name in ("popri", "pe_sft", "ctcl", "dp_rft", "dp_prediction"):
        said = cli("run", "--pipelines", name, "--env", "tiny", "--params", given)
        assert said.code == 1
        refused = (
            f"{name} needs its generator's weights here, but 'generator' is endpoint 'tiny' at http://127.0.0.1:9/"
        )
        assert refused in said.text
        assert "Traceback" not in said.text
    assert not (tmp_path / "02_intermediate").exists()
