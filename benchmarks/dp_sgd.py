"""Compare DP-SGD with Opacus' own loop: seconds a step on the same adapter, rows and clip norm, in turns.

    python -m benchmarks.dp_sgd [--model bundled:generator] [--batch 32] [--tokens 64] [--steps 6]

It uses the GPU where there is one; `--units-at-once 32` suits it. Ours does more: a unit's message depends on the unit
alone to the bit, on an exact grid, with exact noise. Both sum the same clipped gradients, which is checked. Opacus is
used as documented, with GradSampleModule and DPOptimizer, except for the precision: both multiply in bfloat16 where
that is faster, as all training here does.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from fedtext.federation.mechanism import opened_ledger
from fedtext.federation.noisy_steps import NoisyStep, release_noisy_steps
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.models.language_model import LanguageModel
from fedtext.params.privacy import Privacy
from fedtext.params.training import Lora
from fedtext.privacy.noise import new_noise_key
from fedtext.system.hardware import bfloat16_if_faster
from fedtext.training.lora import adapted_model, adapter_weights
from fedtext.training.unit_gradients import UnitGradients
from tests.parameters import conf_base

CLIP_NORM, NOISE = 1.0, 1e-5
Timed = tuple[float, float]  # seconds of the clock, and of all cores together


def opacus_step(model: Any, rows: np.ndarray, noise: float) -> Callable[[], np.ndarray]:
    """Return Opacus' step: per-sample gradients by hooks, clip, sum, float noise."""
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = GradSampleModule(model, loss_reduction="sum", strict=False).train()
    trained = [p for p in wrapped.parameters() if p.requires_grad]
    optimizer = DPOptimizer(
        torch.optim.SGD(trained, lr=0.0), noise_multiplier=noise, max_grad_norm=CLIP_NORM,
        expected_batch_size=len(rows), loss_reduction="sum",
    )  # fmt: skip
    ids = torch.from_numpy(rows.astype(np.int64)).to(model.device)

    def step() -> np.ndarray:
        optimizer.zero_grad()
        with bfloat16_if_faster(ids.device):
            logits = wrapped(input_ids=ids, use_cache=False).logits[:, :-1].float()
        each = cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        each.mean(1).sum().backward()
        optimizer.step()
        return np.asarray(torch.cat([p.summed_grad.flatten() for p in trained]).detach().cpu().numpy())

    return step


def timed(step: Callable[[], object]) -> Timed:
    clock, cores = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - clock, time.process_time() - cores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="bundled:generator")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--units-at-once", type=int, default=8)
    parser.add_argument("--gradients", choices=("auto", "vmap", "opacus"), default="auto", help="ours")
    parser.add_argument("--threads", type=int, help="of torch, for both; few where the machine is shared")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    model: Any = adapted_model(LanguageModel(given.model), conf_base(Lora, rank=4, targets="attention"), seed=0)  # type: ignore[arg-type]
    model.float()
    rows = np.random.default_rng(0).integers(3, 4000, (given.batch, given.tokens + 1)).astype(np.int32)
    samples, start = PrivateSamples.of_one_class(rows, np.arange(given.batch)), adapter_weights(model)
    privacy = conf_base(
        Privacy, epsilon=1e12, delta=1e-3, noise_seed=0, noise_multiplier=NOISE, unit="record", aggregation="trusted"
    )
    steps = given.steps + 1
    query = Query("sgd", 0, start.size, CLIP_NORM, NOISE, batch=given.batch, steps=steps)
    theirs = opacus_step(copy.deepcopy(model), rows, NOISE)
    ours, ours_s, theirs_s = UnitGradients(model, given.units_at_once, given.gradients), list[Timed](), list[Timed]()

    def training(ask: NoisyStep) -> None:
        found: dict[str, np.ndarray] = {}

        def own() -> None:
            found["sum"] = ask(lambda held: ours.of(start, held.features, held.unit), "start")

        own()
        other = theirs()
        print(f"largest difference of the sums {np.abs(found['sum'] - other).max():.2g} (noise {NOISE * CLIP_NORM:g})")
        for _ in range(given.steps):
            ours_s.append(timed(own))
            theirs_s.append(timed(theirs))

    release_noisy_steps(query, training, samples, opened_ledger([query], privacy, given.batch), new_noise_key(0))
    print(
        f"{start.size:,} weights, ours by {ours.method}, {given.batch} rows of {given.tokens} tokens, {given.steps} steps of each"
    )
    for at, what in enumerate(("clock", "all cores")):
        mine, others = (np.array([pair[at] for pair in each]) for each in (ours_s, theirs_s))
        print(f"{what}: ours {mine.min():.3f} s, Opacus {others.min():.3f} s, ratio of the fastest "
              f"{mine.min() / others.min():.2f}, of the medians {np.median(mine) / np.median(others):.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
