"""Rounds of DP-FedAvg: clients side by side against a plain client loop and against `pfl`'s simulation.

    python -m benchmarks.dp_fedavg [--clients 512] [--at-once 8 16] [--pfl SITE_PACKAGES]

The bundled on-device model, docstrings as clients, one local epoch, batches of two. The loop is what one writes first:
load the weights, run SGD on transformers' loss, clip, add, noise. `pfl` (pip install pfl, into a throw-away environment
whose site-packages are named here) runs its FederatedAveraging on the same rows in the same order. Both add float
noise; ours also rounds every update to the grid and draws exact noise. Each variant may use all cores as it can; they
take turns, so that all meet the same load, and wall seconds are compared turn by turn, CPU seconds given beside them.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import resource
import statistics
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("FEDTEXT_PROGRESS", "0")

import numpy as np
import torch

from fedtext.corpora.public import stdlib_records
from fedtext.corpora.records import sample_records
from fedtext.evaluation.next_token import padded, text_windows
from fedtext.federation.private_samples import PrivateSamples
from fedtext.federation.query import Query
from fedtext.federation.secure_sum import release_noisy_sum
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking, Corpus
from fedtext.params.federated import LocalTraining
from fedtext.params.privacy import Privacy
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.ledger import Ledger
from fedtext.privacy.noise import new_noise_key
from fedtext.seeding import stream
from fedtext.system.cores import keep_freed_memory
from fedtext.training.federated_averaging import client_updates, flat_weights
from tests.parameters import conf_base

GOAL = 3.0
SEED, CLIP_NORM, MULTIPLIER = 0, 0.1, 4.0
LOCAL = conf_base(LocalTraining, epochs=1, batch_size=2, learning_rate=0.05)
RESULT = Path("build/benchmarks/dp_fedavg.json")


def rows_of_clients(clients: int) -> tuple[np.ndarray, np.ndarray]:
    """Return token rows of `clients` documented objects, evenly spaced over the standard library, and object codes."""
    records = stdlib_records(conf_base(Corpus))
    records = records.iloc[np.linspace(0, len(records) - 1, clients).astype(int)]
    samples = sample_records(records, LanguageModel("bundled:generator").tokenizer(), conf_base(Chunking))
    windows = text_windows(LanguageModel("bundled:on_device").tokenizer(), samples["text"].tolist(), 64)
    return padded(windows.rows), np.unique(samples["client_id"], return_inverse=True)[1][windows.sample]


def shuffled(client: np.ndarray) -> list[np.ndarray]:
    """Return each client's rows in the order in which `client_updates` uses them."""
    return [stream(SEED, "local training", c).permutation(np.flatnonzero(client == c)) for c in range(client.max() + 1)]


def loss_of(model: Any, ids: torch.Tensor) -> torch.Tensor:
    real = ids >= 0
    shown = {"input_ids": ids.clamp(min=0), "attention_mask": real.long()}
    return model(**shown, labels=ids.masked_fill(~real, -100)).loss


def trimmed(tokens: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(tokens[:, : max((tokens >= 0).sum(axis=1).max(), 2)])


def side_by_side(model: Any, tokens: np.ndarray, client: np.ndarray, at_once: int) -> np.ndarray:
    local = LOCAL.model_copy(update={"clients_at_once": at_once})
    dim, clients = sum(p.numel() for p in model.parameters()), int(client.max()) + 1
    total, _ = release_noisy_sum(
        Query("benchmark", 1, dim, CLIP_NORM, MULTIPLIER),
        lambda held: client_updates(model, held.features, held.unit, local, seed=SEED),
        PrivateSamples.of_one_class(tokens, client),
        Ledger(declaration=conf_base(Privacy, epsilon=1e3, delta=1e-5, noise_seed=1), population=clients),
        new_noise_key(1),
    )
    return total


def client_loop(
    model: Any, tokens: np.ndarray, client: np.ndarray, noise: float = CLIP_NORM * MULTIPLIER
) -> np.ndarray:
    start = copy.deepcopy(model.state_dict())
    before = torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    total = torch.zeros_like(before)
    for rows in shuffled(client):
        model.load_state_dict(start)
        optimizer = torch.optim.SGD(model.parameters(), lr=LOCAL.learning_rate)
        for first in range(0, len(rows), LOCAL.batch_size):
            optimizer.zero_grad()
            loss_of(model, trimmed(tokens[rows[first : first + LOCAL.batch_size]])).backward()
            optimizer.step()
        update = torch.nn.utils.parameters_to_vector(model.parameters()).detach() - before
        total += update * (CLIP_NORM / max(float(update.norm()), CLIP_NORM))
    model.load_state_dict(start)
    return (total + noise * torch.randn_like(total)).numpy()


def pfl_round(model: Any, tokens: np.ndarray, client: np.ndarray, noise: float = CLIP_NORM * MULTIPLIER) -> np.ndarray:
    """Run one central iteration of pfl's FederatedAveraging with its Gaussian mechanism; return the summed update."""
    from pfl.aggregate.simulate import SimulatedBackend
    from pfl.algorithm.base import NNAlgorithmParams
    from pfl.algorithm.federated_averaging import FederatedAveraging
    from pfl.data.dataset import Dataset
    from pfl.data.federated_dataset import FederatedDataset
    from pfl.data.sampling import get_user_sampler
    from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
    from pfl.model.pytorch import PyTorchModel
    from pfl.privacy.gaussian_mechanism import GaussianMechanism
    from pfl.privacy.privacy_mechanism import CentrallyAppliedPrivacyMechanism

    orders = shuffled(client)
    model.loss = types.MethodType(lambda self, ids: loss_of(self, trimmed(ids.numpy())), model)
    model.metrics = types.MethodType(lambda self, ids: {}, model)
    users = FederatedDataset(
        lambda c: Dataset((torch.from_numpy(tokens[orders[c]]),), user_id=str(c)),
        get_user_sampler("minimize_reuse", list(range(len(orders)))),
    )
    before = flat_weights(model)
    wrapped = PyTorchModel(model, torch.optim.SGD, torch.optim.SGD(model.parameters(), lr=1.0))
    mechanism = GaussianMechanism(CLIP_NORM, noise / CLIP_NORM)
    backend = SimulatedBackend(users, users, postprocessors=[CentrallyAppliedPrivacyMechanism(mechanism)])
    settings = NNAlgorithmParams(
        central_num_iterations=1, evaluation_frequency=10, train_cohort_size=len(orders), val_cohort_size=0
    )
    training = NNTrainHyperParams(
        local_num_epochs=1, local_learning_rate=LOCAL.learning_rate, local_batch_size=LOCAL.batch_size
    )
    judged = NNEvalHyperParams(local_batch_size=None)
    FederatedAveraging().run(settings, backend, wrapped, training, judged, send_metrics_to_platform=False)
    return (flat_weights(model) - before) * len(orders)


def seconds(work: Callable[[Any], object]) -> tuple[float, float]:
    """Return wall and CPU seconds of one round, without loading the model."""
    model = public_model()
    wall, cpu = time.perf_counter(), time.process_time()
    work(model)
    return time.perf_counter() - wall, time.process_time() - cpu


def public_model() -> Any:
    return LanguageModel("bundled:on_device").load()[0].float().eval()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=512)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--at-once", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--pfl", type=Path, help="site-packages that hold pfl")
    chosen = parser.parse_args()
    keep_freed_memory()  # as every run of the project does
    tokens, client = rows_of_clients(chosen.clients)
    updates = client_updates(public_model(), tokens, client, LOCAL, seed=SEED)
    ours = sum(clip_rows(block.rows, CLIP_NORM).sum(axis=0) for block in updates)
    work: dict[str, Callable[[Any], object]] = {
        f"side by side, {n} at once": lambda model, n=n: side_by_side(model, tokens, client, n) for n in chosen.at_once
    }
    work["client loop"] = lambda model: client_loop(model, tokens, client)
    found = {"rows": len(tokens), "clients": chosen.clients, "update_norm": float(np.linalg.norm(ours))}
    found["difference_loop"] = float(np.abs(client_loop(public_model(), tokens, client, 0.0) - ours).max())
    if chosen.pfl:
        sys.path.append(str(chosen.pfl))
        work["pfl"] = lambda model: pfl_round(model, tokens, client)
        found["difference_pfl"] = float(np.abs(pfl_round(public_model(), tokens, client, 1e-12) - ours).max())
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for _ in range(chosen.turns):
        for name, variant in work.items():
            spent[name].append(seconds(variant))
    report(found, spent)


def report(found: dict[str, Any], spent: dict[str, list[tuple[float, float]]]) -> None:
    print(f"{found['clients']} clients, {found['rows']} rows; norm of the summed update {found['update_norm']:.3f}")
    for name in ("loop", "pfl"):
        if f"difference_{name}" in found:
            print(f"  largest difference of the clipped sum to {name}: {found[f'difference_{name}']:.1e}")
    wall = {name: [turn[0] for turn in turns] for name, turns in spent.items()}
    typical = {name: statistics.median(turns) for name, turns in wall.items()}
    best = min((n for n in typical if n.startswith("side")), key=lambda n: typical[n])
    ratios = {n: statistics.median(a / b for a, b in zip(wall[n], wall[best], strict=True)) for n in wall}
    for name, value in typical.items():
        cpu = statistics.median(turn[1] for turn in spent[name])
        print(
            f"  {name:26s} {value:7.2f} s a round ({cpu:.2f} CPU s), {1 / value:6.3f} rounds/s, {ratios[name]:5.2f} x ours"
        )
    print(
        f"  peak memory of all of it {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB; goal {GOAL:.0f} x"
    )
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({**found, "seconds": spent, "ratios": ratios}, indent=2) + "\n")


if __name__ == "__main__":
    main()
