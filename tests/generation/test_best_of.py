"""Best-of-n by the bundled generator, which writes docstrings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fedtext.generation.best_of import _opening, best_first, most_plausible, plausibility
from fedtext.generation.generators.endpoint import EndpointGenerator
from fedtext.generation.generators.local import LocalGenerator
from fedtext.models.encoder import Encoder, load_encoder
from fedtext.models.endpoint import Endpoint
from fedtext.models.language_model import Tokenizer
from fedtext.params.for_reading import ForReading
from fedtext.params.generation import Sampler
from tests.parameters import conf_base

GOOD = ["Return the number of bytes that were read from the file.", "Raise an error if the value is not a number."]
MIXED = ["file the of that bytes Return read number were from the.", "not an number Raise is value if error a the."]


@pytest.fixture(scope="module")
def generator() -> LocalGenerator:
    return LocalGenerator("bundled:generator")


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("offline")


def for_reading(texts: int) -> ForReading:
    return conf_base(ForReading, texts=texts, share=0.5, similarity=0.8)


def sampler(**changes: object) -> Sampler:
    given = {"temperature": 1.0, "repetition_penalty": 1.0, "prompt": "list", "description": "docstrings"}
    return conf_base(Sampler, {**given, "openings": [], **changes})


def table(texts: list[str], topics: list[str | None] | None = None, openings: list[str] | None = None) -> pd.DataFrame:
    none: list[str | None] = [None] * len(texts)
    topic = pd.Series(topics or none, dtype=object)
    return pd.DataFrame({"text": texts, "topic": topic, "opening": openings or [""] * len(texts)})


def test_sense_comes_before_nonsense(generator: LocalGenerator) -> None:
    rows = best_first(generator, table([MIXED[0], GOOD[0], MIXED[1], GOOD[1]]), sampler())

    assert set(rows[:2]) == {1, 3}


def test_a_kind_tells_apart_what_a_likelihood_alone_does_not(generator: LocalGenerator) -> None:
    texts, kind = table([*GOOD, *MIXED]), sampler()

    told, untold = plausibility(generator, texts, kind), plausibility(generator, texts, sampler(description=None))

    assert not np.allclose(told, untold)  # untold, the second part is zero
    assert untold == pytest.approx((untold - untold.mean()) / untold.std(), abs=1e-6)


def test_each_prompt_has_its_best_text_before_any_has_its_second(generator: LocalGenerator) -> None:
    texts = table([MIXED[0], GOOD[0], MIXED[1], GOOD[1]], topics=["files", "files", None, None])

    rows = best_first(generator, texts, sampler()).tolist()

    assert set(rows[:2]) == {1, 3}
    texts = table([GOOD[0], GOOD[1], MIXED[0], MIXED[1]], openings=["", "", "file", "not"])
    assert set(best_first(generator, texts, sampler()).tolist()[:3]) >= {2, 3}


def test_an_opening_that_was_given_does_not_count(generator: LocalGenerator) -> None:
    odd, others = "Zyx qwv kjh ", [GOOD[1], *MIXED]
    texts = [odd + GOOD[0], *others]

    given = plausibility(generator, table(texts, openings=[odd, "", "", ""]), sampler())
    written = plausibility(generator, table(texts), sampler())

    assert given[0] > max(given[2:])
    assert written[0] < given[0]


def test_nothing_behind_an_opening_comes_last(generator: LocalGenerator) -> None:
    scores = plausibility(generator, table(["Return", GOOD[0], MIXED[0]], openings=["Return", "", ""]), sampler())

    assert scores[0] == -np.inf
    assert np.isfinite(scores[1:]).all()


def test_what_makes_the_most_sense_is_read_first_of_the_texts_looked_at(
    generator: LocalGenerator, encoder: Encoder
) -> None:
    texts = pd.DataFrame({"text": [MIXED[0], GOOD[0], MIXED[1], GOOD[1], "Read me."], "label": "a"})

    found = most_plausible(generator, encoder, texts, sampler(), for_reading(4))

    assert dict(zip(found["text"], found["label"], strict=True)) == {GOOD[0]: "a", GOOD[1]: "a"}
    assert found["plausibility"].tolist() == [0.875, 0.625]


def test_a_text_that_says_what_a_more_plausible_one_says_is_left_out(
    generator: LocalGenerator, encoder: Encoder
) -> None:
    again = "Return the number of bytes which were read from the file."
    odd = "Zyx qwv kjh Mpt lro."
    texts = pd.DataFrame({"text": [again, GOOD[0], GOOD[1], odd], "label": None})

    three = for_reading(4).model_copy(update={"share": 0.75})
    found = most_plausible(generator, encoder, texts, sampler(), three)
    alike = most_plausible(generator, encoder, texts, sampler(), three.model_copy(update={"similarity": 1.0}))

    assert set(alike["text"]) == {GOOD[0], again, GOOD[1]}
    assert len({GOOD[0], again} & set(found["text"])) == 1
    assert {GOOD[1], odd} < set(found["text"]), "the next one takes its place"


def test_a_likely_opening_leaves_the_others_their_places(generator: LocalGenerator, encoder: Encoder) -> None:
    likely = [GOOD[0], "Return True if the file is closed.", "Return the name of the file."]
    texts = pd.DataFrame({"text": [*likely, "Zyx qwv kjh lro.", "Zyx qwv pfl mmbo."], "label": None})

    found = most_plausible(generator, encoder, texts, sampler(openings=["Return", "Zyx qwv"]), for_reading(5))
    unasked = most_plausible(generator, encoder, texts, sampler(), for_reading(5))

    assert set(unasked["text"]) == set(likely)
    assert found["text"].str.startswith("Zyx").sum() == 1, "as its share of the texts is"
    assert found["plausibility"].is_monotonic_decreasing


def test_a_likely_class_leaves_the_others_their_places(generator: LocalGenerator, encoder: Encoder) -> None:
    likely = [GOOD[0], "Return True if the file is closed.", "Return the name of the file."]
    texts = pd.DataFrame({"text": [*likely, "Zyx qwv kjh lro.", "Mpt trd pfl mmbo."], "label": [*"aaa", *"bb"]})

    found = most_plausible(generator, encoder, texts, sampler(), for_reading(5))

    assert found["label"].tolist().count("b") == 1


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("I went.", "I"),
        ("It is late.", ""),
        ("In May", "In May"),
        ("In Mayence", ""),
        ("How do I get it?", "How do I"),
        ("我的卡丢了。", "我的"),
        ("I", "I"),
        ("", ""),
    ],
)
def test_an_opening_is_whole_words(text: str, opening: str) -> None:
    assert _opening(text, ["I", "In May", "How do", "How do I", "我的"]) == opening


def test_texts_beside_a_server_stay_in_order_and_a_set_without_texts_is_empty(
    generator: LocalGenerator, encoder: Encoder
) -> None:
    texts = pd.DataFrame({"text": [MIXED[0], GOOD[1]], "label": [None, None]})
    server = EndpointGenerator(Endpoint("http://localhost:1/v1", "m"), Tokenizer("bundled:generator"))

    found = most_plausible(server, encoder, texts, sampler(), for_reading(9))

    assert found["text"].tolist() == [MIXED[0]]
    assert found["plausibility"].isna().all()
    assert most_plausible(generator, encoder, texts.head(0), sampler(), for_reading(9)).empty
