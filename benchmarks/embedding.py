"""Embedding of sample texts: batches by tokens, one core a batch, against sentence-transformers' own `encode`.

    python -m benchmarks.embedding [--texts 1000] [--repeats 3]

Chunks of 64 tokens of third-party docstrings. Both sides run the same encoder on the same texts, to the same vectors
(checked), and take turns, so that both meet the same load; the median of each counts. `encode` sorts by characters,
which in text with code says little about tokens, and spreads each matrix product over the cores. On a machine with one
core, or on a GPU, only the first of the two differences is left. Ours has one extra cost: padded lengths and full
batches, which make a vector independent of the batch composition to the bit (checked too, with half of the texts).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fedtext.corpora.public import public_records
from fedtext.corpora.records import sample_records
from fedtext.models.encoder import load_encoder
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Chunking, Corpus
from tests.parameters import conf_base

RESULT = Path("build/benchmarks/embedding.json")
TOLERANCE = {False: 1e-4, True: 1e-2}  # largest difference of an entry, in float32 and in bfloat16


def sides(texts: list[str]) -> dict[str, Callable[[], np.ndarray]]:
    """Return both ways to embed `texts`: sentence-transformers' own batch size, and as many tokens as ours."""
    encoder = load_encoder("offline")

    alike = encoder.batch_tokens // conf_base(Chunking).length

    def theirs(batch_size: int) -> Callable[[], np.ndarray]:
        return lambda: encoder.model.encode(texts, batch_size=batch_size, normalize_embeddings=True)

    return {
        "fedtext": lambda: encoder.encode(texts),
        f"encode, batches of {alike}": theirs(alike),
        "encode, batches of 32": theirs(32),
    }


def main() -> None:
    import torch

    from fedtext.system.hardware import compute_device, is_bfloat16_faster

    parser = argparse.ArgumentParser(description="Texts a second, embedded.")
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    os.environ["FEDTEXT_PROGRESS"] = "0"
    records = public_records(conf_base(Corpus), max_texts=options.texts)
    samples = sample_records(records, LanguageModel("bundled:generator").tokenizer(), conf_base(Chunking))
    texts = samples["text"].tolist()[: options.texts]
    both = sides(texts)
    tolerance = TOLERANCE[is_bfloat16_faster(compute_device())]
    taken: dict[str, list[float]] = {name: [] for name in both}
    expected = next(iter(both.values()))()
    for turn in range(options.repeats + 1):
        for name, run in both.items():
            began = time.perf_counter()
            vectors = run()
            if turn:  # the first is a warm-up
                taken[name].append(time.perf_counter() - began)
            assert np.abs(vectors - expected).max() < tolerance
    seconds = {name: statistics.median(times) for name, times in taken.items()}
    ours = seconds["fedtext"]
    assert np.array_equal(load_encoder("offline").encode(texts[::2]), expected[::2])
    print(f"{len(texts)} texts, {torch.get_num_threads()} threads, median of {options.repeats}")
    for name, took in seconds.items():
        print(f"{name:<28}{len(texts) / took:>8.1f} texts/s{took / ours:>8.2f}x our time")
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({**vars(options), "texts": len(texts), "seconds": seconds}, indent=2) + "\n")


if __name__ == "__main__":
    main()
