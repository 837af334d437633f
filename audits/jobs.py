"""The registered algorithms at a size at which a whole run takes a fraction of a second."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from audits.corpus import CLIENTS, SHARES, public_records, small_models
from audits.worlds import Job
from fedtext.algorithms.dp_ft import half_size
from fedtext.federation.units import Population
from fedtext.models.encoder import load_encoder

DELTA = 1e-5
# A silo's declared units. All of them are in each of its batches, since the sample would reveal which ones are.
HELD = 16
LOCAL_STEPS = 2
ENROLLED = Population.declared(CLIENTS, **SHARES).training
COMMON: dict[str, Any] = {
    "privacy": {"epsilon": 1.0, "delta": DELTA, "population": CLIENTS, "noise_seed": 0},
    "partition": SHARES,
    "chunking": {"length": 32, "min_tokens": 4},
    "silos": {"groups": 3, "strong": 0.67, "units": {f"silo-{number}": HELD for number in range(3)}},
}
TRAINING = {"clip_norm": 0.05, "local": {"epochs": 1, "batch_size": 1, "learning_rate": 1.0}}
# A half's declared units are all in each batch, for the reason above.
STEPS = {"epochs": 2.0, "batch_size": half_size(ENROLLED), "clip_norm": 0.01, "optimizer": {"learning_rate": 0.05}}
VOTES = {"rounds": 2, "population": 12, "sampler": {"max_new_tokens": 16}}
OWN: dict[str, dict[str, Any]] = {
    "popri": {"random_features": 64, "pool_minimum": 10},
    "popri by ballots": {
        "rounds": 1, "prompts": 4, "responses": 5, "scoring": "nearest_histogram", "prompt_pool": "random",
        "oversample": 1.0, "checkpoint": "last", "sampler": {"max_new_tokens": 16},
    },
    "pe": VOTES,
    "pe_sft": {**VOTES, "labels": "sea land", "selection": "rank"},
    "wasp": {"rounds": 3, "texts": 24, "shown": 2, "labels": "sea land",
             "sampler": {"max_new_tokens": 16, "legible_only": False}},
    # a few tokens behind a long prompt differ little, so that R is below every private difference: all are as loud
    "dpprefsyn": {"answers": 3, "alignment": "none", "radius_quantile": 0.02,
                  "sampler": {"max_new_tokens": 4, "legible_only": False, "prompt": "list"}},
    "flexible": {
        "labels": "sea land", "texts": 24, "sampler": {"max_new_tokens": 16, "legible_only": False},
        "training": {"rounds": 2, "local_steps": LOCAL_STEPS, "batch_size": HELD, "clip_norm": 0.01,
                     "optimizer": {"learning_rate": 0.05}},
    },
    "dp_ft": {"sft": STEPS, "dpo": STEPS, "tokens": {"prompt": 24, "answer": 16}, "chat": False},
    "dp_sgd_generation": {"labels": "sea land", "training": {**STEPS, "batch_size": ENROLLED}},
    "ctcl": {"topics": 4, "training": {**STEPS, "batch_size": ENROLLED}, "public_training": {"epochs": 1.0}},
    "dp_rft": {"rounds": 2, "prompts": 4, "responses": 3, "sampler": {"max_new_tokens": 16}},
    "dp_prediction": {"synthetic_texts": 4, "clients_at_once": 8, "example_tokens": 24,
                      "sampler": {"max_new_tokens": 16, "prompt": "list", "legible_only": False, "min_p": 0.0}},
    "dp_fedavg": {"rounds": 2, **TRAINING},
    "dp_ftrl": {"rounds": 4, "separation": 2, **TRAINING},
}  # fmt: skip
TRUSTED = {"privacy": {**COMMON["privacy"], "aggregation": "trusted"}}
CURATED = {"dp_ft": TRUSTED, "dp_prediction": TRUSTED}  # no other aggregation is allowed
PLMS = {"one": "a small model", "other": "a small model"}
GROUP = {"popri by ballots": "popri", "pe_sft": "pe"}  # whose parameters decide what is released


def job(name: str) -> Job:
    """Return the algorithm `name`, or one of its variants, on the audit's public text and small models."""
    parameters = {**COMMON, GROUP.get(name, name): OWN[name], "models": {"plms": PLMS}, **CURATED.get(name, {})}
    found = models()
    if name == "dp_prediction":  # its clip follows from the budget, so what is said must be loud
        found = {**found, "generator": found["loud_generator"]}
    return Job(name.partition(" ")[0], parameters, public_records(), found)


@cache
def models() -> dict[str, Any]:
    """Return the models by data set name; the language models are small ones."""
    directory = Path(tempfile.mkdtemp(prefix="fedtext-audit-"))
    small = small_models(directory)
    named = {f"plm_{name}": small["generator"] for name in PLMS}
    return {**small, **named, "downstream": small["generator"], "encoder": load_encoder("offline", device="cpu")}
