"""From released scores to preference pairs: the best and the worst answer to each prompt (Algorithm 1, lines 13 to 18).

It is post-processing of released and public values without privacy cost, however many candidates there are.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from fedtext.algorithms.dpprefsyn.candidates import Candidates
from fedtext.algorithms.dpprefsyn.scorer import LengthRule, Scorer
from fedtext.params.dpprefsyn import Dpprefsyn, Gap
from fedtext.system.errors import InputError
from fedtext.voting.choice import choose_pairs

COLUMNS = ("prompt", "chosen", "rejected", "gap")


def answer_scores(public: Candidates, scorer: Scorer, params: Dpprefsyn) -> Float[np.ndarray, "prompt answer"]:
    """Score every answer among those to its prompt; 0 where there is no answer.

    `win_probability`: the mean probability of winning over the other answers, by the mixture, or by the head of the
    prompt's topic where heads have topics. `drawn_head`: theta_k . P'phi of one head sampled for each prompt (line 15).
    """
    prompts, answers, dim = public.embeddings.shape
    if params.score == "drawn_head" and scorer.topics is None:
        rewards = scorer.rewards(public.embeddings.reshape(-1, dim)).reshape(prompts, answers, -1)
        drawn = scorer.drawn_heads(prompts, params.seed)
        scores = np.take_along_axis(rewards, drawn[:, None, None], axis=2)[:, :, 0]
        return np.asarray(np.where(public.written, scores, 0.0))
    heads = None if scorer.topics is None else scorer.topic_heads(public.middles)
    return _win_probabilities(public, scorer, heads)


def chosen_pairs(
    candidates: pd.DataFrame, prompts: pd.DataFrame, public: Candidates, scorer: Scorer | LengthRule, params: Dpprefsyn
) -> pd.DataFrame:
    """Select the best and worst answer to each prompt whose gap is large enough.

    Args:
        candidates: `text` of the answers, those to one prompt in successive rows.
        prompts: `prompt` of each.
        public: The candidates' embeddings.
        scorer: The released scorer, or a baseline's.
        params: How answers are scored, and which gaps are large.

    Returns:
        Columns `prompt`, `chosen`, `rejected` and `gap`: the difference of the two scores.

    Raises:
        ValueError: no prompt has two different answers, or no gap is large enough.
    """
    texts = candidates["text"].to_numpy()
    if isinstance(scorer, LengthRule):
        scores = scorer.scores(texts.tolist())
    else:
        scores = answer_scores(public, scorer, params).reshape(-1)
    best, worst = choose_pairs(scores, params.answers, params.answers, public.written.reshape(-1))
    gaps = scores[best] - scores[worst]
    different = np.array([one.strip() != other.strip() for one, other in zip(texts[best], texts[worst], strict=True)])
    best, worst, gaps = (values[different.astype(bool)] for values in (best, worst, gaps))
    kept = large_gaps(gaps, params.gap)
    asked = prompts["prompt"].to_numpy()[best // params.answers]
    table = pd.DataFrame({"prompt": asked, "chosen": texts[best], "rejected": texts[worst], "gap": gaps})
    return table[kept].reset_index(drop=True)


def large_gaps(gaps: Float[np.ndarray, " pair"], rule: Gap) -> Bool[np.ndarray, " pair"]:
    """Return a mask of the gaps that are kept; a gap of zero is no preference.

    Raises:
        ValueError: no gap is kept.
    """
    least = rule.value if rule.rule == "absolute" else np.quantile(gaps, rule.value) if len(gaps) else 0.0
    kept = (gaps >= least) & (gaps > 0)
    if not kept.any():
        widest = (
            f"the widest of {len(gaps)} is {gaps.max():.3g}" if len(gaps) else "no prompt has two different answers"
        )
        raise InputError(
            f"no pair is {least:g} apart, {widest}: lower dpprefsyn.gap.value, or raise prompts, answers or "
            "temperature",
            code="no-pair-far-enough-apart",
            parameter="dpprefsyn.gap.value",
            value=least,
        )
    return np.asarray(kept)


def _win_probabilities(
    public: Candidates, scorer: Scorer, heads: Int[np.ndarray, " prompt"] | None
) -> Float[np.ndarray, "prompt answer"]:
    there, answers = public.written, public.embeddings.shape[1]
    wins = np.zeros(there.shape)
    for one, other in permutations(range(answers), 2):
        won = scorer.score(public.embeddings[:, one] - public.embeddings[:, other], heads)
        wins[:, one] += np.where(there[:, other], won, 0.0)
    others = np.maximum(there.sum(axis=1, keepdims=True) - 1, 1)
    return np.asarray(np.where(there, wins / others, 0.0))
