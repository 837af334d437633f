"""Jobs whose texts a server writes with weights that are trained here: adapters arrive there, and texts come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.end_to_end.conftest import Said, kedro, params
from tests.end_to_end.test_dpprefsyn import table
from tests.end_to_end.test_main_job import SMALL
from tests.openai_server import WORDS, serving
from tests.vllm_server import Vllm

# By algorithm: whether it trains its generator, and what it is told beside `--env tiny`.
JOBS: dict[str, tuple[bool, dict[str, object]]] = {
    "popri": (True, {"popri__word_guidance": 0, **SMALL}),
    "pe_sft": (True, {}),
    "ctcl": (True, {}),
    "dp_rft": (True, {}),
    "dp_sgd_generation": (True, {}),
    "flexible": (
        True,
        {"flexible__labels": "class function method module property", "corpus__code_columns": "kind"},
    ),
    "pe": (False, {}),
    "zero_shot": (False, {"task__labels": "asyncio email unittest"}),
}


def served(server: Vllm) -> str:
    return f"served:bundled:generator@{server.url}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", JOBS)
def test_a_server_writes_what_an_algorithm_asks_for(tmp_path: Path, name: str) -> None:
    trains, told = JOBS[name]
    with serving(Vllm(models=("generator",))) as server:
        plms = {"models__plms": f"{{one: '{served(server)}'}}"} if name == "zero_shot" else {}
        given = params(data_root=tmp_path / "data", models__generator=served(server), **told, **plms)
        command = ("run", "--env", "tiny", "--pipelines", name, "--to-outputs", f"{name}_synthetic", "--params", given)
        done = kedro(*command)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        asked = len(server.wrote)
        assert bool(server.loaded) == trains
        assert set(server.loaded) >= {model for model, _ in server.wrote} - {"generator"}
        server.restart()
        assert kedro(*command).returncode == 0
        assert len(server.wrote) == asked, "a finished run asked for texts again"
    synthetic = pd.read_parquet(tmp_path / "data" / "07_model_output" / name / "synthetic.parquet")
    assert {word for text in synthetic["text"] for word in text.split()} <= set(WORDS)  # the server wrote them
    if trains:
        folders = [path.name for path in (tmp_path / "data" / ".fedtext" / "adapters").iterdir() if path.is_dir()]
        assert sorted(folders) == sorted(set(server.loaded))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_policy_of_preferences_answers_from_a_server(tmp_path: Path) -> None:
    with serving(Vllm(models=("generator",))) as server:
        given = params(
            data_root=tmp_path / "data",
            privacy__noise_seed=7,
            corpus__source="table",
            corpus__path=table(tmp_path / "pairs.csv"),
            corpus__declared_public="true",
            models__generator=served(server),
        )
        done = kedro("run", "--env", "tiny", "--pipelines", "dpprefsyn", "--params", given)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert server.loaded
        assert len({model for model, _ in server.wrote}) > 1


def test_words_are_not_guided_on_a_server_and_the_remedy_is_said(cli: Callable[..., Said], tmp_path: Path) -> None:
    given = params(data_root=tmp_path, models__generator="served:bundled:generator@http://127.0.0.1:9/v1")
    said = cli("run", "--pipelines", "popri", "--env", "tiny", "--params", given)
    assert said.code == 1
    assert "set popri.word_guidance=0, or name the weights alone" in said.text
    assert "Traceback" not in said.text
    assert not (tmp_path / "02_intermediate").exists()


def test_a_server_that_loads_no_adapter_is_found_before_anything_is_released(
    cli: Callable[..., Said], tmp_path: Path
) -> None:
    with serving(Vllm(models=("generator",), loads=False)) as server:
        told = {"models__generator": served(server), "popri__word_guidance": 0, **SMALL}
        said = cli(
            "run", "--pipelines", "popri", "--env", "tiny", "--params", params(data_root=tmp_path / "data", **told)
        )
    assert said.code == 1
    assert "generator writes no text, so nothing is released" in said.text
    assert "--enable-lora" in said.text
    assert not (tmp_path / "data" / ".fedtext" / "releases.jsonl").exists()
