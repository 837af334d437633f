"""Good and bad texts of a class, and the prompts that show them: halves, distinct, whole, whatever is in a text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedtext.algorithms.wasp.prompts import QuotedPrompt, chosen_examples, round_prompt
from fedtext.algorithms.wasp.writing import gathered, no_texts, written_texts
from fedtext.generation.generators.endpoint import EndpointGenerator
from fedtext.models.endpoint import Endpoint
from fedtext.models.language_model import Tokenizer
from fedtext.params.generation import Sampler
from tests.algorithms.wasp.examples import table, wasp
from tests.openai_server import Served, serving
from tests.refusals import refuses

RNG = np.random.default_rng
FORM = QuotedPrompt("bank question", "about {label}")


def kinds(examples: pd.DataFrame, kind: str, label: str | None = None) -> list[str]:
    own = examples if label is None else examples[examples["label"] == label]
    return own.loc[own["kind"] == kind, "text"].tolist()


@given(seed=st.integers(0, 999), texts=st.integers(0, 30), shown=st.integers(2, 6))
def test_a_good_text_is_never_also_bad_and_none_is_empty(seed: int, texts: int, shown: int) -> None:
    candidates = table(texts, ("a", "b"))
    candidates.loc[RNG(seed).random(texts) < 0.2, "text"] = ""
    scores = RNG(seed).integers(0, 4, (2, texts)).astype(float)
    examples = chosen_examples(candidates, scores, wasp(labels="a b", shown=shown))
    assert not examples["text"].duplicated().any()
    assert (examples["text"] != "").all()
    for label in "ab":
        full = ((candidates["label"] == label) & (candidates["text"] != "")).sum()
        good, bad = kinds(examples, "good", label), kinds(examples, "bad", label)
        assert len(good) == min(shown, (full + 1) // 2)
        assert len(bad) == min(shown, full - len(good))


def test_they_are_the_highest_of_either_vote_ties_by_index_whoever_wrote_them() -> None:
    near, far = np.array([0.0, 5, 5, 1, 9, 0]), np.array([3.0, 7, 0, 3, 9, 3])
    examples = chosen_examples(table(6), np.stack([near, far]), wasp(shown=2))
    assert kinds(examples, "good") == ["text 4", "text 1"]
    assert kinds(examples, "bad") == ["text 0", "text 3"]


def shown_in(prompt: str, kind: str) -> list[str]:
    return [line.split(": ", 1)[1].strip('"') for line in prompt.splitlines() if line.startswith(f"A {kind} bank")]


@given(shown=st.integers(2, 8), seed=st.integers(0, 99))
def test_a_prompt_has_exact_halves_of_distinct_texts(shown: int, seed: int) -> None:
    good, bad = [f"good {i}" for i in range(shown)], [f"bad {i}" for i in range(shown)]
    examples = pd.DataFrame(
        {"kind": ["good"] * shown + ["bad"] * shown, "label": "a", "model": "m", "text": good + bad}
    )
    prompt = round_prompt(examples, "a", FORM, wasp(labels="a", shown=shown), RNG(seed))
    for own, kind, count in ((good, "good", -(-shown // 2)), (bad, "bad", shown // 2)):
        found = shown_in(prompt, kind)
        assert len(found) == len(set(found)) == count
        assert set(found) <= set(own)
    plain = round_prompt(examples, "a", FORM, wasp(labels="a", shown=shown, contrast=False), RNG(seed))
    assert all(text in plain for text in good)
    assert not any(text in plain for text in bad)


def test_each_request_ends_where_the_text_begins_and_names_the_class_in_words() -> None:
    assert FORM.request([], "card_arrival") == 'The bank question about card arrival is: "'
    assert FORM.request([]) == 'The bank question is: "'
    assert FORM.contrast(["x"], ["y"], "a").endswith('The new bank question about a is: "')
    assert QuotedPrompt("review", "in {label} mood", chat=True).request([], "glad") == (
        "Please write: The review in glad mood."
    )


@given(st.text(alphabet='{}"label\n %', max_size=30))
def test_braces_quotes_and_lines_of_a_text_survive(text: str) -> None:
    assert f'"{" ".join(text.split())}"\n' in FORM.contrast(["bad"], [text], "{label}")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('Where is my card?" Another', "Where is my card?"),
        ("Where is my card?\nThe new", "Where is my card?"),
        ('I said "no" to them." x', 'I said "no" to them.'),
        ('" nothing', ""),
        ("", ""),
    ],
)
def test_an_answer_is_cut_to_its_text(answer: str, text: str) -> None:
    assert FORM.cut(answer) == text


def test_without_bad_texts_good_ones_are_shown_alone_and_without_any_none() -> None:
    only_good = pd.DataFrame({"kind": ["good"], "label": ["a"], "model": ["m"], "text": ["only"]})
    assert "A bad" not in round_prompt(only_good, "a", FORM, wasp(labels="a b"), RNG(0))
    assert "only" in round_prompt(only_good, "a", FORM, wasp(labels="a b"), RNG(0))
    assert round_prompt(only_good, "b", FORM, wasp(labels="a b"), RNG(0)) == FORM.request([], "b")


class Echo:
    """A generator that says what it was asked, and which response it is."""

    identity = "echo"

    def write(self, requests: list[str], *, responses: int, **_: Any) -> list[list[str]]:
        return [[f"{len(request)} {r}" for r in range(responses)] for request in requests]

    def length_tokenizer(self) -> None:
        return None

    def own(self, sampler: Sampler) -> Sampler:
        return sampler


@given(wanted=st.lists(st.integers(0, 7), min_size=2, max_size=2), prompts=st.integers(1, 4))
def test_a_model_writes_as_many_of_each_class_as_it_is_told(wanted: list[int], prompts: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedtext.generation.few_shot.clean_samples", lambda texts, *_, **__: list(texts))
        parameters = wasp(labels="a b", prompts_per_class=prompts)
        empty = pd.DataFrame({"kind": [], "label": [], "model": [], "text": []})
        found = written_texts(Echo(), "m", np.array(wanted), empty, 1, parameters, 64)
    assert [(found["label"] == label).sum() for label in "ab"] == wanted
    assert found.columns.tolist() == ["text", "label", "model", "round", "prompt_id"]


def test_a_copy_of_an_earlier_text_of_its_class_is_no_text() -> None:
    new = table(4, ("a", "b")).assign(text=["x", "x", "x", "y"])
    first = gathered(no_texts(), [new])
    assert first["text"].tolist() == ["x", "x", "", "y"]
    assert gathered(first, [new.iloc[:1]])["text"].tolist() == ["x", "x", "", "y", ""]
    assert len(gathered(no_texts(), [no_texts()])) == 0


def test_models_that_all_write_nothing_are_refused_before_a_vote() -> None:
    with refuses("no-model-has-written"):
        gathered(no_texts(), [table(4, ("a", "b")).assign(text="")])
    assert gathered(table(2), [table(2).assign(text="")])["text"].tolist() == ["text 0", "text 1", "", ""]


def test_a_model_behind_an_endpoint_writes_as_any_other_and_a_broken_one_is_named() -> None:
    nothing = pd.DataFrame({"kind": [], "label": [], "model": [], "text": []})
    parameters = wasp(labels="a b", sampler={"legible_only": False, "min_p": 0.0})

    def asked(served: Served) -> pd.DataFrame:
        generator = EndpointGenerator(Endpoint(served.url, "tiny", attempts=1), Tokenizer("bundled:generator"))
        return written_texts(generator, "far", np.array([2, 3]), nothing, 1, parameters, 64)

    with serving(Served()) as served:
        found = asked(served)
        assert found["label"].value_counts().to_dict() == {"a": 2, "b": 3}
        assert (found["text"] != "").all()
        assert {body["prompt"] for _, body, _ in served.asked} == {f'The text about {label} is: "' for label in "ab"}
    broken = Served(faults=[(500, {})] * 9)
    with (
        serving(broken) as served,
        refuses("endpoint-answers-with-error"),
    ):
        asked(served)


def test_attributes_stand_behind_the_class_in_every_form_of_prompt() -> None:
    form = QuotedPrompt("business review", "with rating {label} star(s)", "for a business in the field of {attribute}")
    ending = 'business review with rating 5 star(s) for a business in the field of hotels & travel is: "'
    assert form.request([], "5", "hotels_&_travel") == f"The {ending}"
    for shown in (
        form.request(["good"], "5", "hotels_&_travel"),
        form.contrast(["bad"], ["good"], "5", "hotels_&_travel"),
    ):
        assert shown.endswith(f"\nThe new {ending}")
    assert form.request([], "5") == 'The business review with rating 5 star(s) is: "'


def test_texts_of_a_class_ask_for_each_attribute_in_turn_through_the_rounds() -> None:
    told = wasp(labels="a b", attributes="x y z", prompts_per_class=2)
    assert [told.attribute_of(number) for number in range(4)] == ["x", "y", "z", "x"]
    assert wasp(labels="a b").attribute_of(3) is None
