"""How far POPri's writer can come at all: texts of a generator that was fine-tuned on private text, without privacy.

    python -m benchmarks.writer_limits [--corpora docstrings bank] [--seeds 1] [--texts 350] [--pool 1200]
                                       [--private 1000] [--trainings 2] [--out build/writer_limits]

From one release, `--texts` texts are chosen out of pools of `--pool` texts (twice as many for "twice as many"):

- public: public texts that match the release;
- guided: the untrained generator, guided by the release;
- tuned on the chosen: the generator after one epoch of next-token training on the texts that were chosen from "guided",
  guided by what the release has beyond its own texts;
- guided, and tuned on the chosen: both pools together, beside "guided, twice as many";
- tuned on private text: the generator after one epoch on `--private` private samples, unguided. It protects nobody and
  is a yardstick. Corpora are declared public here.

The on-device model is trained `--trainings` times on each set, and on as many private samples. "Writer" is the
cross-entropy of 150 private samples behind the job's own prompts, in nats a token. What is there already is not
computed again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

from benchmarks.guidance import CORPORA, ROOT, Facts, Job, Pool, means, of_seeds
from fedtext.algorithms.popri import steps
from fedtext.algorithms.popri.scoring import single_release
from fedtext.corpora.records import spread_samples
from fedtext.embedding.words import word_excess
from fedtext.evaluation.fine_tuning import fine_tune_and_count
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import TrainableGenerator, WordWeights
from fedtext.params.training import CausalTraining
from fedtext.pipelines.popri import nodes
from fedtext.training.causal_lm import UNSCORED
from fedtext.training.client_gradients import as_unscored
from fedtext.training.preference_pairs import completion
from fedtext.training.supervised import NO_TOKEN, rows_behind_prompts, train_on_texts

TRAINING = CausalTraining(epochs=1.0, batch_size=8, learning_rate=3e-4, warmup_share=0.05, weight_decay=0.0)
SHOWN, HELD_OUT, PROBES, UNGUIDED = 24, 150, 6, 300
PRIVATE, PUBLIC = "private samples", "public"
GUIDED, TWICE = "guided", "guided, twice as many"
CHOSEN, BOTH, YARDSTICK = "tuned on the chosen", "guided, and tuned on the chosen", "tuned on private text"


class Writers(Job):
    """The writers of one seed's job, and what they write."""

    def begun(self, stage: str, texts: int, prompts: int) -> list[str]:
        """Return a prompt for each of so many texts, as the generator reads it; prompts are drawn for the stage."""
        drawn = steps.draw_prompts(self.public, self.prompt_pool, self.popri, stage, min(prompts, texts))
        own = drawn["prompt"].tolist()
        return self.generator.completion_prompts([own[number % len(own)] for number in range(texts)], self.framing)

    @property
    def framing(self) -> Any:
        """How a prompt is framed for the generator."""
        return prompt_form(self.popri.sampler).framing

    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return the texts as the generator ends them."""
        end = self.generator.ending(self.framing)
        return [completion(text, end, self.framing.lead) for text in texts]

    def trained_on(self, name: str, texts: Sequence[str]) -> Path:
        """Return the adapter after one epoch on the texts."""
        place = self.place / name
        if not place.exists():
            begun = self.begun(name, len(texts), SHOWN)
            lora = self.popri.preference.lora
            trained, _ = train_on_texts(
                self.generator, self.answers(texts), TRAINING, lora, seed=self.popri.seed, label=name, prompts=begun
            )
            trained.save_pretrained(place)
        return place

    def pool(self, name: str, adapter: Path, words: WordWeights | None, texts: int) -> Pool:
        """Return so many texts of the generator under the adapter."""
        return self.kept(f"pool of {name}", lambda: self.under(adapter, words, name, texts=texts))

    def words_beyond(self, pool: Pool) -> WordWeights:
        """Return the weights that the release gives against a pool's own texts."""
        scoring = single_release(self.popri)
        mean, written = scoring.of_words(self.released[0], self.popri), pool.table["text"]
        known = self.public["text"].tolist()
        return word_excess(mean, written[written != ""].tolist(), known, seed=scoring.word_seed(self.popri))

    def cross_entropy(self, adapter: Path, held_out: Sequence[str]) -> float:
        """Return the mean of texts behind the job's prompts, in nats a token."""
        writer: TrainableGenerator = self.generator.with_adapter(adapter)
        model, tokenizer = writer.load()
        rows = rows_behind_prompts(self.begun("probe", len(held_out), PROBES), self.answers(held_out), tokenizer)
        losses, scored = 0.0, 0
        with torch.inference_mode():
            for batch in np.array_split(rows, max(1, len(rows) // 25)):
                labels = torch.from_numpy(np.where(batch < 0, UNSCORED, batch))[:, 1:]
                shown = torch.from_numpy(np.where(batch == NO_TOKEN, 0, np.where(batch < 0, as_unscored(batch), batch)))
                real = torch.from_numpy((batch != NO_TOKEN).astype(np.int64))
                logits = model(input_ids=shown, attention_mask=real).logits[:, :-1].float()
                losses += float(torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="sum"))
                scored += int((labels != UNSCORED).sum())
        return losses / scored


def measured(parameters: dict[str, Any], texts: int, pool: int, private: int, trainings: int) -> Facts:
    """Return the size, the writer's cross-entropy, and what the on-device model learns, of every form of one seed."""
    with KedroSession.create(runtime_params=parameters) as session:
        catalog = session.load_context().catalog
        job = Writers(catalog, Path(parameters["data_root"]) / "writers", texts)
        samples, test = catalog.load("private_train"), catalog.load("private_test")["text"].tolist()
        evaluation, on_device = catalog.load("params:evaluation"), catalog.load("on_device")
    held_out = spread_samples(samples, HELD_OUT)["text"].tolist()
    others = samples[~samples["text"].isin(held_out)]

    job.place.mkdir(parents=True, exist_ok=True)
    nodes.start_adapter(job.generator, job.popri).save_pretrained(base := job.place / "untrained")
    guide = job.words(pairs=True)
    guided = job.pool(GUIDED, base, guide, pool)
    chosen = job.trained_on(CHOSEN, job.chosen(guided))
    own = job.pool(f"{CHOSEN}, unguided", chosen, None, UNGUIDED)
    again = job.pool(CHOSEN, chosen, job.words_beyond(own), pool)
    learned = job.trained_on(YARDSTICK, spread_samples(others, private)["text"].tolist())
    missing = max(pool - len(job.public), 8)
    pools = {
        PUBLIC: job.of_public(job.pool(PUBLIC, base, None, missing), pool),
        GUIDED: guided,
        TWICE: guided + job.pool("guided, more", base, guide, pool),
        CHOSEN: again,
        BOTH: guided + again,
        YARDSTICK: job.pool(YARDSTICK, learned, None, pool),
    }
    sets = {form: job.chosen(written) for form, written in pools.items()}
    sets[PRIVATE] = spread_samples(samples, texts)["text"].tolist()
    found: dict[str, list[dict[str, float]]] = {form: [] for form in sets}
    for training in range(trainings):
        seed = job.popri.seed + 1000 * training
        counted = fine_tune_and_count(on_device, sets, test, evaluation, length=job.chunking.length, seed=seed)
        for form, (counts, _) in counted.items():
            found[form].append(counts.summary())
    writers = {
        form: job.cross_entropy(writer, held_out)
        for form, writer in ((GUIDED, base), (CHOSEN, chosen), (YARDSTICK, learned))
    }
    return {
        form: {
            "pool": float(len(pools[form].table)) if form in pools else np.nan,
            "writer": writers.get(form, np.nan),
            "top_1": 100 * float(np.mean([one["top_1"] for one in each])),
            "nats": float(np.mean([one["cross_entropy"] for one in each])),
        }
        for form, each in found.items()
    }


def table(found: dict[str, list[Facts]]) -> Iterator[str]:
    """Yield the Markdown table of means over seeds."""
    yield "| corpus | texts | pool | writer, nats a token | accuracy, % | of what is left, % | nats a token |"
    yield "|---|---|---|---|---|---|---|"
    for corpus, seeds in found.items():
        of_form = means(seeds)
        control, bar = of_form[PUBLIC]["top_1"], of_form[PRIVATE]["top_1"]
        for form, mean in of_form.items():
            pool = f"{mean['pool']:,.0f}" if np.isfinite(mean["pool"]) else ""
            writer = f"{mean['writer']:.2f}" if np.isfinite(mean["writer"]) else ""
            share = f"{100 * (mean['top_1'] - control) / (bar - control):.0f}"
            yield f"| {corpus} | {form} | {pool} | {writer} | {mean['top_1']:.1f} | {share} | {mean['nats']:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--texts", type=int, default=350)
    parser.add_argument("--pool", type=int, default=1200)
    parser.add_argument("--private", type=int, default=1000)
    parser.add_argument("--trainings", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "build/writer_limits")
    chosen = parser.parse_args()
    bootstrap_project(ROOT)
    sizes = {name: getattr(chosen, name) for name in ("texts", "pool", "private", "trainings")}
    for found in of_seeds(chosen, "writers.json", partial(measured, **sizes)):
        print("\n".join(table(found)), flush=True)


if __name__ == "__main__":
    main()
