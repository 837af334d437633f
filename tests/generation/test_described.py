"""Public text from a sentence, by a real HTTP server and the offline encoder.

Topics as small models and servers list them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from fedtext.generation.described import described_texts, named_topics, proposed_topics, topics_framing, topics_request
from fedtext.generation.generators.endpoint import EndpointGenerator
from fedtext.generation.generators.local import LocalGenerator
from fedtext.generation.likelihood import mean_log_likelihoods
from fedtext.generation.prompt_forms import Chat
from fedtext.models.encoder import Encoder, load_encoder
from fedtext.models.endpoint import Endpoint, _described
from fedtext.models.language_model import Tokenizer
from fedtext.params.described import Texts, Topics
from tests.openai_server import Served, serving
from tests.parameters import conf_base
from tests.refusals import refuses

KIND = "questions that customers ask their bank"
QUESTIONS = ["How do I send money abroad?", "Is there a fee for cash?", "My card was stolen, what now?"]


class Says(Served):
    """Answers every request with these texts in turn."""

    answers: list[str]

    def answer(self, route: str, body: dict[str, Any], key: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        status, headers, content = super().answer(route, body, key)
        for number, choice in enumerate(content["choices"]):
            said = self.answers[number % len(self.answers)]
            choice |= {"message": {**choice["message"], "content": said}} if "message" in choice else {"text": said}
        return status, headers, content


class SaysMore(Says):
    """Answers the first two requests, one of each topic, with one text, and later ones with others."""

    def answer(self, route: str, body: dict[str, Any], key: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        self.answers = [f'"{QUESTIONS[0]}"'] if len(self.asked) < 2 else [f'"{text}"' for text in QUESTIONS[1:]]
        return super().answer(route, body, key)


@pytest.fixture
def server() -> Iterator[Says]:
    _described.cache_clear()
    with serving(Says()) as served:
        assert isinstance(served, Says)
        yield served
    _described.cache_clear()


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder("offline")


def generator(served: Served) -> EndpointGenerator:
    return EndpointGenerator(Endpoint(served.url, "tiny"), Tokenizer("bundled:generator"))


def topics(served: Says, encoder: Encoder, **changes: Any) -> list[str]:
    return proposed_topics(generator(served), encoder, KIND, conf_base(Topics, lists=4, **changes), seed=1)


def texts(served: Says, encoder: Encoder, count: int = 6, **changes: Any) -> list[tuple[str, str]]:
    given = conf_base(Texts, {"oversample": 1.0, **changes})
    made = described_texts(generator(served), encoder, KIND, ["fees", "cards"], given, count=count, seed=1)
    return list(made[["text", "topic"]].itertuples(index=False, name=None))


def test_topics_that_say_what_an_earlier_one_said_are_left_out(server: Says, encoder: Encoder) -> None:
    server.answers = ["1. Loans\n2. Lost cards\n3. ", "1. a loan\n2. Loans\n3. Cash abroad\n4. "]
    assert topics(server, encoder) == ["Loans", "Lost cards", "Cash abroad"]
    assert topics(server, encoder, count=2) == ["Loans", "Lost cards"]
    assert "a loan" in topics(server, encoder, similarity=1.0)


def test_a_generator_that_names_no_topic_is_refused(server: Says, encoder: Encoder) -> None:
    server.answers = ["1.\n2.\n3."]
    with refuses("no-topics-named", parameter="corpus.description", value=KIND):
        topics(server, encoder)


def test_topics_take_turns_and_copies_empty_texts_and_talk_go(
    server: Says, encoder: Encoder, caplog: pytest.LogCaptureFixture
) -> None:
    near = "How do I send money abroad please?"
    talk = "Here are the questions that you asked for"
    server.answers = [f'Here is one:\n\n"{QUESTIONS[0]}"', f'"{near}"', '""', f'"{talk}"', f'"{QUESTIONS[1]}"']
    caplog.set_level(logging.INFO, "fedtext.generation.described")
    assert texts(server, encoder, count=10) == [(QUESTIONS[0], "fees"), (QUESTIONS[1], "fees")]
    said = caplog.messages[-1]
    assert "20 public texts written, 8 unusable, 10 near-duplicates left out" in said
    assert "goes on with 2 public texts in place of corpus.public_texts 10" in said
    with_near = texts(server, encoder, count=10, similarity=0.99)
    assert (near, "fees") in with_near


def test_what_near_copies_left_missing_is_written_in_a_second_go(
    encoder: Encoder, caplog: pytest.LogCaptureFixture
) -> None:
    _described.cache_clear()
    with serving(SaysMore()) as served:
        caplog.set_level(logging.INFO, "fedtext.generation.described")
        assert [text for text, _ in texts(served, encoder, count=3)] == QUESTIONS
        assert [body.get("n", 1) for _, body, _ in served.asked] == [2, 2, 2, 2], "no more than in the first go"
        assert [record.levelname for record in caplog.records if "public texts written" in record.message] == ["INFO"]


def test_topics_are_asked_about_in_the_words_of_the_chat_form(server: Says, encoder: Encoder) -> None:
    server.answers = [f'"{text}"' for text in QUESTIONS]
    made = texts(server, encoder, count=6)
    assert [text for text, _ in made] == QUESTIONS
    form = Chat(KIND)
    asked = {body["messages"][-1]["content"] for _, body, _ in server.asked}
    assert asked == {form.framing.message(form.request([], topic=topic)) for topic in ("fees", "cards")}


def test_equal_seeds_give_equal_texts(encoder: Encoder) -> None:
    _described.cache_clear()
    with serving(Served()) as served:
        asked = {"count": 8, "seed": 3}
        given = conf_base(Texts, similarity=1.0, sampler={"legible_only": False})
        first, again = (described_texts(generator(served), encoder, KIND, ["a", "b"], given, **asked) for _ in range(2))
        other = described_texts(generator(served), encoder, KIND, ["a", "b"], given, count=8, seed=4)
    assert first.equals(again)
    assert not first.equals(other)
    assert len(first) == 8
    assert first["topic"].value_counts().to_dict() == {"a": 4, "b": 4}


def test_texts_begin_with_the_openings_in_turn(encoder: Encoder) -> None:
    """A real model: what it writes goes on from words that the user gave."""
    openings = ["My card", "How do I"]
    given = conf_base(Texts, similarity=1.0, sampler={"openings": openings, "max_new_tokens": 24})
    found = described_texts(LocalGenerator("smollm2"), encoder, KIND, [None], given, count=4, seed=0)
    assert {text.startswith(tuple(openings)) for text in found["text"]} == {True}
    assert len({text.startswith(openings[0]) for text in found["text"]}) == 2
    assert found["topic"].isna().all()


def test_a_server_is_told_how_a_text_begins(encoder: Encoder) -> None:
    _described.cache_clear()
    with serving(Served()) as served:
        given = conf_base(Texts, similarity=1.0, sampler={"openings": ["My card", "Why"], "legible_only": False})
        described_texts(generator(served), encoder, KIND, [None], given, count=2, seed=3)
        asked = [body["messages"][0]["content"] for _, body, _ in served.asked if "messages" in body]
    assert sorted({text.partition("Begin it with ")[2].partition(".")[0] for text in asked}) == ['"My card"', '"Why"']


def test_nothing_usable_is_said(server: Says, encoder: Encoder) -> None:
    server.answers = ['""']
    with refuses("nothing-of-description"):
        texts(server, encoder)


def test_first_texts_are_written_on_a_page_where_one_is_given(server: Says, encoder: Encoder) -> None:
    """No message: the server is asked to go on where the text stands, once for each topic."""
    server.answers = [f"{question}\nAgent: Let me see." for question in QUESTIONS]
    written = texts(server, encoder, 3, sampler={"prompt": "About {topic}.\nCustomer: {text}\nAgent:"})
    assert written == [(QUESTIONS[0], "fees"), (QUESTIONS[1], "fees")]
    assert {route for route, *_ in server.asked} == {"/v1/completions"}


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        (" Loans\n2. Lost cards\n3. Exchange ra", ["Loans", "Lost cards"]),  # goes on from our number; the end is cut
        ("Here are some topics:\n\n1. **Fees**: what a transfer costs\n2) Cash (abroad)\n- \"Top-ups\".\n* x", ["Fees", "Cash", "Top-ups"]),
        ("Mortgages", ["Mortgages"]),
        ("1. How to change fees?\n2. Other\n", ["How to change fees?"]),
        ("1. a topic that goes on and on until nobody knows any more\n2. Cards\n3. End", ["Cards"]),
        ("1. What?\n2. Tax\n3. End", ["Tax"]),
        ("1.\n2. 12\n3. --\n", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_list_holds_its_topics(text: str, topics: list[str]) -> None:
    assert named_topics([text]) == topics


def test_what_most_lists_name_comes_first_in_its_first_spelling() -> None:
    lists = ["Cash\nLoans\nfees\nLoans\nend", "Fees\nLOANS\nend", "cards\nfees\nend"]
    assert named_topics(lists) == ["fees", "Loans", "Cash", "cards"]


def test_a_request_says_what_the_texts_are() -> None:
    framing = topics_framing("letters to a bank")
    assert "letters to a bank" in topics_request("letters to a bank")
    assert framing.chat
    assert framing.opening.endswith("1.")
    assert framing.message(topics_request("letters")).endswith(framing.format_instruction)


def test_a_server_without_likelihoods_has_its_texts_kept_as_they_come(
    server: Says, encoder: Encoder, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [f'"{QUESTIONS[0]}"']
    with caplog.at_level(logging.INFO):
        made = texts(server, encoder, count=2, best_of=4)

    assert [text for text, _ in made] == [QUESTIONS[0]]
    assert len(server.asked) == 4  # two goes of two topics: no more are paid for than are kept
    assert "described.texts.best_of 4" in caplog.text


def test_of_several_texts_the_most_plausible_are_kept(encoder: Encoder) -> None:
    local = LocalGenerator("bundled:generator")
    given = conf_base(
        Texts, oversample=1.0, sampler={"prompt": 'def {name}():\n    """{text}"""\n', "temperature": 1.5}
    )

    def written(best_of: int) -> list[str]:
        own = given.model_copy(update={"best_of": best_of})
        made = described_texts(local, encoder, "docstrings", ["files"], own, count=8, seed=1)
        return [str(text) for text in made["text"]]

    def likely(texts: list[str]) -> float:
        return float(mean_log_likelihoods(local, ['def files():\n    """'] * len(texts), texts).mean())

    assert likely(written(6)) > likely(written(1)) + 0.2
