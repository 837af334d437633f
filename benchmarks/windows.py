"""What is lost where samples are cut to the on-device model's tokens, and what windows of several widths give.

    python -m benchmarks.windows [--chunk-tokenizer smollm2] FILE [FILE ...]

A file is CSV or Parquet with a column `text`; its first 500 samples of 64 tokens of the chunk tokenizer are read. A
data root's `03_primary/private_test_sample.parquet` holds samples already: name it with --samples. The tables of
docs/decisions/0041 are made so.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from fedtext.corpora.records import chunk_texts
from fedtext.evaluation.next_token import count_next_tokens
from fedtext.models.language_model import LanguageModel
from fedtext.training.windows import Windows

LENGTH, MIN_TOKENS, SAMPLES = 64, 8, 500
WIDTHS = (64, 256, 1023)


def samples_of(path: Path, chunk_tokenizer: str | None) -> list[str]:
    """Return the file's texts, cut into samples unless they are samples."""
    texts = (pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path))["text"].astype(str).tolist()
    if chunk_tokenizer is None:
        return texts
    chunks = chunk_texts(texts, LanguageModel(chunk_tokenizer).tokenizer(), length=LENGTH, min_tokens=MIN_TOKENS)
    found = [text[one.start : one.end] for text, own in zip(texts, chunks, strict=True) for one in own]
    return found[:SAMPLES]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--chunk-tokenizer", default="bundled:generator")
    parser.add_argument("--samples", action="store_true", help="the files hold samples, which are not cut")
    arguments = parser.parse_args()
    model, tokenizer = LanguageModel("bundled:on_device").load()
    for path in arguments.files:
        texts = samples_of(path, None if arguments.samples else arguments.chunk_tokenizer)
        tokens = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        rows = [[tokenizer.bos_token_id, *own] for own in tokens]
        own = np.array([len(one) for one in tokens])
        lost = 1 - np.minimum(own, LENGTH).sum() / own.sum()
        print(f"{path}: {len(texts)} samples, {np.mean(own > LENGTH):.1%} cut, {lost:.1%} of the tokens lost")
        read = {"cut": [row[: LENGTH + 1] for row in rows]}
        read |= {f"windows of {width}": Windows.of(rows, width).rows for width in WIDTHS}
        for name, parts in read.items():
            scored = count_next_tokens(model, parts, top=(1,)).summary()
            print(f"  {name}: top-1 accuracy {scored['top_1']:.2%}, {scored['cross_entropy']:.3f} nats a token")


if __name__ == "__main__":
    main()
