"""How much of WASP's votes is left after the noise: real questions, real candidates, the real release mechanism.

    python -m benchmarks.wasp_noise --questions ../shared/data/banking77/train.csv

Ten intents of Banking77 (Casanueva et al., 2020) are the classes, and 100 or 1,000 of their questions the private
records. The models of conf/base write 1,200 candidates without an example, as in WASP's first round; these are kept in
build/benchmarks and written once. The records vote once, as in one of the paper's four votes (epsilon 4, delta 1e-5),
and WASP's own choice follows: eight good texts a class.

A good text's *percentile* says how many of its class's candidates are less like the questions that were held out; 50 is
chance. Likeness is the cosine to their mean embedding, or to the nearest of them. Seeds vary records and noise.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml
from scipy.stats import rankdata

from fedtext.algorithms.wasp import judging, plan
from fedtext.algorithms.wasp.prompts import COLUMNS, GOOD, chosen_examples
from fedtext.algorithms.wasp.writing import gathered, no_texts, written_texts
from fedtext.datasets.generators import NamedGeneratorDataset
from fedtext.embedding.nonempty import encode_nonempty
from fedtext.evaluation.intervals import mean_interval
from fedtext.federation.federation import Simulated
from fedtext.federation.private_samples import PrivateSamples
from fedtext.models.encoder import load_encoder
from fedtext.params.privacy import Privacy
from fedtext.params.wasp import Wasp
from fedtext.privacy.noise import new_noise_key
from fedtext.seeding import stream
from fedtext.voting.class_means import noised_class_means
from tests.parameters import conf_base

ROOT = Path(__file__).parents[1]
INTENTS = (
    "activate_my_card age_limit apple_pay_or_google_pay atm_support automatic_top_up "
    "balance_not_updated_after_bank_transfer balance_not_updated_after_cheque_or_cash_deposit beneficiary_not_allowed "
    "cancel_transfer card_about_to_expire"
)
RECORDS = (100, 1000)
LENGTH = 64  # tokens of a text at most
WASP = conf_base(
    Wasp, rounds=5, texts=6000, shown=8, votes_per_record=8, labels=INTENTS, noun="bank customer's question"
)
FORMS = {"published noise": ("top_q", "published"), "exact noise": ("top_q", "exact"), "no noise": ("none", "exact"),
         "one release (ours)": ("single_release", "exact"), "random": ("random", "exact")}  # fmt: skip


class World(NamedTuple):
    """Candidates with their embeddings, and the questions' embeddings with the class of each."""

    candidates: pd.DataFrame
    embeddings: np.ndarray
    questions: np.ndarray
    label: np.ndarray


def written_once(path: Path) -> pd.DataFrame:
    """Return the first round's texts, by all models of conf/base in equal parts."""
    if not path.exists():
        plms = yaml.safe_load((ROOT / "conf/base/globals.yml").read_text())["models"]["plms"]
        each = np.full(len(WASP.classes), WASP.texts_of_round(1) // len(plms) // len(WASP.classes))
        new = []
        for name in sorted(plms):
            generator = NamedGeneratorDataset(name=name, generators=plms).load()
            new.append(written_texts(generator, name, each, pd.DataFrame(columns=list(COLUMNS)), 1, WASP, LENGTH))
        path.parent.mkdir(parents=True, exist_ok=True)
        gathered(no_texts(), new).to_parquet(path)
    return pd.read_parquet(path)


def loaded(questions: Path, kept: Path) -> World:
    """Return candidates and questions with their embeddings."""
    table = pd.read_csv(questions)
    table = table[table["category"].isin(WASP.labels)]
    candidates, encoder = written_once(kept), load_encoder("offline")
    return World(
        candidates,
        encode_nonempty(encoder, candidates["text"].tolist(), label="candidates"),
        encoder.encode(table["text"].tolist()),
        np.array([WASP.labels.index(name) for name in table["category"]]),
    )


def scored(form: str, world: World, drawn: np.ndarray, seed: int) -> np.ndarray:
    """Return similar and dissimilar scores of the candidates by one variant, from the records `drawn`."""
    kind, calibration = FORMS[form]
    declared = conf_base(Privacy, epsilon=4.0, delta=1e-5, unit="record", aggregation="trusted", noise_seed=seed,
                         calibration=calibration)  # fmt: skip
    wasp = WASP.model_copy(update={"votes": kind})
    book = plan.planned_ledger(len(drawn), wasp, declared, models=3, embedding_dim=world.embeddings.shape[1])
    held = PrivateSamples(world.questions[drawn], drawn, world.label[drawn], drawn)
    asked = judging.candidates_of(world.embeddings, judging.label_index(world.candidates, wasp))
    if kind == "random":
        return judging.random_scores(len(asked.label), seed, wasp)
    if kind == "none":
        return judging.plain_votes(held, asked, wasp)
    key = new_noise_key(seed)
    if kind == "top_q":
        query = plan.votes_query(wasp, declared, len(drawn), 1)
        return judging.noised_votes(query, Simulated(held, key), asked, wasp, book)[0]
    query = plan.class_means_query(wasp, declared, len(drawn), world.embeddings.shape[1])
    means = noised_class_means(query, Simulated(held, key), wasp.labels, book)[0]
    return judging.scores_by_means(means, world.candidates, world.embeddings, wasp)


def percentiles(world: World, drawn: np.ndarray) -> pd.DataFrame:
    """Return for each non-empty candidate the percentage of its class that is less similar to held-out questions."""
    held_out = np.setdiff1d(np.arange(len(world.label)), drawn)
    place = judging.label_index(world.candidates, WASP)
    found = pd.DataFrame(index=world.candidates.index, columns=["mean", "nearest"], dtype=float)
    for c in range(len(WASP.labels)):
        own = np.flatnonzero((place == c) & (world.candidates["text"] != "").to_numpy())
        alike = world.embeddings[own] @ world.questions[held_out[world.label[held_out] == c]].T
        for measure, value in {"mean": alike.mean(axis=1), "nearest": alike.max(axis=1)}.items():
            found.loc[own, measure] = 100 * (rankdata(value) - 0.5) / len(own)
    return found


def judged(form: str, world: World, records: int, seed: int) -> dict[str, float]:
    """Return the quality of the good examples from one sample of records and noise, and the small model's share."""
    drawn = np.sort(stream(seed, "wasp noise", records).permutation(len(world.label))[:records])
    examples = chosen_examples(world.candidates, scored(form, world, drawn, seed), WASP)
    good = examples[examples["kind"] == GOOD]
    rows = world.candidates.reset_index().merge(good[["text", "label"]], on=["text", "label"])["index"]
    found = percentiles(world, drawn).loc[rows].mean()
    return {**found, "small": 100 * float((good["model"] == "small").mean())}


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--questions", type=Path, required=True)
    asked.add_argument("--seeds", type=int, default=20)
    asked.add_argument("--kept", type=Path, default=ROOT / "build/benchmarks/wasp_candidates.parquet")
    asked.add_argument("--out", type=Path, default=ROOT / "build/benchmarks/wasp_noise.json")
    given = asked.parse_args()
    world, rows = loaded(given.questions, given.kept), []
    print(f"{(world.candidates['text'] != '').sum():,} candidates, {len(world.label):,} questions, {given.seeds} seeds")
    print("| records | votes | percentile, by the mean | by the nearest | good texts of the small model, % |")
    print("|---|---|---|---|---|")
    for records in RECORDS:
        for form in FORMS:
            runs = pd.DataFrame([judged(form, world, records, seed) for seed in range(given.seeds)])
            cells = []
            for name in runs:
                middle, low, high, _ = mean_interval(runs[name].tolist())
                cells.append(f"{middle:.0f} ({low:.0f} to {high:.0f})")
            print("|", " | ".join([f"{records:,}", form, *cells]), "|", flush=True)
            rows.append({"records": records, "votes": form, **runs.mean().to_dict()})
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
