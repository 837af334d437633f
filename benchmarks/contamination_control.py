"""Check that the contamination tests detect a model that has read records, and not one that has not.

    python -m benchmarks.contamination_control SNAPSHOT --cutoff 2012-01-01

SNAPSHOT is a directory. The on-device model is trained on sampled texts from before the cutoff, a copy for every number
of epochs in --epochs; 0 leaves it as it ships.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from fedtext.evaluation.next_token import PADDING, padded, text_windows
from fedtext.largefedbench.newer import OLDER
from fedtext.models.language_model import LanguageModel
from fedtext.params.contamination import Contamination
from fedtext.params.training import CausalTraining
from fedtext.pipelines.contamination import nodes
from fedtext.training.causal_lm import train_causal_lm
from tests.parameters import conf_base

ON_DEVICE = LanguageModel("bundled:on_device")
LENGTH = 256  # tokens of a window of a text


def trained(texts: list[str], epochs: int, place: Path) -> LanguageModel:
    """Return the on-device model after `epochs` epochs on the texts, saved below `place`."""
    if not epochs:
        return ON_DEVICE
    model, tokenizer = ON_DEVICE.load()
    recipe = CausalTraining(epochs=float(epochs), batch_size=8, learning_rate=2e-3, warmup_share=0.05, weight_decay=0.0)
    rows = padded(text_windows(tokenizer, texts, LENGTH).rows)
    train_causal_lm(model, rows, recipe, seed=0, pad_token_id=PADDING, label=f"{epochs} epochs")
    model.save_pretrained(place / str(epochs))
    tokenizer.save_pretrained(place / str(epochs))
    return LanguageModel(str(place / str(epochs)))


def measured(model: LanguageModel, texts: pd.DataFrame, params: Contamination) -> dict[str, str]:
    """Return each test's difference with its interval, marked where it is detected."""
    counts = {"snapshot": "", "cutoff": "", "totals": {"newer": 0, "older": 0, "undated": 0}, "by_month": []}
    completions = nodes.complete_texts(texts, model, params)
    likelihoods = nodes.score_likelihoods(texts, model, params, ON_DEVICE)
    report, _ = nodes.report_contamination(counts, completions, likelihoods, model, params)
    return {
        name: f"{one['estimate']:+.3f} ({one['low']:+.3f} to {one['high']:+.3f})" + (" *" if one["detected"] else "")
        for name, one in report["tests"].items()
        if name != "reference"
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--cutoff", type=datetime.date.fromisoformat, required=True)
    parser.add_argument("--epochs", type=int, nargs="+", default=[0, 8])
    given = parser.parse_args()
    params = conf_base(Contamination, snapshot=str(given.snapshot.resolve()), cutoff=given.cutoff)
    _, _, texts = nodes.date_records(params, "")
    read = texts.loc[texts["side"] == OLDER, "text"].tolist()
    print(f"{len(read)} texts of each side; * stands out\n")
    with TemporaryDirectory() as place:
        for epochs in given.epochs:
            found = measured(trained(read, epochs, Path(place)), texts, params)
            if epochs == given.epochs[0]:
                print(f"| epochs | {' | '.join(found)} |\n|---:|{'---|' * len(found)}")
            print(f"| {epochs} | {' | '.join(found.values())} |", flush=True)


if __name__ == "__main__":
    main()
