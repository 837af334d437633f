"""POPri's public steps: prompts, scores from the release, preference pairs, loop state, final selection, word guidance.

Word guidance (ours): words that the generator writes follow the release, class by class. The generator multiplies the
probability of each possible next word by a power of the factor by which the word is too rare in texts without guidance
(`fedtext.embedding.words`): the public texts, which are there before the first candidate, or unguided candidates. The
release thus affects every word, not only the selection among texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from fedtext.algorithms.popri.scoring import SingleRelease, scoring_of, single_release
from fedtext.embedding.nonempty import nonempty_mask
from fedtext.embedding.words import word_excess
from fedtext.federation.private_samples import class_index, label_codes
from fedtext.generation import few_shot
from fedtext.generation.prompt_forms import prompt_form
from fedtext.models.generator import WordWeights
from fedtext.params.popri import Popri
from fedtext.seeding import stream
from fedtext.system.missing import nullable
from fedtext.voting.choice import choose_pairs
from fedtext.voting.selection import herd


def label_index(labels: Sequence[str | None], popri: Popri) -> Int[np.ndarray, " sample"]:
    """Return each label's position among the declared ones, -1 for others; all 0 when generation is unconditional."""
    return class_index(label_codes(labels), popri.labels)


def draw_prompts(
    public: pd.DataFrame, pool: Int[np.ndarray, " pool"], popri: Popri, stage: str, count: int
) -> pd.DataFrame:
    """Sample `count` prompts of distinct public samples from `pool`, classes in turn (Algorithm 1, line 10).

    Public samples that the generator wrote itself, from a description, are not shown to it again.
    """
    return few_shot.draw_prompts(
        public,
        pool,
        count=count,
        classes=popri.classes,
        form=prompt_form(popri.sampler),
        rng=stream(popri.seed, "prompts", stage),
        examples=popri.sampler.examples,
        shots=popri.sampler.shots,
    )


def score_by_release(
    texts: Sequence[str],
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    released: Float[np.ndarray, "class feature"],
    popri: Popri,
) -> Float[np.ndarray, " candidate"]:
    """Score candidates from the one release, class by class: the witness function, or the plain inner product.

    Empty candidates count in no mean; their score is zero and never used.
    """
    scoring, full = single_release(popri), nonempty_mask(candidate_embeddings)
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
    """Pair each prompt's best response with that of rank l, without empty candidates (Algorithm 1, lines 21-26)."""
    texts = candidates["text"].to_numpy()
    valid = texts != ""
    chosen, rejected = choose_pairs(scores, popri.responses, popri.rejected_rank, valid=valid)
    differ = texts[chosen] != texts[rejected]  # duplicates keep their own scores, but a pair of them is no preference
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


def paired_rows(
    candidates: pd.DataFrame, embeddings: Float[np.ndarray, "candidate dim"], pairs: pd.DataFrame
) -> tuple[list[int], list[int]]:
    """Return the rows of the chosen and of the rejected texts among the candidates that are not empty.

    Equal texts have equal embeddings, so the first of them stands for all.
    """
    written = candidates["text"].to_numpy()[nonempty_mask(embeddings)].tolist() if len(candidates) else []
    row = {text: number for number, text in reversed([*enumerate(written)])}
    return [row[text] for text in pairs["chosen"]], [row[text] for text in pairs["rejected"]]


def matched_pool(
    public_texts: Sequence[str],
    public_embeddings: Float[np.ndarray, "sample dim"],
    released: Float[np.ndarray, "class feature"],
    popri: Popri,
    size: int,
) -> Int[np.ndarray, " pool"]:
    """Select `size` public samples whose mean features match the release best, all classes alike (kernel herding)."""
    scoring = single_release(popri)
    phi = scoring.features(scoring.seen(public_texts, public_embeddings, popri), popri)
    return herd(phi, released.mean(axis=0), min(size, len(public_embeddings)))


def final_selection(
    texts: pd.DataFrame,
    embeddings: Float[np.ndarray, "text dim"],
    released: Float[np.ndarray, "class feature"] | None,
    popri: Popri,
) -> Int[np.ndarray, " kept"]:
    """Return the rows of the final texts that become the synthetic data, never an empty one.

    With `oversample` these are the texts that, class by class, match the release best.
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


def next_state(
    state: dict[str, Any],
    candidates: pd.DataFrame,
    candidate_embeddings: np.ndarray,
    scores: np.ndarray,
    released: np.ndarray | None,
    pairs: pd.DataFrame,
    popri: Popri,
) -> dict[str, Any]:
    """Return the state after a round: its number, the released scores so far, and statistics of the candidates.

    A round without candidates was skipped because the run had stopped early; it has no score.
    """
    full = nonempty_mask(candidate_embeddings)
    texts = candidates["text"].to_numpy()[full]
    label = label_index(nullable(candidates["label"]), popri)
    score = released_score(candidates["text"].tolist(), candidate_embeddings, label, scores, released, popri)
    history = [*state["released_scores"], score]
    return {
        "round": state["round"] + 1,
        "stopped": candidates.empty or stopped_early([s for s in history if s is not None], popri),
        "released_scores": history,
        "released_score": score,
        "pairs": len(pairs),
        "candidates": len(texts),
        "distinct_candidates": len(set(texts)),
        "score_gap": float((pairs["chosen_score"] - pairs["rejected_score"]).mean()) if len(pairs) else 0.0,
    }


def released_score(
    texts: Sequence[str],
    candidate_embeddings: Float[np.ndarray, "candidate dim"],
    candidate_label: Int[np.ndarray, " candidate"],
    scores: Float[np.ndarray, " candidate"],
    released: Float[np.ndarray, "class feature"] | None,
    popri: Popri,
) -> float | None:
    """Compute the quality of this round's candidates from released values alone; larger is better.

    It is None without any text, and with ballots, which rank within a round only (`EveryRound`).
    """
    scoring, full = scoring_of(popri), nonempty_mask(candidate_embeddings)
    if not full.any() or not isinstance(scoring, SingleRelease) or released is None:
        return None
    seen = scoring.seen(texts, candidate_embeddings, popri)
    return scoring.of_round(seen[full], candidate_label[full], scores[full], released, popri)


def stopped_early(history: Sequence[float], popri: Popri) -> bool:
    """Return whether the released score has not improved for `popri.patience` rounds."""
    if popri.patience is None or len(history) <= popri.patience:
        return False
    return max(history[-popri.patience :]) <= max(history[: -popri.patience])


def chosen_adapter(scored: Sequence[float | None], popri: Popri) -> int:
    """Return the adapter for the final set, by the released score of each one's candidates (0 is untrained).

    An unscored last adapter is taken if the last scored one is the best: scores were still rising.
    """
    last = len(scored) - 1
    if popri.checkpoint == "last":
        return last
    known = {a: s for a, s in enumerate(scored) if s is not None and np.isfinite(s)}
    if not known:
        return last
    best = max(known, key=lambda a: (known[a], a))
    return last if scored[last] is None and best == max(known) else best


def word_weights(
    written: pd.DataFrame, known: Sequence[str], released: Float[np.ndarray, "class feature"], popri: Popri
) -> pd.DataFrame:
    """Compute the log factor, in nats, for each word's frequency in texts like `written` to match the release.

    Args:
        written: Columns `text` and `label`; empty texts are ignored.
        known: Public texts, whose words may get a weight as well.
        released: Result of `fedtext.algorithms.popri.release.release_private_mean`.
        popri: Classes, and how words are hashed.

    Returns:
        Columns `word`, `previous`, `anywhere`, `first` and `label`; the largest gains first. With a `previous` word,
        `anywhere` is what the pair adds where the word stands behind it.
    """
    texts, scoring = written[written["text"] != ""], single_release(popri)
    label, seed = label_index(nullable(texts["label"]), popri), scoring.word_seed(popri)
    tables = []
    for c, mean in enumerate(released):
        own = texts["text"][label == c].tolist()
        weights = word_excess(scoring.of_words(mean, popri), own, known, seed=seed)
        words = pd.DataFrame({"anywhere": pd.Series(weights.anywhere), "first": pd.Series(weights.first)}, dtype=float)
        alone = words.fillna(0.0).rename_axis("word").reset_index().assign(previous=None)
        tables.append(pd.concat([alone, _pair_rows(weights)], ignore_index=True).assign(label=popri.classes[c]))
    table = pd.concat(tables, ignore_index=True)[["word", "previous", "anywhere", "first", "label"]]
    order = table.assign(pair=table["previous"].fillna("")).sort_values(
        ["anywhere", "word", "pair"], ascending=[False, True, True]
    )
    return table.loc[order.index].reset_index(drop=True)


def _pair_rows(weights: WordWeights) -> pd.DataFrame:
    rows = [(word, previous, nats, 0.0) for previous, words in weights.after.items() for word, nats in words.items()]
    return pd.DataFrame(rows, columns=["word", "previous", "anywhere", "first"])


def public_word_weights(
    public: pd.DataFrame, released: Float[np.ndarray, "class feature"], popri: Popri
) -> pd.DataFrame:
    """Compute `word_weights` against the public texts, so that they exist before the first candidate.

    A class is compared with the public texts of that class, and one that no public text has with all of them.
    """
    label = label_index(nullable(public["label"]), popri)
    known = [public[label == c] if (label == c).any() else public for c in range(len(popri.classes))]
    compared = [texts.assign(label=name) for texts, name in zip(known, popri.classes, strict=True)]
    return word_weights(pd.concat(compared, ignore_index=True), [], released, popri)


def prompt_word_weights(prompts: pd.DataFrame, words: pd.DataFrame, popri: Popri) -> list[WordWeights]:
    """Return the weights of each prompt: those of its class, times `popri.word_guidance` and `popri.pair_guidance`."""
    if popri.word_guidance == 0:
        return []
    labels = nullable(words["label"])
    by_class = {label: _weights(words[[one == label for one in labels]], popri) for label in dict.fromkeys(labels)}
    return [by_class.get(label, WordWeights()) for label in nullable(prompts["label"])]


def _weights(words: pd.DataFrame, popri: Popri) -> WordWeights:
    at_all: dict[str, float] = {}
    at_first: dict[str, float] = {}
    after: dict[str, dict[str, float]] = {}
    rows = zip(words["word"], nullable(words["previous"]), words["anywhere"], words["first"], strict=True)
    for word, previous, anywhere, first in rows:
        if previous is None:
            at_all[word], at_first[word] = popri.word_guidance * anywhere, popri.word_guidance * first
        elif popri.pair_guidance > 0:
            after.setdefault(previous, {})[word] = popri.pair_guidance * anywhere
    return WordWeights(at_all, at_first, after)
