"""Guidance by words: from a release to what each prompt favours, class by class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.popri.scoring.by_name import single_release
from fedtext.algorithms.popri.word_guidance import favoured_by, weighed_words
from fedtext.models.word_weights import WordWeights
from tests.algorithms.popri.examples import popri, unit_rows

WORDS = {"scoring": "witness_words", "word_buckets": 1024, "word_guidance": 1.0}
PLAIN, LABELLED = popri(**WORDS), popri(**WORDS, labels=["tea", "rum"])
WRITTEN = ["This is the cup", "This is the glass", "This is the pot", "This is the jug", ""] * 10


def released(texts: list[str], parameters: object = PLAIN) -> np.ndarray:
    scoring = single_release(parameters)
    phi = scoring.features(scoring.seen(texts, unit_rows(0, len(texts)), parameters), parameters)
    return np.asarray(phi.mean(axis=0))


def table(texts: list[str], label: list[str | None] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"text": texts, "label": label or [None] * len(texts)})


def test_the_release_s_words_come_first_and_the_written_ones_last() -> None:
    mean = released([text.replace("This is", "Fill") for text in WRITTEN if text])
    found = weighed_words(table(WRITTEN), ["Fill it", "Fill that", "Fill up"], mean[None], PLAIN)
    assert found["word"].iloc[0] == "fill"
    assert {"this", "is"} == set(found["word"].iloc[-2:])
    assert found["label"].isna().all()
    assert found.set_index("word").loc["fill", "first"] > found.set_index("word").loc["fill", "anywhere"]


def test_the_same_words_whatever_share_of_the_norm_they_have() -> None:
    for share in (0.2, 0.9):
        parameters = popri(**WORDS, word_share=share)
        mean = released([text.replace("This is", "Fill") for text in WRITTEN if text], parameters)
        known = ["Fill it", "Fill that", "Fill up"]
        found = weighed_words(table(WRITTEN), known, mean[None], parameters).set_index("word")["anywhere"]
        assert found["fill"] == pytest.approx(1.5)


def test_each_class_has_words_of_its_own() -> None:
    both = table(WRITTEN * 2, ["tea"] * len(WRITTEN) + ["rum"] * len(WRITTEN))
    means = np.stack(
        [released([text.replace("cup", name) for text in WRITTEN if text], LABELLED) for name in ("cup", "keg")]
    )
    found = weighed_words(both, ["keg one", "keg two", "keg six"], means, LABELLED)
    rum = found[found["label"] == "rum"].set_index("word")["anywhere"]
    tea = found[found["label"] == "tea"].set_index("word")["anywhere"]
    assert rum["keg"] > 0.5
    assert rum["cup"] < -0.5
    assert abs(tea.get("cup", 0.0)) < 0.1
    prompts = pd.DataFrame({"prompt": ["a", "b", "c"], "label": ["rum", "tea", "rum"]})
    first, second, third = favoured_by(prompts, found, LABELLED)
    assert first is third
    assert first.anywhere["keg"] == rum["keg"]
    assert second.anywhere.get("keg", 0.0) == tea.get("keg", 0.0)


def test_strength_multiplies_and_none_favours_nothing() -> None:
    words = pd.DataFrame({"word": ["fill"], "anywhere": [1.0], "first": [2.0], "label": [None]})
    prompts = pd.DataFrame({"prompt": ["a", "b"], "label": [None, None]})
    half = popri(**{**WORDS, "word_guidance": 0.5})
    assert favoured_by(prompts, words, half) == [WordWeights({"fill": 0.5}, {"fill": 1.0})] * 2
    assert favoured_by(prompts, words, popri(**{**WORDS, "word_guidance": 0.0})) == []


def test_a_class_of_which_nothing_was_written_has_no_weights() -> None:
    both = table(WRITTEN, ["tea"] * len(WRITTEN))
    found = weighed_words(both, [], np.stack([released(WRITTEN[:4], LABELLED)] * 2), LABELLED)
    prompts = pd.DataFrame({"prompt": ["a"], "label": ["rum"]})
    assert favoured_by(prompts, found, LABELLED) == [WordWeights()]
