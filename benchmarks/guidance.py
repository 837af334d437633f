"""What choice, guidance by the release and preference training each add to POPri's texts, at equal processor time.

    python -m benchmarks.guidance [--corpora docstrings bank] [--seeds 1 2] [--texts 200] [--out build/guidance]

A seed has one release, and prompts and texts of its own. From each release, `--texts` texts are chosen in every form:

- public: public texts that match the release, out of a pool as large as the guided generator's;
- tuned: a round of POPri, nothing guided;
- tuned and guided: the candidates guided as well, from the first one on;
- guided: the generator without training writes for as many processor seconds as `tuned` took;
- with pairs: the release's pairs of words guide beside its words.

The on-device model is trained on each set, and on private samples. Seconds are this process's, without those of the
release, the public texts and the training of the on-device model. What is there already is not computed again; the
table is of the seeds that are there. The bank's questions are read from `$FEDTEXT_SHARED/data/banking77`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from fedtext.algorithms.popri import steps
from fedtext.algorithms.popri.scoring import single_release
from fedtext.corpora.records import spread_samples
from fedtext.embedding.words import word_excess
from fedtext.evaluation.fine_tuning import fine_tune_and_count
from fedtext.evaluation.intervals import mean_interval
from fedtext.models.generator import WordWeights
from fedtext.params.popri import Popri
from fedtext.pipelines.popri import nodes

ROOT = Path(__file__).parents[1]
KEDRO = Path(sys.executable).with_name("kedro")
SHARED = Path(os.environ.get("FEDTEXT_SHARED", ROOT.parent / "shared"))
CORPORA: dict[str, dict[str, Any]] = {
    "docstrings": {},
    "bank": {
        "corpus": {
            "source": "banking77",
            "path": str(SHARED / "data/banking77/train.csv"),
            "description": "questions that customers ask their bank",
            "declared_public": True,
        },
        "privacy": {"population": 10100},
    },
}
NEEDED = ("popri_released_mean", "popri_prompt_pool", "public_embeddings", "private_test")
PROMPTS, OVERSAMPLE = 12, 1.25  # of the tuned forms, at 8 texts a prompt: half of the main job's
OF_ONE_SEED = ("state", "releases.*", "05_model_input", "lock", "guidance", "guidance.json")
FORMS = ("tuned", "tuned and guided", "guided", "guided, with pairs")


@dataclass(frozen=True)
class Pool:
    """Written texts with their embeddings, and the processor seconds that they took."""

    table: pd.DataFrame
    embeddings: np.ndarray
    seconds: float

    def save(self, path: Path) -> None:
        """Write the pool to a directory."""
        path.mkdir(parents=True, exist_ok=True)
        np.save(path / "embeddings.npy", self.embeddings)
        self.table.to_parquet(path / "texts.parquet")
        (path / "seconds.json").write_text(json.dumps(self.seconds))

    @classmethod
    def load(cls, path: Path) -> Pool:
        """Read the pool that `save` wrote."""
        seconds = json.loads((path / "seconds.json").read_text())
        return cls(pd.read_parquet(path / "texts.parquet"), np.load(path / "embeddings.npy"), seconds)

    def __add__(self, other: Pool) -> Pool:
        return Pool(
            pd.concat([self.table, other.table], ignore_index=True),
            np.concatenate([self.embeddings, other.embeddings]),
            self.seconds + other.seconds,
        )


class Job:
    """The inputs of one seed's job, and POPri's steps on them."""

    def __init__(self, catalog: Any, place: Path, texts: int) -> None:
        self.generator, self.encoder = catalog.load("generator"), catalog.load("encoder")
        popri: Popri = catalog.load("params:popri")
        self.popri = popri.model_copy(update={"synthetic_texts": texts, "oversample": OVERSAMPLE})
        self.chunking = catalog.load("params:chunking")
        self.public, self.public_embeddings = catalog.load("public_samples"), catalog.load("public_embeddings")
        self.prompt_pool, self.released = catalog.load("popri_prompt_pool"), catalog.load("popri_released_mean")
        self.place = place

    def words(self, pairs: bool) -> WordWeights:
        """Return the weights that the release gives against the public texts."""
        scoring, texts = single_release(self.popri), self.public["text"].tolist()
        mean = scoring.of_words(self.released[0], self.popri)
        weights = word_excess(mean, texts, [], seed=scoring.word_seed(self.popri))
        return weights if pairs else replace(weights, after={})

    def write(self, adapter: Path, stage: str, count: int, words: WordWeights | None) -> tuple[pd.DataFrame, Pool]:
        """Return prompts of a stage, and the texts that the generator writes for them under an adapter."""
        began = time.process_time()
        prompts = steps.draw_prompts(self.public, self.prompt_pool, self.popri, stage, count)
        told = self.generator if words is None else self.generator.with_word_weights([words])
        texts = nodes.sampled_texts(told, adapter, prompts, stage, 8, self.popri, self.chunking)
        embeddings = nodes.embed_candidates(texts, self.encoder)
        return prompts, Pool(texts, embeddings, time.process_time() - began)

    def round(self, words: WordWeights | None) -> tuple[Path, Pool]:
        """Return the adapter that a round of preference training chose, and both adapters' candidates."""
        began, popri, state = time.process_time(), self.popri, nodes.start_state()
        before, after = self.place / "before", self.place / "after"
        nodes.start_adapter(self.generator, popri).save_pretrained(before)
        prompts, pool = self.write(before, "round 1", PROMPTS, words)
        scores = nodes.score_by_release(pool.table, pool.embeddings, self.released, popri)
        pairs = nodes.choose_preference_pairs(prompts, pool.table, scores, popri)
        nodes.train_policy(self.generator, before, pairs, state, popri)[0].save_pretrained(after)
        state = nodes.close_round(state, pool.table, pool.embeddings, scores, pairs, popri, self.released)
        prompts, closing = self.write(after, "round 2", PROMPTS, words)
        scores = nodes.score_by_release(closing.table, closing.embeddings, self.released, popri)
        state = nodes.close_round(state, closing.table, closing.embeddings, scores, pairs[:0], popri, self.released)
        chosen = (before, after)[nodes.choose_checkpoint(state, popri)["adapter"]]
        both = replace(pool + closing, seconds=time.process_time() - began)
        return chosen, both

    def tuned(self, candidates: WordWeights | None, final: WordWeights | None, count: int) -> Pool:
        """Return all texts of a round of POPri and of its final set."""
        adapter, pool = self.round(candidates)
        return pool + self.write(adapter, "final", count, final)[1]

    def untrained(
        self,
        words: WordWeights | None,
        seconds: float = np.inf,
        texts: int = sys.maxsize,
        stage: str = "untrained",
    ) -> Pool:
        """Return what the generator writes without training, for so long or until there are so many texts.

        Another `stage` draws other prompts and other texts.
        """
        untrained = self.place / "untrained"
        nodes.start_adapter(self.generator, self.popri).save_pretrained(untrained)
        return self.under(untrained, words, stage, seconds=seconds, texts=texts)

    def under(
        self,
        adapter: Path,
        words: WordWeights | None,
        stage: str,
        *,
        seconds: float = np.inf,
        texts: int = sys.maxsize,
    ) -> Pool:
        """Return what the generator writes under an adapter, for so long or until there are so many texts."""
        pool = self.write(adapter, f"{stage} 0", PROMPTS, words)[1]
        for batch in range(1, sys.maxsize):
            if pool.seconds >= seconds or len(pool.table) >= texts:
                return pool
            pool += self.write(adapter, f"{stage} {batch}", PROMPTS, words)[1]
        raise AssertionError

    def kept(self, name: str, make: Callable[[], Pool]) -> Pool:
        """Return the pool of that name, which is made where it is not there yet."""
        path = self.place / name
        if not (path / "seconds.json").is_file():
            make().save(path)
        return Pool.load(path)

    def of_public(self, more: Pool, texts: int) -> Pool:
        """Return as many texts without guidance: the public ones, and more from the same generator."""
        table = self.public[["text"]].assign(label=None)
        both = Pool(table, self.public_embeddings, 0.0) + more
        return Pool(both.table[:texts], both.embeddings[:texts], both.seconds)

    def chosen(self, pool: Pool) -> list[str]:
        """Return the texts that match the release best, as POPri chooses them; an exact copy once."""
        first = (~pool.table["text"].duplicated()).to_numpy()
        table = pool.table[first].reset_index(drop=True)
        kept = steps.final_selection(table, pool.embeddings[first], self.released, self.popri)
        return table["text"].iloc[kept].tolist()


def run_parameters(corpus: str, seed: int, out: Path) -> dict[str, Any]:
    """Return the parameters of a seed's run."""
    return {"data_root": str(out / f"{corpus}-{seed}"), "popri": {"seed": seed}, **CORPORA[corpus]}


def released(parameters: dict[str, Any], like: Path | None) -> None:
    """Make a seed's release; the public texts and the embeddings of an earlier seed serve again."""
    root = Path(parameters["data_root"])
    if like is not None and not root.exists():
        shutil.copytree(like, root, ignore=shutil.ignore_patterns(*OF_ONE_SEED))
    root.mkdir(parents=True, exist_ok=True)
    given = root / "parameters.json"
    given.write_text(json.dumps({"run": {"params": parameters}}))  # JSON is YAML
    asked = [KEDRO, "run", "--to-outputs", ",".join(NEEDED), "--config", given]
    environment = {**os.environ, "FEDTEXT_PROGRESS": "0", "FEDTEXT_STATE": str(root / "state")}
    subprocess.run(asked, cwd=ROOT, env=environment, check=True)


def measured(parameters: dict[str, Any], texts: int) -> dict[str, dict[str, float]]:
    """Return size, seconds, accuracy and cross-entropy of every form of one seed."""
    with KedroSession.create(runtime_params=parameters) as session:
        catalog = session.load_context().catalog
        job = Job(catalog, Path(parameters["data_root"]) / "guidance", texts)
        private, test = catalog.load("private_train"), catalog.load("private_test")["text"].tolist()
        evaluation, on_device = catalog.load("params:evaluation"), catalog.load("on_device")
    pools, facts = {}, {}
    for form, pool in written(job, prompts=int(texts * OVERSAMPLE / 8) + 1):
        print(f"{form}: {len(pool.table)} texts, {pool.seconds:.0f} s", flush=True)
        pools[form], facts[form] = job.chosen(pool), {"pool": len(pool.table), "seconds": pool.seconds}
    pools["private"] = spread_samples(private, texts)["text"].tolist()
    counted = fine_tune_and_count(on_device, pools, test, evaluation, length=job.chunking.length, seed=job.popri.seed)
    for form, (counts, _) in counted.items():
        found = counts.summary()
        facts.setdefault(form, {}).update(top_1=100 * found["top_1"], nats=found["cross_entropy"])
    return facts


def written(job: Job, prompts: int) -> Iterator[tuple[str, Pool]]:
    """Yield the pools of all forms, the control's last."""
    words, with_pairs = job.words(pairs=False), job.words(pairs=True)
    tuned = job.kept("tuned", lambda: job.tuned(None, None, prompts))
    yield "tuned", tuned
    guided = job.kept("guided", lambda: job.untrained(words, seconds=tuned.seconds))
    yield "guided", guided
    yield "guided, with pairs", job.kept("pairs", lambda: job.untrained(with_pairs, texts=len(guided.table)))
    yield "tuned and guided", job.kept("both", lambda: job.tuned(words, words, prompts))
    missing = max(len(guided.table) - len(job.public), 8)
    more = job.kept("more", lambda: job.untrained(None, texts=missing))
    yield "public", job.of_public(more, len(guided.table))


def table(found: dict[str, list[dict[str, dict[str, float]]]]) -> Iterator[str]:
    """Yield the Markdown table: means over seeds, and each seed's accuracy."""
    yield "| corpus | texts | of a pool of | seconds | accuracy, % | by seed | nats a token | of what is left, % |"
    yield "|---|---|---|---|---|---|---|---|"
    for corpus, seeds in found.items():
        of_form = means(seeds)
        bar, control = of_form["private"]["top_1"], of_form["public"]["top_1"]
        for form in ("public", *FORMS, "private"):
            mean = of_form[form]
            each = [seed[form]["top_1"] for seed in seeds]
            shown = f"{mean_interval(each).mean:.2f} | {', '.join(f'{value:.1f}' for value in each)}"
            share = f"{100 * (mean['top_1'] - control) / (bar - control):.0f}"
            sizes = f"{mean['pool']:,.0f} | {mean['seconds']:.0f}" if "pool" in mean else " | "
            yield f"| {corpus} | {form} | {sizes} | {shown} | {mean['nats']:.3f} | {share} |"


Facts = dict[str, dict[str, float]]


def means(seeds: Sequence[Facts]) -> Facts:
    """Return the mean over seeds of every fact of every form."""
    return {
        form: {fact: float(np.mean([seed[form][fact] for seed in seeds])) for fact in seeds[0][form]}
        for form in seeds[0]
    }


def of_seeds(
    chosen: argparse.Namespace, name: str, measure: Callable[[dict[str, Any]], Facts], *, reuse: bool = False
) -> Iterator[dict[str, list[Facts]]]:
    """Yield each corpus' facts by seed, after every run of `chosen`; those in a run's file `name` are not made again.

    With `reuse` the public texts of a corpus' first seed serve its others.
    """
    out, found = chosen.out.resolve(), defaultdict[str, list[Facts]](list)
    for seed in chosen.seeds:
        for corpus in chosen.corpora:
            parameters = run_parameters(corpus, seed, out)
            kept = Path(parameters["data_root"]) / name
            if not kept.is_file():
                other = reuse and seed != chosen.seeds[0]
                released(parameters, out / f"{corpus}-{chosen.seeds[0]}" if other else None)
                kept.write_text(json.dumps(measure(parameters), indent=1))
            found[corpus].append(json.loads(kept.read_text()))
            yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--out", type=Path, default=ROOT / "build/guidance")
    chosen = parser.parse_args()
    bootstrap_project(ROOT)
    for found in of_seeds(chosen, "guidance.json", partial(measured, texts=chosen.texts), reuse=True):
        print("\n".join(table(found)), flush=True)


if __name__ == "__main__":
    main()
