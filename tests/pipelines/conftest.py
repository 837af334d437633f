"""An algorithm's real graph with make-believe models: texts are words, an embedding is a hash, training leaves a note."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kedro.framework.startup import bootstrap_project
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.runner import SequentialRunner

from fedtext.evaluation.units import unit_of
from fedtext.federation.units import Population
from fedtext.models.generator import Framing
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking, Corpus, Partition
from fedtext.params.generation import Sampler
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import new_noise_key
from fedtext.wiring.config import active_loader, loader_for
from fedtext.wiring.pipeline_settings import Settings
from tests.parameters import conf_base

ROOT = Path(__file__).parents[2]
DIM = 8
ON_DEVICE = LanguageModel("bundled:on_device")
HARBOUR = [
    "the",
    "ferry",
    "sailed",
    "from",
    "harbour",
    "to",
    "harbour",
    "while",
    "gulls",
    "followed",
    "its",
    "wake",
    "at",
    "dusk",
]
WORDS = [f"word{i}" for i in range(40)]


class Kept(MemoryDataset):
    """Stays after its last reader, so that a test can look at it."""

    def _release(self) -> None:
        pass


class HashEncoder:
    """Unit vectors drawn from a hash of the text."""

    dim = DIM
    name = "hash"

    def unknown_share(self, texts: list[str]) -> float:
        return 0.0

    def encode(self, texts: list[str], label: str = "", *, undirected_as_zeros: bool = False) -> np.ndarray:
        assert all(texts), "an empty text was encoded"
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") for text in texts]
        rows = np.array([np.random.default_rng(s).standard_normal(DIM) for s in seeds]).reshape(-1, DIM)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    def fitted(self, heads: list[str], tails: list[list[str]]) -> list[str]:
        return heads


class Talker:
    """Stands for language model and tokenizer; `adapter` is the note that training left."""

    def __init__(self, adapter: str = "") -> None:
        self.adapter = adapter

    def with_adapter(self, adapter: str) -> Talker:
        return Talker(adapter)

    def with_word_weights(self, words: object) -> Talker:
        return self

    def write(self, requests: list[str], *, responses: int, seed: int, **_: Any) -> list[list[str]]:
        """Two words a response; every fifth one is empty."""
        rng = np.random.default_rng(seed)
        drawn = rng.choice(WORDS, size=(len(requests), responses, 2))
        blank = np.arange(len(requests) * responses).reshape(len(requests), responses) % 5 == 4
        rows = zip(drawn, blank, strict=True)
        return [[("" if b else " ".join(w)) for w, b in zip(*row, strict=True)] for row in rows]

    def length_tokenizer(self) -> None:
        return None

    def own(self, sampler: Sampler) -> Sampler:
        return sampler

    def completion_prompts(self, requests: list[str], framing: Framing) -> list[str]:
        assert not framing.chat
        return requests

    def ending(self, framing: Framing) -> str:
        return framing.closing


@pytest.fixture
def run_popri(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Runs the graph of the given parameters in memory; everything it made, by data set name."""
    from fedtext.generation import few_shot
    from fedtext.pipelines.popri import nodes

    def trained(*_: Any, previous: str, **__: Any) -> tuple[str, list[dict[str, float]]]:
        return f"{previous}+", [{"step": 1.0, "loss": 0.5}]

    monkeypatch.setattr(few_shot, "clean_samples", lambda texts, *_, **__: list(texts))
    monkeypatch.setattr(nodes, "initial_adapter", lambda *_, **__: "adapter")
    monkeypatch.setattr(nodes, "saved_adapter", lambda adapter: adapter)
    monkeypatch.setattr(nodes, "train_preferences", trained)

    def run(privacy: dict[str, Any] | None = None, **popri: Any) -> dict[str, Any]:
        return _run({"epsilon": 1.0, "delta": 1e-3, "noise_seed": 1, **(privacy or {})}, _settings(popri))

    return run


def _settings(changes: dict[str, Any]) -> dict[str, Any]:
    settings = {"rounds": 3, "prompts": 4, "responses": 3, "rejected_rank": 2, "scoring": "witness_linear",
                "prompt_pool": "random", "checkpoint": "released_score", "pool_minimum": 500,
                "synthetic_texts": 12, "oversample": 1.0, "final_responses": 1}  # fmt: skip
    return {**settings, **changes}


def _run(privacy: dict[str, Any], popri: dict[str, Any]) -> dict[str, Any]:
    configure(popri=popri)
    return run_in_memory("popri", privacy, {"params:popri": conf_base(Popri, popri)})


def configure(**parameters: dict[str, Any]) -> Settings:
    """Makes `conf/base` with these parameters over it the active configuration; gives what decides the graph."""
    bootstrap_project(ROOT)
    return Settings(loader_for(None, parameters))


def _undescribed() -> Settings:
    """Return the active settings for texts of no described kind, which no model is asked to sort for reading."""
    loader = active_loader()
    return Settings(loader_for(loader.env, {**(loader.runtime_params or {}), "corpus": {"description": None}}))


def run_in_memory(algorithm: str, privacy: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Runs the clients' pipeline and an algorithm's, with `more` data sets given; everything made, by name."""
    from fedtext.pipeline_registry import algorithms, whole
    from fedtext.pipelines.clients.pipeline import create_pipeline as clients

    known = algorithms()
    pipeline = clients(counted=True) + whole(known[algorithm], known, _undescribed())
    private = pd.DataFrame(
        {"client_id": [f"c{i // 2}" for i in range(80)], "text": [f"secret {i}" for i in range(80)],
         "label": ["tea", "rum"] * 40, "split": ["train"] * 60 + ["validation"] * 10 + ["test"] * 10}
    )  # fmt: skip
    given = {
        "private_clients": private,
        "private_samples": private,
        "private_train": private[:60],
        "private_validation": private[60:70],
        "public_samples": pd.DataFrame({"text": [f"public {i}" for i in range(30)], "label": None}),
        "encoder": HashEncoder(),
        "generator": Talker(),
        "params:privacy": conf_base(Privacy, privacy),
        "params:privacy.noise_seed": privacy["noise_seed"],
        "params:corpus": conf_base(Corpus),
        "params:partition": conf_base(Partition),
        "params:chunking": conf_base(Chunking),
        "release_history": (),
        "run_facts": {},
        **more,
    }
    return _everything_made(pipeline, _with_fields(pipeline, given), {name: Kept() for name in pipeline.all_outputs()})


def _with_fields(pipeline: Pipeline, given: dict[str, Any]) -> dict[str, Any]:
    """What is given, and of its groups of parameters the fields that a node reads by themselves."""
    fields = [name for name in pipeline.inputs() - given.keys() if name.startswith("params:") and "." in name]
    return given | {name: getattr(given[name.partition(".")[0]], name.partition(".")[2]) for name in fields}


def made_up(count: int, seed: int) -> list[str]:
    """Texts that the on-device model can learn from in a few steps."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(HARBOUR, size=rng.integers(6, 14))) for _ in range(count)]


def train_in_memory(algorithm: str, privacy: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Runs an algorithm that trains the real on-device model, on made-up text of 20 clients; everything made, by name."""
    from fedtext.pipeline_registry import algorithms, whole

    known = algorithms()
    pipeline = whole(known[algorithm], known, _undescribed())
    ids, texts = [f"c{i // 2}" for i in range(40)], made_up(40, 0)
    train = pd.DataFrame({"client_id": ids, "text": texts})
    enrolled = np.unique(unit_of(train, privacy.get("unit", "client")))
    given = {
        "private_train": train,
        "private_noise_key": new_noise_key(privacy["noise_seed"]),
        "private_enrolment": {"unit": enrolled},
        "population": Population(enrolled=50, training=len(enrolled), test=5, source="counted"),
        "on_device": ON_DEVICE,
        "release_history": (),
        "run_facts": {},
        "params:corpus": conf_base(Corpus),
        "params:privacy": conf_base(Privacy, privacy),
        "params:chunking": conf_base(Chunking, length=16, min_tokens=4),
        **more,
    }
    made = {name: Kept(copy_mode="assign") for name in pipeline.all_outputs()}
    return _everything_made(pipeline, given, made)


def _everything_made(pipeline: Pipeline, given: dict[str, Any], made: dict[str, Kept]) -> dict[str, Any]:
    catalog = DataCatalog({**{k: Kept(v, copy_mode="assign") for k, v in given.items()}, **made})
    SequentialRunner().run(pipeline, catalog)
    return {name: catalog[name].load() for name in made}
