"""A round of DP-FedAvg at DistilGPT2's size, 82 million weights: a client's message, and all of a round.

    python -m benchmarks.large_updates [--clients 4]                 # messages of random updates: clip, round, add
    python -m benchmarks.large_updates --round --clients 8           # with local training, the noise, and the server

The model has DistilGPT2's shape and random weights: nothing is downloaded, and no time depends on what weights hold. A
client has `--rows` rows of 64 tokens, in batches of two, as in the paper's setting. Processor seconds are given, for
the machine may be shared; those of a round of 1,000 clients and of the papers' rounds are extrapolated from them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("FEDTEXT_PROGRESS", "0")

import numpy as np

from fedtext.federation.charged_release import seconds_of_noise
from fedtext.federation.mechanism import planned_sum
from fedtext.federation.messages import Request, message_sum
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import Block
from fedtext.params.federated import LocalTraining
from fedtext.params.privacy import Privacy
from fedtext.privacy.noise import new_noise_key
from fedtext.system.cores import keep_freed_memory
from fedtext.system.engine import computing_on, over_processes
from fedtext.system.hardware import compute_device
from fedtext.training.federated_averaging import client_updates
from tests.parameters import conf_base

GOAL = 0.4  # processor seconds of a message
DIM, CLIP_NORM, MULTIPLIER = 81_912_576, 0.1, 19.3
SHAPE = {"n_embd": 768, "n_layer": 6, "n_head": 12, "vocab_size": 50_257, "n_positions": 1024}
RESULT = Path("build/benchmarks/large_updates.json")


def request(blocks_of: Any, dim: int, clients: int) -> Request:
    """Return a round's question, without its charge: the budget is not what is measured."""
    privacy = conf_base(Privacy, epsilon=1e3, delta=1e-5, noise_seed=0)
    plan = planned_sum(Query("benchmark", 1, dim, CLIP_NORM, MULTIPLIER), privacy, clients)
    return Request(blocks_of, plan, new_noise_key(0), ("benchmark",))


def random_updates(dim: int) -> Any:
    """Return what stands for training: one update that all clients send, which is clipped."""
    update = np.random.default_rng(0).normal(0, 1e-4, dim).astype(np.float32)[None]

    def of(held: PrivateSamples) -> Iterator[Block]:
        for unit in np.unique(held.unit):
            yield Block(np.array([unit]), update)

    return of


def trained_updates(rows: int) -> tuple[Any, int]:
    """Return the local training of a model of DistilGPT2's shape, and its number of weights."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(**SHAPE)).to(compute_device()).float().eval()
    local = conf_base(LocalTraining, epochs=1, batch_size=2, learning_rate=0.03, clients_at_once=1)

    def of(held: PrivateSamples) -> Iterator[Block]:
        yield from client_updates(model, held.features, held.unit, local, seed=0)

    return of, sum(p.numel() for p in model.parameters())


def spent() -> float:
    """Return the processor seconds of this process and of those that it has waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def peak_gib(who: int) -> float:
    return resource.getrusage(who).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--rows", type=int, default=6, help="of a client")
    parser.add_argument("--round", action="store_true", help="with local training")
    parser.add_argument("--workers", type=int, help="processes; none: in this one")
    given = parser.parse_args()
    keep_freed_memory()  # as every run of the project does
    blocks_of, dim = trained_updates(given.rows) if given.round else (random_updates(DIM), DIM)
    tokens = np.random.default_rng(1).integers(3, 50_000, (given.clients * given.rows, 65)).astype(np.int32)
    client = np.repeat(np.arange(given.clients), given.rows)
    samples, asked = PrivateSamples.of_one_class(tokens, client), request(blocks_of, dim, given.clients)
    began, wall = spent(), time.perf_counter()
    if given.workers:
        with over_processes(given.workers) as engine, computing_on(engine):
            total = message_sum(asked, samples, np.arange(given.clients))
    else:
        total = message_sum(asked, samples, np.arange(given.clients))
    found = {
        "dim": dim,
        "clients": given.clients,
        "processor_seconds_a_client": (spent() - began) / given.clients,
        "seconds_a_client": (time.perf_counter() - wall) / given.clients,
        "peak_gib": peak_gib(resource.RUSAGE_SELF),
        "peak_gib_of_a_worker": peak_gib(resource.RUSAGE_CHILDREN) if given.workers else None,
        "digest": int(total.view(np.uint64).sum()),
    }
    if given.round:
        numbers = 2**22
        noise = seconds_of_noise(asked.plan.stddev_on_grid, numbers) * dim / numbers
        found |= {
            "noise_seconds_a_round": noise,
            "hours_of_1000_clients": (1000 * found["processor_seconds_a_client"] + noise) / 3600,
        }
    print(json.dumps(found, indent=1))
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
