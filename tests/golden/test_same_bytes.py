"""Every algorithm's tiny job leaves what it left when its numbers were recorded: a change of shape changes no result.

Releases, prices and costs are the same on every machine but for a last digit. Texts, weights and figures are the same
wherever floating point is (`arithmetic`), so they are recorded once a kind of machine. What a result says may grow; what
it said stays. After a change that is meant to change results:

    FEDTEXT_RECORD=1 pytest tests/golden/test_same_bytes.py

and say in the changelog what changed and why.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.end_to_end.conftest import kedro, params

pytestmark = pytest.mark.slow
RECORDS = Path(__file__).with_name("same_bytes")
ALGORITHMS = ("popri", "pe", "pe_sft", "dp_fedavg", "dp_ftrl")
PORTABLE = ("releases", "epsilon", "cost")
# The rounding of a sum to its grid is paid for by its width: of a histogram, the texts of a round that are not empty.
# Which are is the machine's arithmetic's affair. It moves sensitivity and deviation alike, by less than this.
HISTOGRAM, BY_WIDTH, ROUNDING = "pe.histogram", ("sensitivity", "noise_stddev"), 1e-3
RECORD = os.environ.get("FEDTEXT_RECORD") == "1"

PEOPLE = ["the nurse", "a driver", "my neighbour", "the teacher", "our gardener", "the clerk", "a student", "the cook"]
DEEDS = ["looks for", "sends back", "asks about", "forgets", "repairs", "describes", "counts", "keeps an eye on"]
THINGS = ["the old bicycle", "two letters", "a broken lamp", "the green door", "every receipt", "the morning train"]
WHEN = ["before breakfast", "on rainy days", "without a word", "because nobody else will", "as it was agreed"]


def sentence(rng: np.random.Generator) -> str:
    person, deed, thing, when = (rng.choice(words) for words in (PEOPLE, DEEDS, THINGS, WHEN))
    return f"{person} {deed} {thing} {when}".capitalize() + "."


def made_up(clients: int, seed: int) -> pd.DataFrame:
    """Three texts of a client, each of four sentences."""
    rng = np.random.default_rng(seed)
    rows = [(f"client {i}", " ".join(sentence(rng) for _ in range(4))) for i in range(clients) for _ in range(3)]
    return pd.DataFrame(rows, columns=["client_id", "text"])


def arithmetic() -> str:
    """What floating point gives here: equal digests mean equal models, adds and products, hence equal results."""
    import torch

    from fedtext.models.language_model import LanguageModel, bundled

    model, tokenizer = LanguageModel(bundled("on_device")).load()
    tokens = tokenizer(made_up(4, seed=0)["text"].tolist(), return_tensors="pt", padding=True)
    with torch.no_grad():
        logits = model(**tokens).logits.float().numpy()
        half = model.bfloat16()(**tokens).logits.float().numpy()
    state = hashlib.sha256(torch.__version__.encode())
    for array in (logits, half):
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:12]


def processor() -> str:
    """The kind of processor: two kinds may agree in what `arithmetic` looks at and not in larger products."""
    listed = Path("/proc/cpuinfo")
    said = dict(re.findall(r"^(cpu family|model)\s*: (\d+)$", listed.read_text(), re.M)) if listed.exists() else {}
    return "-".join(said.values()) or platform.machine()


def record_of_this_machine() -> Path:
    """Where its results are recorded, if they are; else releases and prices alone can be compared."""
    own = RECORDS / f"{arithmetic()}-{processor()}.json"
    return own if own.exists() or RECORD else RECORDS / f"{arithmetic()}.json"


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON document by their paths."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, f"{at}.{key}")
    else:
        yield at, value


def numbers(value: Any) -> dict[str, float]:
    """The numbers among them: words may be put better."""
    return {at: leaf for at, leaf in leaves(value) if isinstance(leaf, int | float)}


def left(root: Path, algorithm: str, *, whole: bool) -> dict[str, Any]:
    """What the job left: exact releases and prices; of a whole job texts, weights and the scorecard's numbers, too."""
    made, said = root / "07_model_output" / algorithm, root / "08_reporting" / algorithm
    privacy = json.loads((said / "privacy_report.json").read_text())
    cost = {name: value for name, value in json.loads((made / "cost.json").read_text()).items() if name != "method"}
    found = {
        "releases": dict(leaves(privacy["releases"])),
        "epsilon": dict(leaves([privacy["epsilon"], privacy["epsilon_by_adjacency"], privacy["data_set"]["epsilon"]])),
        "cost": numbers(cost),
    }
    return json.loads(json.dumps(found | (measured(made, said) if whole else {})))


def measured(made: Path, said: Path) -> dict[str, Any]:
    """Digests of text or weights, and the scorecard's numbers."""
    card = json.loads((said / "scorecard.json").read_text())
    found: dict[str, Any] = {name: numbers(card[name]) for name in ("accuracy", "distribution")}
    if (made / "synthetic.parquet").exists():
        texts = pd.read_parquet(made / "synthetic.parquet")[["text"]].to_csv(index=False)
        found["texts"] = hashlib.sha256(texts.encode()).hexdigest()
    else:
        found["weights"] = hashlib.sha256((made / "model" / "model.safetensors").read_bytes()).hexdigest()
    return found


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """Runs an algorithm's job behind those before it: all in one data root, whose price holds every release so far."""
    folder = tmp_path_factory.mktemp("same")
    made_up(80, seed=1).to_csv(folder / "private.csv", index=False)
    made_up(50, seed=2).to_csv(folder / "public.csv", index=False)
    corpus = {"source": "table", "path": folder / "private.csv", "public_path": folder / "public.csv"}
    given = {f"corpus__{name}": value for name, value in corpus.items()}
    whole = RECORD or record_of_this_machine().exists()

    @cache
    def run(algorithm: str) -> dict[str, Any]:
        if place := ALGORITHMS.index(algorithm):
            run(ALGORITHMS[place - 1])
        parts = () if whole else ("--to-outputs", f"{algorithm}_privacy_report,{algorithm}_cost")
        told = params(
            data_root=folder / "data", privacy__noise_seed=7, privacy__population=80, corpus__declared_public="true",
            chunking__min_tokens=4, popri__word_guidance=0.0, evaluation__private_texts=400, **given,
        )  # fmt: skip
        done = kedro("run", "--env", "tiny", "--pipelines", algorithm, *parts, "--params", told)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        found = left(folder / "data", algorithm, whole=whole)
        if RECORD:
            RECORDS.mkdir(exist_ok=True)
            path = record_of_this_machine()
            all_found = (recorded(path) if path.exists() else {}) | {algorithm: found}
            path.write_text(json.dumps(all_found, indent=1, sort_keys=True) + "\n")
        return found

    return run


def recorded(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(path.read_text())
    return found


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_releases_prices_and_costs_are_those_recorded(result: Callable[[str], dict[str, Any]], algorithm: str) -> None:
    found, records = result(algorithm), sorted(RECORDS.glob("*.json"))
    assert records
    for path in records:
        then = recorded(path)[algorithm]
        for part in PORTABLE:
            now = {at: found[part].get(at) for at in then[part]}
            assert now.keys() == then[part].keys()
            for at, value in then[part].items():
                release, _, fact = at.rpartition(".")
                wide = now.get(f"{release}.name") == HISTOGRAM and fact in BY_WIDTH
                rel = ROUNDING if wide else 1e-9
                same = pytest.approx(value, rel=rel) if isinstance(value, float) else value
                assert now[at] == same, f"{part}{at}"
                if wide:
                    times = now[f"{release}.noise_stddev"] / now[f"{release}.sensitivity"]
                    assert times == pytest.approx(now[f"{release}.noise_multiplier"], rel=1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_texts_weights_and_figures_are_those_recorded(result: Callable[[str], dict[str, Any]], algorithm: str) -> None:
    path = record_of_this_machine()
    if not path.exists():
        pytest.skip(f"nothing is recorded for this machine's arithmetic ({path.stem}): set FEDTEXT_RECORD=1 once")
    now, then = result(algorithm), recorded(path)[algorithm]
    for part in then.keys() - set(PORTABLE):
        if isinstance(then[part], dict):
            assert {at: now[part].get(at) for at in then[part]} == then[part], part
        else:
            assert now[part] == then[part], part
