"""The effect of tokenising twice on POPri's next-token accuracy, on real text (docs/published_metric.md).

    python -m benchmarks.published_metric [--train 800] [--held-out 300]

For docstrings of the installed packages, and for paper abstracts where `$FEDTEXT_SHARED/data/abstracts` is (default
../shared): how many of the released code's labels are filler, how many pieces of real text its window of 64 tokens
holds, and the top-1 accuracy by either metric of the bundled on-device model, as it is and after training.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np

from fedtext.corpora.public import public_records
from fedtext.evaluation.fine_tuning import fine_tune_and_count
from fedtext.evaluation.scoring import doubly_tokenised, fine_tune_and_score_as_published
from fedtext.models.language_model import LanguageModel
from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Evaluation
from fedtext.params.training import TunedTraining
from tests.parameters import conf_base

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("FEDTEXT_SHARED", ROOT.parent / "shared"))
LENGTH = 64
TRAINING = conf_base(TunedTraining, learning_rates=[1e-3], epochs=2, held_out_share=0.0, batch_size=32)


def corpora(count: int) -> dict[str, list[str]]:
    """Return `count` texts of each available corpus, evenly spaced."""
    found = {"docstrings": public_records(conf_base(Corpus), max_texts=count)["text"].tolist()}
    abstracts = SHARED / "data" / "abstracts" / "scitldr_train.jsonl"
    if abstracts.exists():
        rows = [json.loads(line)["abstract"] for line in abstracts.read_text(encoding="utf-8").splitlines()]
        found["abstracts"] = [row if isinstance(row, str) else " ".join(row) for row in rows[:count]]
    return found


def window(on_device: LanguageModel, texts: list[str]) -> dict[str, float]:
    """Return the share of filler among the scored labels, and pieces of text in a full window."""
    tokenizer = on_device.tokenizer()
    labels = filler = 0
    pieces_in_window = []
    for text in texts:
        pieces = tokenizer.tokenize(text)
        lengths = [len(tokenizer(f" {piece}", add_special_tokens=False)["input_ids"]) for piece in pieces]
        whole = int(np.searchsorted(np.cumsum(lengths), LENGTH, side="right"))
        shown = len(doubly_tokenised(tokenizer, [text], LENGTH)[0])
        labels += shown
        filler += shown - min(whole, shown)
        if sum(lengths) >= LENGTH:
            pieces_in_window.append(whole)
    return {"filler": filler / labels, "pieces": float(np.mean(pieces_in_window))}


def accuracies(on_device: LanguageModel, train: list[str], held_out: list[str]) -> dict[str, float]:
    """Return top-1 accuracy by either metric, before and after training on `train`."""
    params, recipe = (
        conf_base(Evaluation, training=TRAINING, texts=len(train)),
        {"length": LENGTH, "seed": 0},
    )
    found = {}
    for when, texts in (("before", []), ("after", train)):
        counts, _ = fine_tune_and_count(on_device, {when: texts}, held_out, params, **recipe)[when]
        found[f"correct_{when}"] = counts.summary()["top_1"]
        published = fine_tune_and_score_as_published(on_device, texts, held_out, params, label=when, **recipe)
        found[f"published_{when}"] = published["published_top_1"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=800)
    parser.add_argument("--held-out", type=int, default=300)
    chosen = parser.parse_args()
    on_device = LanguageModel("bundled:on_device")
    print("| corpus | filler labels | pieces in 64 tokens | ours, before -> after | published, before -> after |")
    print("|---|---:|---:|---:|---:|")
    for name, texts in corpora(chosen.train + chosen.held_out).items():
        shown = window(on_device, texts)
        top = accuracies(on_device, texts[chosen.held_out :], texts[: chosen.held_out])
        print(
            f"| {name} | {shown['filler']:.1%} | {shown['pieces']:.1f} "
            f"| {top['correct_before']:.1%} -> {top['correct_after']:.1%} "
            f"| {top['published_before']:.1%} -> {top['published_after']:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
