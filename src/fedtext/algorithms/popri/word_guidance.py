"""Guidance by words (ours): the final texts' words follow the release, class by class.

The generator multiplies the probability of each word that it could write next by a power of how many times as often the
release wants it (`fedtext.embedding.word_excess`). So the release steers every word, not only the choice among texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from fedtext.algorithms.popri.labels import label_index
from fedtext.algorithms.popri.scoring.by_name import single_release
from fedtext.embedding.word_excess import word_excess
from fedtext.models.word_weights import WordWeights
from fedtext.params.popri import Popri
from fedtext.system.missing import nullable


def weighed_words(
    written: pd.DataFrame, known: Sequence[str], released: Float[np.ndarray, "class feature"], popri: Popri
) -> pd.DataFrame:
    """What each word is to gain, in nats, for texts like those `written` to have the released words.

    Args:
        written: Columns `text` and `label`; empty texts count for nothing.
        known: Public texts, whose words may be weighed as well.
        released: As `fedtext.algorithms.popri.release.release_private_mean` gives it.
        popri: Classes, and how words are hashed.

    Returns:
        Columns `word`, `anywhere`, `first` and `label`; most wanted words first.
    """
    texts, scoring = written[written["text"] != ""], single_release(popri)
    label, seed = label_index(nullable(texts["label"]), popri), scoring.word_seed(popri)
    tables = []
    for c, mean in enumerate(released):
        own = texts["text"][label == c].tolist()
        weights = word_excess(scoring.of_words(mean, popri), own, known, seed=seed)
        words = pd.DataFrame({"anywhere": pd.Series(weights.anywhere), "first": pd.Series(weights.first)}, dtype=float)
        tables.append(words.fillna(0.0).rename_axis("word").reset_index().assign(label=popri.classes[c]))
    table = pd.concat(tables, ignore_index=True)
    return table.sort_values(["anywhere", "word"], ascending=[False, True], ignore_index=True)


def favoured_by(prompts: pd.DataFrame, words: pd.DataFrame, popri: Popri) -> list[WordWeights]:
    """What each of the prompts favours: its class's words, `popri.word_guidance` times their weight."""
    if popri.word_guidance == 0:
        return []
    labels = nullable(words["label"])
    by_class = {
        label: _weights(words[[one == label for one in labels]], popri.word_guidance) for label in dict.fromkeys(labels)
    }
    return [by_class.get(label, WordWeights()) for label in nullable(prompts["label"])]


def _weights(words: pd.DataFrame, strength: float) -> WordWeights:
    anywhere, first = (
        {word: strength * nats for word, nats in zip(words["word"], words[place], strict=True)}
        for place in ("anywhere", "first")
    )
    return WordWeights(anywhere, first)
