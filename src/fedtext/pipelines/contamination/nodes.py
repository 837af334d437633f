"""Contamination nodes: which records are newer than a model, and two tests of whether it was trained on older ones."""

from typing import Any

import numpy as np
import pandas as pd

from fedtext.evaluation.contamination import (
    FEWEST,
    bootstrap_gap,
    continuations,
    log_likelihoods,
    longest_run,
    shared_ngrams,
    split_words,
)
from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.generator import Generator
from fedtext.models.language_model import LanguageModel
from fedtext.params.contamination import Contamination
from fedtext.reporting.contamination import render_contamination
from fedtext.system.refusal import RunRefusedError

RESAMPLES = 2000  # of the bootstrap: ends of a 95% interval that move by little from seed to seed


def date_records(contamination: Contamination, out_dir: str) -> tuple[pd.DataFrame, dict[str, Any], pd.DataFrame]:
    """Return the newer records, counts by month and source, and the texts that are tested."""
    from fedtext.largefedbench.newer import NEWER, OLDER, UNDATED, count_by_month, dated_records, draw_texts
    from fedtext.largefedbench.snapshot import snapshot_directory

    if contamination.snapshot is None or contamination.cutoff is None:
        raise RunRefusedError(
            "contamination needs a snapshot and the last day of the model's training data: kedro run --pipelines "
            "contamination --params contamination.snapshot=2025.1,contamination.cutoff=2024-06-30",
            code="contamination-not-told",
            parameter="contamination",
        )
    directory = snapshot_directory(contamination.snapshot, out_dir)
    records = dated_records(directory, contamination.config, contamination.cutoff)
    sides = records["side"].value_counts()
    counts = {
        "snapshot": directory.name,
        "cutoff": contamination.cutoff.isoformat(),
        "totals": {side: int(sides.get(side, 0)) for side in (NEWER, OLDER, UNDATED)},
        "by_month": count_by_month(records),
    }
    drawn = {"texts": contamination.texts, "words": 2 * contamination.words, "seed": contamination.seed}
    newer = records[records["side"] == NEWER].drop(columns=["side", "words"]).reset_index(drop=True)
    return newer, counts, draw_texts(directory, records, **drawn)


def complete_texts(contamination_texts: pd.DataFrame, model: Any, contamination: Contamination) -> pd.DataFrame:
    """Complete every text's second half with the model, and measure how much of the true half it has."""
    pairs = [split_words(text, contamination.words) for text in contamination_texts["text"]]
    written = continuations(
        _writer(model),
        [beginning for beginning, _ in pairs],
        words=contamination.words,
        batch_size=contamination.batch_size,
        seed=contamination.seed,
    )
    compared = [(text, true) for text, (_, true) in zip(written, pairs, strict=True)]
    return contamination_texts[["client_id", "side"]].assign(
        completion=written,
        longest_run=[float(longest_run(*pair)) for pair in compared],
        shared_ngrams=[shared_ngrams(*pair, contamination.ngram) for pair in compared],
    )


def _writer(model: Any) -> Generator:
    """Return the model as one that writes; the on-device model of the catalog only reads."""
    only_reads = isinstance(model, LanguageModel) and not isinstance(model, Generator)
    writer: Generator = LocalGenerator(model.source, model.adapter) if only_reads else model
    return writer


def score_likelihoods(
    contamination_texts: pd.DataFrame,
    model: Any,
    contamination: Contamination,
    reference: LanguageModel | None = None,
) -> pd.DataFrame:
    """Score every text's log-likelihood under the model, and under the reference and beyond it; a server gives none."""
    found = contamination_texts[["client_id", "side"]]
    texts = contamination_texts["text"].tolist()
    if not isinstance(model, LanguageModel):
        return found
    found = found.assign(log_likelihood=log_likelihoods(model, texts))
    if reference is None:
        return found
    found = found.assign(reference=log_likelihoods(reference, texts))
    return found.assign(beyond_reference=found["log_likelihood"] - found["reference"])


def report_contamination(
    contamination_counts: dict[str, Any],
    completions: pd.DataFrame,
    likelihoods: pd.DataFrame,
    model: Any,
    contamination: Contamination,
) -> tuple[dict[str, Any], str]:
    """Report the tests as JSON and as a page."""
    is_newer = (completions["side"] == "newer").to_numpy()
    each_side = int(min(is_newer.sum(), (~is_newer).sum()))
    written = completions[["longest_run", "shared_ngrams"]]
    measured = pd.concat([written, likelihoods.drop(columns=["client_id", "side"])], axis=1)
    tests = _tests(measured, is_newer, contamination) if each_side >= FEWEST else {}
    named = getattr(model, "identity", None) or model.source
    report = {**contamination_counts, "model": named, "texts": each_side, "tests": tests, "verdict": _verdict(tests)}
    return report, render_contamination(report)


def _tests(measured: pd.DataFrame, is_newer: np.ndarray, contamination: Contamination) -> dict[str, Any]:
    """Return the gap of every measure."""
    settings = {"resamples": RESAMPLES, "seed": contamination.seed}
    gaps = {name: bootstrap_gap(measured[name].to_numpy(np.float64), is_newer, **settings) for name in measured}
    return {str(name): gap.document() for name, gap in gaps.items()}


def _verdict(tests: dict[str, Any]) -> str:
    """Return the tests' joint verdict, in a sentence."""
    if not tests:
        return (
            f"Not tested: no source has {FEWEST} long enough records on both sides of the cutoff. Another cutoff or a "
            "larger snapshot would have them."
        )
    likelihood = "beyond_reference" if "beyond_reference" in tests else "log_likelihood"
    asked = [name for name in ("longest_run", "shared_ngrams", likelihood) if name in tests]
    if any(tests[name]["detected"] for name in asked):
        return "The model knows records from before the cutoff better than newer ones: it has probably read some."
    return "The tests find no sign that the model has read the records. That is no proof: they are cheap."
