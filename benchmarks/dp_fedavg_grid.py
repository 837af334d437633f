"""Choose DP-FedAvg's learning rate, clip norm and rounds on PUBLIC text: third-party docstrings stand in as clients.

    python -m benchmarks.dp_fedavg_grid [--stand-ins 200] [--clients 2377] [--epsilon 1]

The paper tunes "within the range [0.001, 0.1, 0.1] and the clipping threshold between [0.01, 0.1, 1.0]" (v1: "[0.01,
0.06]" and "[0.01, 0.4]") on its evaluation set, which no epsilon covers. Here nothing private is read. The run asked
for has `--clients` clients; fewer stand-ins are trained, with the noise scaled down so that the noise of their MEAN
update is that of all clients.

Every row is one setting: accuracy and cross-entropy on held-out public objects without and with the noise.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from pathlib import Path

os.environ.setdefault("FEDTEXT_PROGRESS", "0")

import numpy as np
import torch

from fedtext.corpora.public import public_records
from fedtext.corpora.records import sample_records
from fedtext.evaluation.next_token import count_next_tokens, padded, text_windows
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking, Corpus
from fedtext.params.federated import LocalTraining
from fedtext.params.privacy import Privacy
from fedtext.privacy.clipping import clip_rows
from fedtext.privacy.plan import planned_multiplier
from fedtext.training.federated_averaging import client_updates, flat_weights, load_weights
from tests.parameters import conf_base

RESULT = Path("build/benchmarks/dp_fedavg_grid.json")
Rows = list[list[int]]


def public_rows(clients: int, held_out: int) -> tuple[Rows, np.ndarray, Rows]:
    """Return token rows of the stand-in clients, the client of each, and rows of other public objects."""
    records = public_records(conf_base(Corpus), max_texts=clients + held_out)
    samples = sample_records(records, LanguageModel("bundled:generator").tokenizer(), conf_base(Chunking))
    windows = text_windows(LanguageModel("bundled:on_device").tokenizer(), samples["text"].tolist(), 64)
    rows, number = windows.rows, np.unique(samples["client_id"], return_inverse=True)[1][windows.sample]
    order = np.random.default_rng(0).permutation(number.max() + 1)[number]
    kept = np.flatnonzero(order < clients)
    return [rows[i] for i in kept], order[kept], [rows[i] for i in np.flatnonzero(order >= clients)]


def trained(
    tokens: np.ndarray, client: np.ndarray, local: LocalTraining, clip_norm: float, rounds: int, mean_noise: float
) -> np.ndarray:
    """Return weights after `rounds` rounds; `mean_noise` is the deviation of the mean update's noise, in clip norms."""
    model = LanguageModel("bundled:on_device").load()[0].float()
    weights, drawn = flat_weights(model), np.random.default_rng(1)
    for t in range(rounds):
        total = np.zeros(weights.size)
        for block in client_updates(load_weights(model, weights), tokens, client, local, seed=t):
            total += clip_rows(block.rows, clip_norm).sum(axis=0)
        noise = mean_noise * clip_norm * drawn.standard_normal(weights.size)
        weights = (weights + total / (client.max() + 1) + noise).astype(np.float32)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stand-ins", type=int, default=200)
    parser.add_argument("--clients", type=int, default=2377)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--held-out", type=int, default=200)
    parser.add_argument("--learning-rates", type=float, nargs="+", default=[0.02, 0.06, 0.2, 0.6])
    parser.add_argument("--clip-norms", type=float, nargs="+", default=[0.03, 0.1, 0.3])
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 4])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rows, client, held_out = public_rows(chosen.stand_ins, chosen.held_out)
    model = LanguageModel("bundled:on_device").load()[0].float()
    start = count_next_tokens(model, held_out).summary()
    print(
        f"{len(rows)} rows of {chosen.stand_ins} stand-ins; public model {start['top_1']:.3%} {start['cross_entropy']:.4f}"
    )
    privacy, table = conf_base(Privacy, epsilon=chosen.epsilon, delta=1e-5), []
    for rounds, rate, clip_norm in itertools.product(chosen.rounds, chosen.learning_rates, chosen.clip_norms):
        noise = planned_multiplier(privacy, chosen.clients, rounds) / chosen.clients
        setting = {"rounds": rounds, "learning_rate": rate, "clip_norm": clip_norm}
        for name, scale in (("quiet", 0.0), ("noisy", noise)):
            weights = trained(
                padded(rows), client, conf_base(LocalTraining, learning_rate=rate), clip_norm, rounds, scale
            )
            found = count_next_tokens(load_weights(model, weights), held_out).summary()
            setting[name] = [found["top_1"], found["cross_entropy"]]
        table.append(setting)
        print(json.dumps(setting), flush=True)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"start": start, "grid": table}, indent=2) + "\n")


if __name__ == "__main__":
    main()
