"""Sizes and models under which conf/paper's methods run in seconds: its sizes are for days of a GPU.

What is small here is how much there is of everything, and the models. Methods, forms, choices and calibrations are the
paper's.
"""

from __future__ import annotations

from typing import Any

SHORT = {"max_new_tokens": 12}
KINDS = "class function method module property"
GENERATORS = {
    "calm": "bundled:generator",
    "lively": {"source": "bundled:generator", "prompt": "list", "temperature": 1.5},
}
OTHERS = ("small", "gpt2", "llama2", "vicuna", "opt", "chatglm3", "flan_t5", "llama")

SMALL: dict[str, dict[str, Any]] = {
    "models": {
        "generator": "bundled:generator",
        "downstream": "bundled:on_device",
        "on_device": "bundled:on_device",
        "encoder": "offline",
        "classifier": "offline",
        "judge": "bundled:generator",
        "features": None,
        "plms": {**GENERATORS, **dict.fromkeys(OTHERS)},
    },
    "corpus": {
        "source": "docstrings",
        "max_clients": 90,
        "public_texts": 60,
        "public_samples": 80,
        **dict.fromkeys(("config", "snapshot", "description")),
    },
    "generation": {"prompt": "list"},
    "partition": {"validation_share": 0.2, "test_share": 0.25},
    "privacy": {"noise_seed": 7},
    "evaluation": {
        "texts": 12,
        "private_texts": 12,
        "max_eval_samples": 20,
        "training": {"epochs": 1.0},
        "untuned": {"sampler": SHORT},
    },
    "popri": {
        "rounds": 2,
        "prompts": 6,
        "pool_minimum": 20,
        "random_features": 64,
        "synthetic_texts": 12,
        "sampler": SHORT,
    },
    "pe": {"rounds": 2, "population": 20, "synthetic_texts": 12, "sampler": SHORT},
    "pe_sft": {
        "samples": 16,
        "lists": 8,
        "synthetic_texts": 12,
        "training": {"epochs": 1.0},
        "sampler": SHORT,
    },
    "dp_fedavg": {"rounds": 2},
    "dp_ftrl": {"rounds": 2},
    "dp_sgd_generation": {"training": {"epochs": 1.0, "batch_size": 16}, "synthetic_texts": 12, "sampler": SHORT},
    "ctcl": {
        "topics": 4,
        "public_training": {"epochs": 1.0},
        "training": {"epochs": 1.0, "batch_size": 16},
        "synthetic_texts": 12,
        "sampler": SHORT,
    },
    "dp_rft": {"rounds": 2, "prompts": 4, "responses": 3, "synthetic_texts": 12, "sampler": SHORT},
    "flexible": {
        "training": {"rounds": 2, "local_steps": 2, "batch_size": 4},
        "texts": 20,
        "sampler": SHORT,
    },
    "wasp": {"rounds": 2, "texts": 24, "prompts_per_class": 2, "sampler": SHORT},
    "fusegen": {"rounds": 2, "texts": 90, "candidates": 8, "shown": 2, "writing": {"sampler": {"max_new_tokens": 32}}},
    "zero_shot": {"texts": 24, "writing": {"sampler": {"max_new_tokens": 32}}},
    "annotation": {"annotators": 20, "public_questions": 6, "sampler": {**SHORT, "prompt": "list"}},
    # The small generator's answers hardly differ, so a gap is small too.
    "dpprefsyn": {"prompts": 12, "answers": 3, "gap": {"value": 0.01}, "sampler": SHORT, "rloo": {"completions": 2, "steps": 2, "prompts_per_step": 2}},
    "dp_prediction": {"synthetic_texts": 12, "sampler": SHORT},
    "dp_ft": {"sft": {"epochs": 1.0}, "dpo": {"epochs": 1.0}, "tokens": {"prompt": 24, "answer": 16}},
    "policies": {
        "prompts": 4,
        "sampler": SHORT,
        "verdicts": SHORT,
        "membership": {"tokens": {"prompt": 24, "answer": 16}},
    },
}  # fmt: skip

OF_KINDS: dict[str, dict[str, Any]] = {"corpus": {"code_columns": "kind"}, "task": {"labels": KINDS}}

# What one paper's methods need beside it, by pipeline: classes that the docstrings have, and silos of a few records.
OF_PIPELINE: dict[str, dict[str, Any]] = {
    "popri": {"chunking": {"length": 64}},  # PubMed's samples are longer than what the small generator reads
    "wasp": {**OF_KINDS, "wasp": {"labels": KINDS}},
    "zero_shot": OF_KINDS,
    "fusegen": OF_KINDS,
    "flexible": {
        **OF_KINDS,
        "chunking": {"length": 64},
        "partition": {"clients": 6},
        "silos": {"strong_codes": "class function"},  # of the partition where strong silos differ from the others
        "flexible": {"labels": KINDS},
    },
    "dpprefsyn": {"privacy": {"population": None}},
    "dp_ft": {"privacy": {"population": None}},
}
