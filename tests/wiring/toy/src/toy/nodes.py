import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.datasets.files import PydanticJSONDataset
from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.federation.units import Block, unit_codes
from fedtext.params import Parameters
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import NoiseKey, new_noise_key
from fedtext.privacy.plan import planned_multiplier
from fedtext.seeding import derived_seed


class Toy(Parameters):
    rounds: int
    draws: int
    seconds: float
    start: int


class KeyDataset(PydanticJSONDataset):
    """Another entry for the same file."""


class Adapter:
    def __init__(self, value: int) -> None:
        self.value = value

    def save_pretrained(self, path: str) -> None:
        (Path(path) / "adapter.json").write_text(json.dumps({"value": self.value}))
        (Path(path) / "weights.bin").write_bytes(bytes(range(256)) * 8)


def read_private(corpus: dict[str, Any]) -> pd.DataFrame:
    texts = Path(corpus["path"]).read_text().splitlines() if corpus["path"] else [f"secret-{i}" for i in range(40)]
    return pd.DataFrame({"client_id": [str(i) for i in range(len(texts))], "text": texts})


def create_noise_key(noise_seed: int | None) -> NoiseKey:
    return new_noise_key(noise_seed)


def query(privacy: Privacy, population: int) -> Query:
    return Query("toy.mean", 1, 8, 1.0, planned_multiplier(privacy, population, 1))


def open_ledger(privacy: Privacy) -> Ledger:
    return opened_ledger([query(privacy, privacy.population)], privacy, privacy.population)


def release_mean(
    private_records: pd.DataFrame, private_noise_key: NoiseKey, ledger: Ledger
) -> tuple[np.ndarray, Ledger]:
    units = unit_codes(private_records["client_id"].tolist())
    drawn = [np.random.default_rng(derived_seed(0, text)).normal(size=8) for text in private_records["text"]]
    return release_noisy_sum(
        query(ledger.declaration, ledger.population),
        lambda held: [Block(held.unit, held.features)],
        PrivateSamples.of_one_class(np.array(drawn), units),
        ledger,
        private_noise_key,
    )


def start(value: int) -> tuple[Adapter, dict[str, Any]]:
    return Adapter(value), {"round": 0, "loss": float(value)}


def draw(state: dict[str, Any], toy: Toy) -> np.ndarray:
    time.sleep(toy.seconds)
    return np.random.default_rng(state["round"]).normal(size=(toy.draws, 8))


def score(candidates: np.ndarray, released_mean: np.ndarray, toy: Toy) -> np.ndarray:
    time.sleep(toy.seconds)
    return candidates @ released_mean


def train(adapter: Path, scores: np.ndarray, toy: Toy) -> Adapter:
    time.sleep(toy.seconds)
    return Adapter(json.loads((adapter / "adapter.json").read_text())["value"] + int(abs(scores).sum()))


def close(state: dict[str, Any], scores: np.ndarray, adapter: Path) -> dict[str, Any]:
    return {"round": state["round"] + 1, "loss": float(scores.mean()), "history": [state["loss"], 2.5]}


def report(state: dict[str, Any], ledger: Ledger) -> dict[str, Any]:
    return {"state": state, "epsilon": ledger.spent()}


def leak(private_records: pd.DataFrame) -> dict[str, Any]:
    return {"first": private_records["text"].iloc[0]}


def tell(report: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    return {"epsilon": report["epsilon"], "facts": facts}
