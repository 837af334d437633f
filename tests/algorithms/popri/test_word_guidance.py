"""Guidance by words: from a release to what each prompt favours, class by class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.algorithms.popri.scoring.by_name import single_release
from fedtext.algorithms.popri.word_guidance import favoured_by, weighed_words
from fedtext.generation.few_shot import sampled_texts
from fedtext.generation.local_generator import LocalGenerator
from fedtext.generation.prompts import heading, sample_list
from fedtext.models.word_weights import WordWeights
from fedtext.params.generation import Sampler
from tests.algorithms.popri.examples import popri, unit_rows
from tests.parameters import conf_base

WORDS = {"scoring": "witness_words", "word_buckets": 1024, "word_guidance": 1.0}
PLAIN, LABELLED = popri(**WORDS), popri(**WORDS, labels=["tea", "rum"])
WRITTEN = ["This is the cup", "This is the glass", "This is the pot", "This is the jug", ""] * 10


PROMPTS = [
    sample_list([f"{start} {what}." for what in ("a value", "the number of items", "some text")], None, None)
    + heading(4)
    for start in ("Make", "This is", "Get", "The class of")
]


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


@pytest.mark.slow
def test_a_language_model_that_is_guided_writes_words_as_often_as_the_release_wants_them() -> None:
    """The bundled generator, twice the same prompts and seeds: its words come nearer, and its texts stay legible."""
    private = [text for word in ("path", "file", "list", "name", "error") for text in (
        f"Return the {word} of the object.", f"If the {word} is not given, raise ValueError.")] * 5  # fmt: skip
    mean = released(private)
    prompts = pd.DataFrame({"prompt_id": range(len(PROMPTS)), "prompt": PROMPTS, "label": None})
    generator = LocalGenerator("bundled:generator")
    sampler = conf_base(Sampler, max_new_tokens=24, prompt="list")

    def written(by: LocalGenerator, seed: int) -> list[str]:
        texts = sampled_texts(by, prompts, responses=12, sampler=sampler, length=24, seed=seed, label="texts")
        return [text for text in texts["text"] if text]

    words = weighed_words(table(written(generator, 1)), private, mean[None], PLAIN)
    plain, guided = written(generator, 2), written(generator.favouring(favoured_by(prompts, words, PLAIN)), 2)
    target = single_release(PLAIN).of_words(mean, PLAIN)
    far, near = (
        np.sum((single_release(PLAIN).of_words(released(texts), PLAIN) - target) ** 2) for texts in (plain, guided)
    )
    assert near < 0.8 * far
    assert len(guided) > 0.8 * len(plain)
    begun = [np.mean([text.startswith(("Return", "If")) for text in texts]) for texts in (plain, guided)]
    assert begun[1] > begun[0] + 0.1
