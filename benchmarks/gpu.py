"""What is new on a GPU, measured in ten minutes: Opacus against vmap, preferences at 8B, two GPUs, a round at 82M.

    python -m benchmarks.gpu [--out build/benchmarks/gpu.json] [--only dp_sgd preferences two_gpus writing round]

Models have the shapes of SmolLM2, Llama-3-8B and DistilGPT2 and random weights: nothing is downloaded, and no time
depends on what weights hold. Each part is a process of its own with a limit, so one that fails leaves the others. Times
and memory stand beside those of the plan (fedtext.planning). `--tiny` runs all of it on a laptop, for its own sake.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("FEDTEXT_PROGRESS", "0")

import numpy as np
import torch

from benchmarks.dpo_round import make_pairs
from fedtext.models.architecture import Architecture, architecture_of
from fedtext.models.language_model import Tokenizer
from fedtext.models.source import SHIPPED
from fedtext.params.privacy import Privacy
from fedtext.params.training import AdapterTraining, Lora
from fedtext.planning.memory import peak_bytes
from fedtext.planning.pace import Paces, _sampler
from fedtext.planning.rules.given import preferred
from fedtext.planning.sizes import model_class
from fedtext.planning.work import Kind, Work
from fedtext.system.hardware import compute_device, is_bfloat16_faster
from fedtext.training.dpo import train_preferences
from fedtext.training.lora import adapter_weights, lora_config, without_deprecations
from fedtext.training.unit_gradients import UnitGradients, suitable_method
from tests.parameters import conf_base

LLAMA, SMOLLM2 = "meta-llama/Meta-Llama-3-8B", "smollm2"
TINY = "bundled:generator"
LIMITS = {"dp_sgd": 120, "preferences": 180, "two_gpus": 120, "writing": 90, "round": 90}  # seconds
HALF = is_bfloat16_faster(compute_device()) and compute_device().type == "cuda"


@dataclass(frozen=True)
class RandomWeights:
    """Stands where a trainable generator does: a model of a known shape, and the bundled tokenizer."""

    source: str

    @property
    def architecture(self) -> Architecture:
        """The model's architecture."""
        return architecture_of(self.source)

    def load(self) -> tuple[Any, Any]:
        """Return the model, always with the same weights, and the tokenizer."""
        torch.manual_seed(0)
        config = self.architecture.config
        with torch.device(compute_device()):
            model = model_class(config).from_config(config, dtype=torch.bfloat16 if HALF else torch.float32)
        return model.eval(), Tokenizer(SHIPPED).load()


def seconds(work: Callable[[], Any], turns: int = 3) -> float:
    """Return the fastest turn after one that does not count."""
    taken = []
    for _ in range(turns + 1):
        began = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - began)
    return min(taken[1:])


def peak_gib() -> float | None:
    return torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else None


def paces() -> Paces:
    return Paces(conf_base(Privacy, epsilon=8.0), Path("build/benchmarks/gpu_paces.json"), measures=True)


def dp_sgd(*, tiny: bool) -> dict[str, Any]:
    """Gradients of 64 units of 32 tokens: an adapter of SmolLM2's shape, by either method."""
    from peft import get_peft_model

    batch, tokens = (8, 16) if tiny else (64, 32)
    model = RandomWeights(TINY if tiny else SMOLLM2).load()[0].float()
    with without_deprecations():
        model = get_peft_model(model, lora_config(model, conf_base(Lora, rank=4, targets="attention")))
    rows = np.random.default_rng(0).integers(3, 4000, (batch, tokens + 1)).astype(np.int32)
    start = adapter_weights(model) + np.random.default_rng(1).normal(0, 0.02, adapter_weights(model).size)
    found: dict[str, Any] = {"chosen": suitable_method(model.eval(), batch, "auto")}
    sums = {}
    for method in ("vmap", "opacus"):
        gradients = UnitGradients.by(method, model, batch)  # type: ignore[arg-type]

        def step(of: UnitGradients = gradients) -> np.ndarray:
            return np.concatenate([block.rows for block in of.of(start, rows, np.arange(batch))])

        found[f"{method}_suits"] = suitable_method(model, batch, method) == method  # type: ignore[arg-type]
        found[f"{method}_seconds"] = seconds(step)
        each = step()
        again = np.concatenate([block.rows for block in gradients.of(start, rows[: batch // 2], np.arange(batch // 2))])
        found[f"{method}_same_bits_in_other_company"] = bool((again == each[: batch // 2]).all())
        sums[method] = (each * np.minimum(1, 1 / np.linalg.norm(each, axis=1))[:, None]).sum(axis=0)
    found["largest_difference_of_clipped_sums"] = float(np.abs(sums["vmap"] - sums["opacus"]).max())
    return found


def _preferences(source: str, pairs: int, params: AdapterTraining) -> dict[str, Any]:
    base = RandomWeights(source)
    rows = make_pairs(pairs, Tokenizer(SHIPPED).load())
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    making = seconds(base.load, turns=1)
    began = time.perf_counter()
    _, history = train_preferences(base, rows, params, seed=0)  # type: ignore[arg-type]
    work = preferred(pairs, 227.0, 64.0, params, within="popri.preference")
    return {
        "seconds": time.perf_counter() - began - making,
        "seconds_of_making_the_model": making,
        "steps": len(history),
        "tokens": work.tokens,
        "planned_seconds": paces().seconds(work, base.architecture),
        "peak_gib": peak_gib(),
        "planned_gib": peak_bytes(work, base.architecture, halved=HALF) / 2**30,
        "losses": [entry["loss"] for entry in history],
    }


def preferences(*, tiny: bool) -> dict[str, Any]:
    """Preference training at 8B: one step of all pairs at once, or of some at a time, activations computed again."""
    source, pairs = (TINY, 4) if tiny else (LLAMA, 48)
    found = {}
    for at_once in (None, 4):
        params = conf_base(
            AdapterTraining, epochs=1, batch_size=pairs // 2, pairs_at_once=at_once, activation_checkpointing=True,
            lora={"rank": 4, "alpha": 8},
        )  # fmt: skip
        found[f"{at_once or pairs // 2} at once"] = _preferences(source, pairs, params)
    return found


def two_gpus(*, tiny: bool) -> dict[str, Any]:
    """Preference training of SmolLM2's shape by one process and by two."""
    if not tiny and torch.cuda.device_count() < 2:
        return {"skipped": f"this machine has {torch.cuda.device_count()} GPU"}
    source, pairs = (TINY, 8) if tiny else (SMOLLM2, 192)
    kinds = {gpus: conf_base(AdapterTraining, epochs=1, batch_size=pairs // 4, gpus=gpus) for gpus in (1, 2)}
    return {f"{gpus} processes": _preferences(source, pairs, params) for gpus, params in kinds.items()}


def writing(*, tiny: bool) -> dict[str, Any]:
    """Write ten responses a prompt by the project's own decoding, at 8B."""
    from fedtext.generation.generators.local import sample_responses

    base, prompts, tokens = RandomWeights(TINY if tiny else LLAMA), 2 if tiny else 38, 8 if tiny else 85
    model, tokenizer = base.load()
    asked = ["a " * (20 if tiny else 223)] * prompts
    sampler = _sampler(tokens, 10 * prompts)
    took = seconds(lambda: sample_responses(model, tokenizer, asked, responses=10, sampler=sampler, seed=0), turns=1)
    work = Work(
        Kind.WRITING, 10.0 * prompts * tokens, 10 * prompts, 223 / 10 + tokens, texts=10 * prompts, shown=223.0 * prompts,
        shared=10,
    )  # fmt: skip
    return {
        "tokens_a_second": work.tokens / took,
        "planned_tokens_a_second": work.tokens / paces().seconds(work, base.architecture),
        "peak_gib": peak_gib(),
        "planned_gib": peak_bytes(work, base.architecture, halved=HALF) / 2**30,
    }


def large_round(*, tiny: bool) -> dict[str, Any]:
    """Run a round of DP-FedAvg at DistilGPT2's size, its training on the GPU."""
    clients = "1" if tiny else "64"
    command = [sys.executable, "-m", "benchmarks.large_updates", "--round", "--clients", clients]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


PARTS = {"dp_sgd": dp_sgd, "preferences": preferences, "two_gpus": two_gpus, "writing": writing, "round": large_round}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks/gpu.json"))
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(PARTS[given.part](tiny=given.tiny)))
        return
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    found: dict[str, Any] = {"gpu": gpu, "gpus": torch.cuda.device_count(), "torch": torch.__version__}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    for part in given.only:
        command = [sys.executable, "-m", "benchmarks.gpu", "--part", part, *(["--tiny"] if given.tiny else [])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMITS[part], check=False)
            said = done.stdout.splitlines()
            found[part] = json.loads(said[-1]) if done.returncode == 0 else {"failed": done.stderr[-2000:]}
        except subprocess.TimeoutExpired:
            found[part] = {"failed": f"not done after {LIMITS[part]} s"}
        given.out.write_text(json.dumps(found, indent=1) + "\n")  # after every part: what is there is kept
        print(f"{part}: {json.dumps(found[part], indent=1)}", flush=True)


if __name__ == "__main__":
    main()
