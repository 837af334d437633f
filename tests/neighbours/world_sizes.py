"""Sizes at which a whole algorithm runs in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SIZES: dict[str, Any] = {
    "privacy": {"epsilon": 8.0, "delta": 1e-3, "noise_seed": 7},
    "partition": {"validation_share": 0.1, "test_share": 0.1},
    "corpus": {"public_texts": 40},
    "popri": {"rounds": 2, "prompts": 2, "responses": 3, "rejected_rank": 2, "random_features": 64, "pool_minimum": 20},
    "pe": {"rounds": 2, "population": 12},
    "wasp": {"rounds": 3, "texts": 12, "shown": 2},
    "dpprefsyn": {"prompts": 6, "answers": 2, "alignment": "none"},
    "dp_fedavg": {"rounds": 2},
    "dp_ftrl": {"rounds": 3, "separation": 2},
    "silos": {"groups": 2, "strong": 0.5},
    "flexible": {"training": {"rounds": 1, "local_steps": 1, "batch_size": 6}, "texts": 12, "kept": 0.5},
    # One step: what units send in a second one depends on what the first released, which here is another world's.
    "dp_sgd_generation": {"training": {"epochs": 0.01, "batch_size": 18}},
    "ctcl": {"topics": 4, "training": {"epochs": 0.01, "batch_size": 18}},
    "dp_rft": {"rounds": 2, "prompts": 3, "responses": 3},
    "dp_prediction": {"synthetic_texts": 4, "clients_at_once": 4, "sampler": {"max_new_tokens": 4}},
    "dp_ft": {"sft": {"epochs": 0.5, "batch_size": 18}, "dpo": {"epochs": 0.5, "batch_size": 18}},
}


def small(changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The small sizes, with `changes` laid over them group by group."""
    return {group: {**_SIZES.get(group, {}), **changes.get(group, {})} for group in {*_SIZES, *changes}}
