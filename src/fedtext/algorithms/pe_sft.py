"""PE+SFT, POPri's second baseline (Hou et al., ICML 2025, section 3.2): fine-tuning on Private Evolution's best texts.

'One could directly finetune the LLM on the highest scoring samples using next-word-prediction loss.' All of it is
post-processing of Private Evolution's noisy histograms. Training examples have the form of the few-shot lists that the
generator is prompted with afterwards.
"""

from __future__ import annotations

import pandas as pd

from fedtext.generation.few_shot import prompts_by_class
from fedtext.generation.prompt_forms import LISTED, prompt_form
from fedtext.params.generation import prompts_for
from fedtext.params.pe_sft import PeSft
from fedtext.seeding import stream
from fedtext.system.missing import nullable


def best_samples(survivors: pd.DataFrame, pe_sft: PeSft) -> pd.DataFrame:
    """Select `pe_sft.samples` distinct survivors with the most votes in any round, classes alike.

    Votes of different rounds are on one scale: they come from the same units and have the same noise.

    Returns:
        Columns `text`, `label`, `votes`; the best of a class first.
    """
    everyone = survivors.sort_values("votes", ascending=False, kind="stable")
    distinct = everyone.drop_duplicates(["text", "label"], ignore_index=True)
    classes = declared_classes(distinct)
    kept = []
    for c, label in enumerate(classes):
        own = distinct if label is None else distinct[distinct["label"] == label]
        kept.append(own.head(pe_sft.samples // len(classes) + (c < pe_sft.samples % len(classes))))
    return pd.concat(kept, ignore_index=True)


def training_examples(best: pd.DataFrame, pe_sft: PeSft) -> pd.DataFrame:
    """Build `pe_sft.lists` prompts in the form of the final set's, each with the sample that should follow it.

    Six best samples of one class make one: five are shown, the sixth is the answer.

    Returns:
        Columns `prompt`, `text`.
    """
    form = prompt_form(pe_sft.sampler)
    rng = stream(pe_sft.seed, "lists")
    classes = declared_classes(best)
    texts = {c: (best if c is None else best[best["label"] == c])["text"].to_numpy() for c in classes}
    rows = []
    for k in range(pe_sft.lists):
        label = classes[k % len(classes)]
        own = texts[label]
        *shown, answer = own[rng.permutation(len(own))[:LISTED]].tolist()
        rows.append((form.request(shown, label), answer))
    return pd.DataFrame(rows, columns=["prompt", "text"])


def final_prompts(best: pd.DataFrame, public: pd.DataFrame, pe_sft: PeSft) -> pd.DataFrame:
    """Build the prompts of the final set, classes in turn: columns `prompt_id`, `prompt`, `label`."""
    classes = declared_classes(best)
    shown = [public.assign(label=label) for label in classes] if pe_sft.shots == "public" else [best]
    return prompts_by_class(
        pd.concat(shown),
        public,
        count=prompts_for(pe_sft.synthetic_texts, pe_sft.final_responses, classes=len(classes)),
        classes=classes,
        form=prompt_form(pe_sft.sampler),
        rng=stream(pe_sft.seed, "prompts", "final"),
    )


def declared_classes(table: pd.DataFrame) -> list[str | None]:
    """Return the classes of Private Evolution's survivors, in alphabetical order, or one class None."""
    return sorted({*nullable(table["label"])} - {None}) or [None]
