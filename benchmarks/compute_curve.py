"""What one release buys with more computing: POPri's texts by the minutes of two cores that wrote them.

    python -m benchmarks.compute_curve [--corpora docstrings bank] [--seeds 1] [--minutes 1 5 20 60]
                                       [--texts 350] [--out build/compute_curve]

One release may be computed on for ever at no further ε. From each seed's release the guided generator writes for the
most minutes, and so does the unguided one. The texts of fewer minutes are the first of them. `--texts` texts are chosen
from each pool by the release, and the on-device model is trained on them and on as many private samples. Minutes are of
two cores, as twice the processor seconds. What is there already is not computed again. `curve.svg` is of the
means of cross-entropy, which has less luck in it than accuracy.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from benchmarks.guidance import CORPORA, ROOT, Facts, Job, Pool, means, of_seeds
from fedtext.corpora.records import spread_samples
from fedtext.evaluation.fine_tuning import fine_tune_and_count

CORES, BATCH = 2, 2000  # texts that are kept together: what a killed run loses at most
PRIVATE = "private samples"
FORMS = ("public texts that match", "guided")


def written(job: Job, name: str, guided: bool, seconds: float) -> Pool:
    """Return what the generator writes in so many processor seconds, in parts that are kept as they are done."""
    words = job.words(pairs=True) if guided else None
    pool, part = None, 0
    while pool is None or pool.seconds < seconds:
        more = job.kept(
            f"{name}-{part}", lambda number=part: job.untrained(words, texts=BATCH, stage=f"{name} {number}")
        )
        pool, part = more if pool is None else pool + more, part + 1
    return pool


def first(pool: Pool, seconds: float) -> Pool:
    """Return the texts of the first so many seconds."""
    size = min(len(pool.table), round(len(pool.table) * seconds / pool.seconds))
    return Pool(pool.table[:size], pool.embeddings[:size], min(seconds, pool.seconds))


def measured(parameters: dict[str, Any], texts: int, minutes: Sequence[float]) -> Facts:
    """Return pool size, accuracy and cross-entropy of each form and time, as `form, minutes`."""
    with KedroSession.create(runtime_params=parameters) as session:
        catalog = session.load_context().catalog
        job = Job(catalog, Path(parameters["data_root"]) / "guidance", texts)
        private, test = catalog.load("private_train"), catalog.load("private_test")["text"].tolist()
        evaluation, on_device = catalog.load("params:evaluation"), catalog.load("on_device")
    sets = {PRIVATE: spread_samples(private, texts)["text"].tolist()}
    sizes = {PRIVATE: texts}
    for form, guided in zip(FORMS, (False, True), strict=True):
        whole = written(job, form.split()[0], guided, 60 * CORES * max(minutes))
        for time in minutes:
            pool = first(whole, 60 * CORES * time)
            name = f"{form}, {time:g}"
            sets[name], sizes[name] = job.chosen(pool), len(pool.table)
    counted = fine_tune_and_count(on_device, sets, test, evaluation, length=job.chunking.length, seed=job.popri.seed)
    found = {name: counts.summary() for name, (counts, _) in counted.items()}
    return {
        name: {"pool": sizes[name], "top_1": 100 * one["top_1"], "nats": one["cross_entropy"]}
        for name, one in found.items()
    }


Found = dict[str, list[Facts]]


def table(found: Found, minutes: Sequence[float]) -> Iterator[str]:
    """Yield the Markdown table of means over seeds."""
    yield "| corpus | texts | minutes | pool | nats a token | accuracy, % | of what is left, % |"
    yield "|---|---|---|---|---|---|---|"
    for corpus, seeds in found.items():
        mean_of = means(seeds)
        bar = mean_of[PRIVATE]["top_1"]
        for time in minutes:
            control = mean_of[f"{FORMS[0]}, {time:g}"]["top_1"]
            for form in FORMS:
                mean = mean_of[f"{form}, {time:g}"]
                share = f"{100 * (mean['top_1'] - control) / (bar - control):.0f}" if form != FORMS[0] else ""
                cells = f"{mean['pool']:,.0f} | {mean['nats']:.2f} | {mean['top_1']:.1f} | {share}"
                yield f"| {corpus} | {form} | {time:g} | {cells} |"
        yield f"| {corpus} | {PRIVATE} | | | {mean_of[PRIVATE]['nats']:.2f} | {bar:.1f} | |"


def picture(found: Found, minutes: Sequence[float], place: Path) -> None:
    """Draw cross-entropy over minutes, a panel a corpus and a line a form, with private samples as a level."""
    figure, panels = plt.subplots(1, len(found), figsize=(6.0 * len(found), 3.0), squeeze=False, layout="constrained")
    for panel, (corpus, seeds) in zip(panels[0], found.items(), strict=True):
        mean_of = means(seeds)
        for form, mark in zip(FORMS, "so", strict=True):
            panel.plot(minutes, [mean_of[f"{form}, {time:g}"]["nats"] for time in minutes], marker=mark, label=form)
        panel.axhline(mean_of[PRIVATE]["nats"], color="black", linestyle=":", label=PRIVATE)
        panel.set(title=corpus, xscale="log", xlabel="minutes of two cores", ylabel="cross-entropy, nats a token")
        panel.set_xticks(minutes, [f"{time:g}" for time in minutes])
        panel.minorticks_off()
        panel.legend()
    figure.savefig(place)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--minutes", type=float, nargs="+", default=[1, 5, 20, 60])
    parser.add_argument("--texts", type=int, default=350)
    parser.add_argument("--out", type=Path, default=ROOT / "build/compute_curve")
    chosen = parser.parse_args()
    bootstrap_project(ROOT)
    found: Found = {}
    for found in of_seeds(chosen, "curve.json", partial(measured, texts=chosen.texts, minutes=chosen.minutes)):
        print("\n".join(table(found, chosen.minutes)), flush=True)
    picture(found, chosen.minutes, chosen.out.resolve() / "curve.svg")


if __name__ == "__main__":
    main()
