"""The public steps of a round and of the final set: prompts, scores from the release, pairs, selection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.algorithms.popri.labels import label_index
from fedtext.algorithms.popri.scoring.by_name import single_release
from fedtext.embedding.blanks import written
from fedtext.generation import few_shot
from fedtext.generation.prompt_forms import prompt_form
from fedtext.params.popri import Popri
from fedtext.seeding import stream
from fedtext.system.missing import nullable
from fedtext.voting.choice import choose_pairs
from fedtext.voting.herding import herd


def draw_prompts(
    public: pd.DataFrame, pool: Int[np.ndarray, " pool"], popri: Popri, stage: str, count: int
) -> pd.DataFrame:
    """Algorithm 1 line 10: `count` prompts, each three distinct public samples drawn from `pool`, classes in turn.

    Where the generator wrote the public samples itself, from a description, they are not shown to it again.
    """
    return few_shot.draw_prompts(
        public,
        pool,
        count=count,
        classes=popri.classes,
        form=prompt_form(popri.sampler),
        rng=stream(popri.seed, "prompts", stage),
        examples=popri.sampler.examples,
    )


def score_by_release(
    texts: Sequence[str],
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    released: Float[np.ndarray, "class feature"],
    popri: Popri,
) -> Float[np.ndarray, " candidate"]:
    """Score candidates from the one release, class by class: the witness function, or the plain inner product.

    Empty candidates count in no mean and score zero, which nobody reads.
    """
    scoring, full = single_release(popri), written(candidate_embeddings)
    phi = scoring.features(scoring.seen(texts, candidate_embeddings, popri), popri)
    scores = np.zeros(len(phi))
    for c, mean in enumerate(released):
        own = (candidate_label == c) & full
        if own.any():
            scores[own] = scoring.scores(phi[own], mean)
    return scores


def preference_pairs(
    prompts: pd.DataFrame, candidates: pd.DataFrame, scores: Float[np.ndarray, " candidate"], popri: Popri
) -> pd.DataFrame:
    """Algorithm 1 lines 21-26: per prompt the best response and the one of rank l; empty candidates are left out."""
    texts = candidates["text"].to_numpy()
    valid = texts != ""
    chosen, rejected = choose_pairs(scores, popri.responses, popri.rejected_rank, valid=valid)
    differ = texts[chosen] != texts[rejected]  # duplicates keep their own scores, but teach nothing about each other
    chosen, rejected = chosen[differ], rejected[differ]
    prompt = prompts.set_index("prompt_id")["prompt"].loc[candidates["prompt_id"].to_numpy()[chosen]].to_numpy()
    return pd.DataFrame(
        {
            "prompt": prompt,
            "chosen": texts[chosen],
            "rejected": texts[rejected],
            "chosen_score": scores[chosen],
            "rejected_score": scores[rejected],
        }
    )


def matched_pool(
    public_texts: Sequence[str],
    public_embeddings: Float[np.ndarray, "sample dim"],
    released: Float[np.ndarray, "class feature"],
    popri: Popri,
    size: int,
) -> Int[np.ndarray, " pool"]:
    """The `size` public samples whose mean features match the release best, all classes alike (kernel herding)."""
    scoring = single_release(popri)
    phi = scoring.features(scoring.seen(public_texts, public_embeddings, popri), popri)
    return herd(phi, released.mean(axis=0), min(size, len(public_embeddings)))


def final_selection(
    texts: pd.DataFrame,
    embeddings: Float[np.ndarray, "text dim"],
    released: Float[np.ndarray, "class feature"] | None,
    popri: Popri,
) -> Int[np.ndarray, " kept"]:
    """Rows of the final texts that become the synthetic data, never an empty one.

    With `oversample` they are those that, class by class, match the release best.
    """
    valid = (texts["text"] != "").to_numpy()
    if released is None or popri.oversample == 1:
        return np.flatnonzero(valid)[: popri.synthetic_texts]
    label = label_index(nullable(texts["label"]), popri)
    scoring = single_release(popri)
    phi = scoring.features(scoring.seen(texts["text"].tolist(), embeddings, popri), popri)
    classes = len(released)
    kept = []
    for c in range(classes):
        own = np.flatnonzero(valid & (label == c))
        wanted = popri.synthetic_texts // classes + (c < popri.synthetic_texts % classes)
        kept.append(own[herd(phi[own], released[c], min(len(own), wanted))])
    return np.sort(np.concatenate(kept))
