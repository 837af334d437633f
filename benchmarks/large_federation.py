"""Memory and time of every mechanism with as many clients as LargeFedBench's speeches have: 134,000.

    python -m benchmarks.large_federation [--clients 134000]

Each of the three releases that text generation depends on, whole (ballots, clipping, rounding to the grid, sum, exact
noise, ledger), in a process of its own, with 6.6 samples a client and their embeddings in memory. The peak counts
everything, embeddings included, and must stay below 4 GiB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.made_up import DIM, clients_of, unit_rows
from fedtext.algorithms.pe import plan as pe
from fedtext.algorithms.pe.histogram import noised_histogram
from fedtext.algorithms.popri.plan import planned_query
from fedtext.algorithms.popri.release import release_private_mean, score_by_ballots
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.units import unit_codes
from fedtext.params.pe import Pe
from fedtext.params.popri import Popri
from fedtext.params.privacy import Privacy
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from tests.parameters import conf_base

CLIENTS, SAMPLES_PER_CLIENT = 134_000, 6.6  # speeches; bioRxiv's samples a client (POPri, Table 4)
PROMPTS, RESPONSES, POPULATION = 1800, 10, 1024  # POPri's candidates (App. B.1), PrE-Text's N_syn (App. C.3)
LARGEST = 4096  # MiB
NOISE = conf_base(Privacy, epsilon=1.0, delta=3e-6, noise_multiplier=19.3)
RESULT = Path("build/benchmarks/large_federation.json")

Mechanism = Callable[[PrivateSamples, Ledger, np.random.Generator], object]


def popri(scoring: str) -> Popri:
    sizes = {"rounds": 1, "prompts": PROMPTS, "responses": RESPONSES, "synthetic_texts": 1}
    return conf_base(Popri, {**sizes, "scoring": scoring, "prompt_pool": "random", "oversample": 1.0})


def asked(parameters: Popri, round_number: int) -> Query:
    return planned_query(parameters, NOISE, CLIENTS, embedding_dim=DIM, round_number=round_number)


def mean_features(samples: PrivateSamples, ledger: Ledger, random: np.random.Generator) -> object:
    parameters = popri("witness_rff")
    return release_private_mean(asked(parameters, 0), Simulated(samples, new_noise_key(0)), parameters, ledger)


def ballots(samples: PrivateSamples, ledger: Ledger, random: np.random.Generator) -> object:
    texts = unit_rows(random, PROMPTS * RESPONSES)
    label = np.zeros(len(texts), dtype=np.int64)
    parameters = popri("mean_cosine")
    return score_by_ballots(
        asked(parameters, 1), Simulated(samples, new_noise_key(0)), texts, label, parameters, ledger
    )


def histogram(samples: PrivateSamples, ledger: Ledger, random: np.random.Generator) -> object:
    texts, label = unit_rows(random, POPULATION), np.zeros(POPULATION, dtype=np.int64)
    evolution = conf_base(Pe, rounds=1, population=POPULATION, synthetic_texts=1)
    query = pe.planned_query(evolution, NOISE, CLIENTS, 1)
    return noised_histogram(query, Simulated(samples, new_noise_key(0)), texts, label, evolution, ledger)


MECHANISMS: dict[str, tuple[str, Mechanism]] = {
    "mean_features": ("POPri's one release of 1,024 mean features", mean_features),
    "ballots": ("POPri's ballots on 18,000 candidates, one round", ballots),
    "histogram": ("Private Evolution's vote on 1,024 candidates, one round", histogram),
}


def made_up(clients: int, random: np.random.Generator) -> tuple[PrivateSamples, Ledger]:
    """Return so many clients' samples, and an empty ledger."""
    n = int(clients * SAMPLES_PER_CLIENT)
    codes = unit_codes([str(i) for i in range(clients)])
    held = codes[clients_of(random, n, clients)]
    samples = PrivateSamples(unit_rows(random, n), held, np.zeros(n, dtype=np.int64), codes)
    return samples, Ledger(declaration=conf_base(Privacy, epsilon=1.0, delta=3e-6, noise_seed=0), population=clients)


def measured(name: str, clients: int) -> dict[str, Any]:
    """Return peak resident MiB and seconds of one release, in this process."""
    random = np.random.default_rng(0)
    samples, ledger = made_up(clients, random)
    start = time.perf_counter()
    MECHANISMS[name][1](samples, ledger, random)
    return {
        "seconds": time.perf_counter() - start,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "embeddings_mib": samples.features.nbytes / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--one", choices=list(MECHANISMS), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measured(chosen.one, chosen.clients)))
        return
    results = {}
    for name, (title, _) in MECHANISMS.items():
        line = [sys.executable, "-m", "benchmarks.large_federation", "--clients", str(chosen.clients), "--one", name]
        results[name] = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
        row = results[name]
        print(
            f"{title}: {row['seconds']:.1f} s, peak {row['peak_mib']:,.0f} MiB, of which embeddings "
            f"{row['embeddings_mib']:,.0f}"
        )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(results, indent=2) + "\n")
    if max(row["peak_mib"] for row in results.values()) > LARGEST:
        sys.exit(f"more than {LARGEST} MiB")


if __name__ == "__main__":
    main()
