import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fedtext.params import Parameters


class Toy(Parameters):
    rounds: int
    draws: int
    seconds: float
    start: int


class Adapter:
    def __init__(self, value: int) -> None:
        self.value = value

    def save_pretrained(self, path: str) -> None:
        (Path(path) / "adapter.json").write_text(json.dumps({"value": self.value}))
        (Path(path) / "weights.bin").write_bytes(bytes(range(256)) * 8)


def read_private(corpus: dict[str, Any]) -> pd.DataFrame:
    texts = Path(corpus["path"]).read_text().splitlines() if corpus["path"] else [f"secret-{i}" for i in range(40)]
    return pd.DataFrame({"client_id": [str(i) for i in range(len(texts))], "text": texts})


def create_noise_key(noise_seed: int | None) -> dict[str, str]:
    return {"secret": os.urandom(8).hex() if noise_seed is None else f"{noise_seed:016x}"}


def open_ledger() -> dict[str, float]:
    return {"epsilon": 0.0}


def release_mean(
    private_records: pd.DataFrame, private_noise_key: dict[str, str], ledger: dict[str, float], privacy: dict[str, Any]
) -> tuple[np.ndarray, dict[str, float]]:
    seed = hashlib.sha256(f"{private_noise_key} {privacy} {list(private_records['text'])}".encode()).digest()
    noise = np.random.default_rng(int.from_bytes(seed[:8], "big")).normal(size=8)
    return noise / privacy["epsilon"] + len(private_records), {"epsilon": ledger["epsilon"] + privacy["epsilon"]}


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


def report(state: dict[str, Any], ledger: dict[str, float]) -> dict[str, Any]:
    return {"state": state, "epsilon": ledger["epsilon"]}


def leak(private_records: pd.DataFrame) -> dict[str, Any]:
    return {"first": private_records["text"].iloc[0]}
