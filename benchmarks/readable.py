"""How texts for reading read: six kinds from one sentence, with and without openings, for a reader who knows neither.

    python -m benchmarks.readable write [--temperatures 0.7 1.0] [--texts 200] [--out build/readable]
    python -m benchmarks.readable delivered "bank questions=data/bank" ... [--texts 50] [--out build/readable]
    python -m benchmarks.readable count LABELS [LABELS ...] [--out build/readable]

`write` lets the default generator write `--texts` texts a kind and recipe, and keeps those that would be kept for
reading (`for_reading`). It shuffles them over kinds and recipes into `texts.jsonl` (`id`, `kind`, `text`), and says in
`key.json` which is which. What is there already is not written again; on a slow core a text takes a second.

`delivered` takes `--texts` of what each run of POPri, with the kind's openings, left for reading, and as many of its
synthetic texts that would have been kept: what people read, and what models learn from.

A reader adds `label` to each line: usable, near or no (docs/samples.md). `count` makes the tables; of several readers
it is the mean, and the share of texts on which they agree.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from fedtext.generation.best_of import most_plausible
from fedtext.generation.described import described_texts
from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.encoder import load_encoder
from fedtext.params.described import Described, Texts
from fedtext.params.for_reading import ForReading
from tests.parameters import conf_base

ROOT = Path(__file__).parents[1]
LABELS = ("usable", "near", "no")


class Kind(NamedTuple):
    """A kind of text, and how four of such texts may begin."""

    description: str
    openings: tuple[str, ...]


KINDS = {
    "messages to a support desk": Kind(
        "messages that customers write to the support desk of an online shop",
        ("I ordered", "My order", "I received", "I would like to return"),
    ),
    "bank questions": Kind("questions that customers ask their bank", ("How do I", "Why was", "My card", "Can I")),
    "nurses' notes": Kind(
        "notes that nurses write after a visit to a patient",
        ("Patient is", "The wound", "Blood pressure", "Visited Mrs"),
    ),
    "restaurant reviews": Kind("reviews of restaurants", ("We had", "The food", "I ordered", "The waiter")),
    "garden posts": Kind("posts in a forum about gardening", ("My tomatoes", "Does anyone", "I planted", "The leaves")),
    "abstracts": Kind(
        "abstracts of papers about machine learning", ("We propose", "We show", "In this paper", "Existing methods")
    ),
}


def recipes(temperatures: Sequence[float]) -> Iterator[tuple[str, bool, float]]:
    """Yield each recipe's name, whether it has openings, and its temperature."""
    for temperature in temperatures:
        yield f"sentence, {temperature:g}", False, temperature
        yield f"openings, {temperature:g}", True, temperature


def described(sampler: dict[str, object]) -> Texts:
    """Return how texts of a kind are asked for, in messages."""
    asked = {"prompt": "chat", "temperature": 1.0, "repetition_penalty": 1.2, "openings": []}
    return conf_base(Described, {"texts": {"sampler": asked | sampler}}).texts


def for_reading(kind: Kind, given: bool, temperature: float, count: int, seed: int) -> list[str]:
    """Return the texts of one kind and recipe that are kept for reading."""
    generator, encoder = LocalGenerator("smollm2"), load_encoder("offline")
    openings = list(kind.openings if given else ())
    texts = described({"description": kind.description, "temperature": temperature, "openings": openings})
    written = described_texts(generator, encoder, kind.description, [None], texts, count=count, seed=seed).assign(
        label=None
    )
    return list(most_plausible(generator, encoder, written, texts.sampler, conf_base(ForReading, texts=count))["text"])


def kept(place: Path, kind: Kind, given: bool, temperature: float, count: int, seed: int) -> list[str]:
    """Return the texts of one kind and recipe from their file, which is written if it is not there."""
    if not place.is_file():
        place.write_text(json.dumps(for_reading(kind, given, temperature, count, seed), ensure_ascii=False))
    texts: list[str] = json.loads(place.read_text())
    return texts


def write(temperatures: Sequence[float], count: int, out: Path) -> None:
    """Write what is read, and the key to it."""
    out.mkdir(parents=True, exist_ok=True)
    rows = [
        {"kind": name, "recipe": recipe, "text": text}
        for name, kind in KINDS.items()
        for number, (recipe, given, temperature) in enumerate(recipes(temperatures))
        for text in kept(out / f"{name}, {recipe}.json", kind, given, temperature, count, seed=number)
    ]
    shuffle(pd.DataFrame(rows), out)


def shuffle(texts: pd.DataFrame, out: Path) -> None:
    """Write the texts in an order that tells nothing, and the key beside them."""
    shuffled = texts.sample(frac=1, random_state=0).reset_index(drop=True)
    shuffled["id"] = shuffled.index
    shuffled[["id", "kind", "text"]].to_json(out / "texts.jsonl", orient="records", lines=True, force_ascii=False)
    (out / "key.json").write_text(json.dumps(shuffled["recipe"].tolist()))


def delivered(runs: Sequence[str], count: int, out: Path) -> None:
    """Take texts of what each run left for reading and of its most plausible synthetic texts, and the key to them."""
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for run in runs:
        kind, _, root = run.partition("=")
        of_run = Path(root) / "07_model_output/popri"
        for recipe, texts in {
            "for reading": pd.read_csv(of_run / "for_reading.csv")["text"],
            "synthetic": most_plausible_of(KINDS[kind], pd.read_parquet(of_run / "synthetic.parquet")),
        }.items():
            drawn = texts.sample(min(count, len(texts)), random_state=0)
            rows += [{"kind": kind, "recipe": recipe, "text": text} for text in drawn]
    shuffle(pd.DataFrame(rows), out)


def most_plausible_of(kind: Kind, synthetic: pd.DataFrame) -> pd.Series:
    """Return the texts that would be kept for reading of those that models learn from."""
    sampler = described({"description": kind.description, "openings": list(kind.openings)}).sampler
    generator, encoder = LocalGenerator("smollm2"), load_encoder("offline")
    return most_plausible(generator, encoder, synthetic, sampler, conf_base(ForReading))["text"]


def tables(labelled: Sequence[pd.DataFrame], key: Sequence[str]) -> Iterator[str]:
    """Yield the table by recipe, and by kind and recipe, in percent."""
    joined = pd.concat([one.assign(recipe=one["id"].map(dict(enumerate(key)))) for one in labelled])
    for groups in (["recipe"], ["kind", "recipe"]):
        yield f"| {' | '.join(groups)} | texts | {', %  | '.join(LABELS)}, % |"
        yield "|---" * (len(groups) + 1 + len(LABELS)) + "|"
        for names, own in joined.groupby(groups, sort=False):
            shares = [f"{100 * (own['label'] == label).mean():.0f}" for label in LABELS]
            yield f"| {' | '.join(names)} | {own['id'].nunique()} | {' | '.join(shares)} |"
        yield ""
    if len(labelled) > 1:
        agreed = joined.groupby("id")["label"].nunique().eq(1).mean()
        yield f"Readers agree on {100 * agreed:.0f}% of the texts."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build/readable")
    what = parser.add_subparsers(dest="what", required=True)
    writing = what.add_parser("write")
    writing.add_argument("--temperatures", type=float, nargs="+", default=[0.7, 1.0])
    writing.add_argument("--texts", type=int, default=200)
    left = what.add_parser("delivered")
    left.add_argument("runs", nargs="+", metavar="KIND=ROOT")
    left.add_argument("--texts", type=int, default=50)
    what.add_parser("count").add_argument("labels", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.what == "write":
        write(chosen.temperatures, chosen.texts, chosen.out)
        return
    if chosen.what == "delivered":
        delivered(chosen.runs, chosen.texts, chosen.out)
        return
    labelled = [pd.read_json(path, lines=True) for path in chosen.labels]
    strange = {label for one in labelled for label in one["label"]} - set(LABELS)
    if strange:
        raise SystemExit(f"labels are {', '.join(LABELS)}, and not {', '.join(map(str, strange))}")
    print("\n".join(tables(labelled, json.loads((chosen.out / "key.json").read_text()))))


if __name__ == "__main__":
    main()
