"""Public text from one sentence: a whole job on a table with a server, resumed without asking again; what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from fedtext.embedding.similarity import without_near_duplicates
from fedtext.models.encoder import load_encoder
from tests.end_to_end.conftest import Said, kedro, params
from tests.golden.test_same_bytes import made_up
from tests.openai_server import KEY, WORDS, Served, serving

KIND = "sentences about neighbours"


@pytest.fixture
def own(tmp_path: Path) -> dict[str, object]:
    made_up(80, seed=1).to_csv(tmp_path / "mine.csv", index=False)
    return {
        "data_root": tmp_path / "data",
        "corpus__source": "table",
        "corpus__path": tmp_path / "mine.csv",
        "corpus__description": KIND,
        "generation__prompt": "list",
        "privacy__population": 80,
        "privacy__noise_seed": 7,
    }


@pytest.mark.slow  # tests/generation/test_described.py has a model write public texts at every commit
def test_a_job_on_a_table_needs_one_sentence(tmp_path: Path, own: dict[str, object]) -> None:
    words = {"described__topics__sampler__max_new_tokens": 5, "described__texts__similarity": 0.99}
    with serving(Served(key=KEY, faults=[(500, {}), (429, {"Retry-After": "0"})], form='"{}."')) as served:
        given = params(**own, **words, models__generator=f"endpoint:tiny@{served.url}")
        command = ("run", "--pipelines", "pe", "--env", "tiny", "--params", given)
        done = kedro(*command, FEDTEXT_ENDPOINT_KEY=KEY)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        asked = [
            body["messages"][-1]["content"] for route, body, _ in served.asked if route.endswith("chat/completions")
        ]
        count = len(served.asked)
        assert kedro(*command, FEDTEXT_ENDPOINT_KEY=KEY).returncode == 0
        assert len(served.asked) == count, "a finished run asked for texts again"
    assert KEY not in done.stdout + done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    synthetic = pd.read_parquet(tmp_path / "data" / "07_model_output" / "pe" / "synthetic.parquet")
    assert {word for text in synthetic["text"] for word in re.findall(r"\w+", text)} <= set(WORDS), "the server's own"
    first = pd.read_csv(tmp_path / "data" / "07_model_output" / "pe" / "for_reading.csv")
    distinct = without_near_duplicates(load_encoder("offline").encode(synthetic["text"].tolist(), label="texts"), 0.8)
    expected = synthetic["text"].iloc[distinct[: len(first)]].tolist()
    assert first["text"].tolist() == expected, "a server gives no likelihoods: texts come as they are"
    assert first["plausibility"].isna().all()
    made = tmp_path / "data" / "02_intermediate"
    topics, records = (pd.read_parquet(made / f"public_{name}.parquet") for name in ("topics", "records"))
    assert asked
    assert all(KIND in request for request in asked)
    private = set(pd.read_csv(tmp_path / "mine.csv")["text"])
    assert not [request for request in asked if any(text in request for text in private)]
    assert set(records["label"]) <= set(topics["topic"])
    assert records["client_id"].is_unique
    assert 60 <= len(records) <= 120


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, ["propose_topics tells the generator what to write", "'bundled:generator'", "models.describer=smollm2"]),
        ({"generation__prompt": "null"}, ["'bundled:generator' has no chat template", "generation.prompt=list"]),
        ({"corpus__description": "' '"}, ["corpus.description is empty"]),
        (
            {"models__describer": "smollm2", "described__texts__sampler__prompt": "'Customer: {text}'"},
            ["'Customer: {text}', a page that does not say", "write_described_texts", "about {topic}. {text}"],
        ),
    ],
)
def test_what_cannot_be_described_is_refused_before_anything_is_written(
    cli: Callable[..., Said], tmp_path: Path, own: dict[str, object], values: dict[str, str], words: list[str]
) -> None:
    said = cli("run", "--env", "tiny", "--params", params(**{**own, **values}))
    assert said.code == 1
    assert said.text.startswith("Error: "), said.text
    for word in words:
        assert word in said.text, said.text
    assert not (tmp_path / "data" / "02_intermediate").exists()
