"""Texts from a real HTTP server that speaks OpenAI's API, its faults, and what leaves this machine for it."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from fedtext.generation.cleaning import clean_samples
from fedtext.generation.few_shot import sampled_texts
from fedtext.generation.generators.endpoint import EndpointGenerator
from fedtext.generation.prompt_forms import SampleList
from fedtext.models import endpoint_retries
from fedtext.models.endpoint import KEY, Endpoint, EndpointError, _described
from fedtext.models.generator import Framing, Generator, TrainableGenerator
from fedtext.models.language_model import Tokenizer
from fedtext.params.generation import Sampler
from fedtext.system.finished_pieces import keeping_pieces
from fedtext.wiring.guard.side_effects import watched
from fedtext.wiring.guard.watch import Watch
from tests.openai_server import Served, serving, written
from tests.parameters import conf_base
from tests.refusals import refuses

SAMPLER = conf_base(Sampler, temperature=0.7, top_p=0.9, min_p=0.0, max_new_tokens=12)
PROMPTS = ["a list", "a value", "an error"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(endpoint_retries, "FIRST", 0.001)
    monkeypatch.delenv(KEY, raising=False)
    _described.cache_clear()
    yield
    _described.cache_clear()


def generator(served: Served, **endpoint: Any) -> EndpointGenerator:
    return EndpointGenerator(Endpoint(served.url, "tiny", **endpoint), Tokenizer("bundled:generator"))


def write(asked: EndpointGenerator, responses: int = 3, seed: int = 5, *, chat: bool = False) -> list[list[str]]:
    framing = (
        Framing(chat=True, opening='"', format_instruction="Quote it.", stops=('"',))
        if chat
        else Framing(stops=("End",))
    )
    return asked.write(PROMPTS, framing=framing, responses=responses, sampler=SAMPLER, seed=seed, label="texts")


def test_it_is_a_generator_that_cannot_be_trained() -> None:
    one = EndpointGenerator(Endpoint("http://localhost:1/v1", "m"), Tokenizer("bundled:generator"), 0.5)
    assert isinstance(one, Generator)
    assert not isinstance(one, TrainableGenerator)
    assert one.identity == "m at http://localhost:1/v1, temperature 0.5"


@pytest.mark.parametrize("chat", [False, True])
def test_texts_come_in_the_order_of_the_prompts_and_as_many_as_asked_for(chat: bool) -> None:
    with serving(Served()) as served:
        texts = write(generator(served), chat=chat)
        assert [len(row) for row in texts] == [3, 3, 3]
        by_prompt = {}
        for route, body, _ in served.asked:
            assert route == ("/v1/chat/completions" if chat else "/v1/completions")
            prompt = body["messages"][0]["content"] if chat else body["prompt"]
            by_prompt[prompt] = [written(prompt, body["seed"], i, 12) for i in range(3)]
            assert (body["temperature"], body["top_p"], body["max_tokens"], body["n"]) == (0.7, 0.9, 12, 3)
            assert body.get("stop") == (None if chat else ["End"])
        assert texts == [by_prompt[f"{prompt} Quote it." if chat else prompt] for prompt in PROMPTS]
        assert write(generator(served), chat=chat) == texts
        assert write(generator(served), seed=6, chat=chat) != texts


def test_top_k_is_asked_for_only_where_it_is_set_and_no_server_is_asked_to_ban_repeats() -> None:
    with serving(Served()) as served:
        for top_k in (None, 50):
            sampler = conf_base(Sampler, min_p=0.0, top_k=top_k)
            generator(served).write(["x"], framing=Framing(), responses=1, sampler=sampler, seed=0, label="texts")
        assert [body.get("top_k") for _, body, _ in served.asked] == [None, 50]
        banning = conf_base(Sampler, no_repeat_ngram=2)
        with refuses("server-allows-repeats", value=2):
            generator(served).write(["x"], framing=Framing(), responses=1, sampler=banning, seed=0, label="texts")
        assert len(served.asked) == 2


def test_min_p_is_asked_for_only_where_it_is_set() -> None:
    with serving(Served()) as served:
        write(generator(served))
        generator(served).write(
            ["x"], framing=Framing(), responses=1, sampler=conf_base(Sampler, min_p=0.1), seed=0, label="texts"
        )
        assert [body.get("min_p") for _, body, _ in served.asked] == [None, None, None, 0.1]


@pytest.mark.parametrize("server", [{"most": 1}, {"most": 2}, {"refuses_several": True}])
def test_a_server_that_gives_few_responses_is_asked_again_with_another_seed(server: dict[str, Any]) -> None:
    with serving(Served(**server)) as served:
        texts = write(generator(served))
        assert [len(set(row)) for row in texts] == [3, 3, 3]


def test_no_more_requests_are_under_way_than_allowed() -> None:
    with serving(Served(delay=0.05)) as served:
        write(generator(served, concurrency=1))
        assert served.busiest == 1
        write(generator(served, concurrency=3))
        assert served.busiest > 1


def test_a_busy_server_is_asked_again_when_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waited.append)
    faults = [(429, {"Retry-After": "7"}), (500, {}), (503, {"Retry-After": "100000"})]
    with serving(Served(faults=faults)) as served:
        assert len(write(generator(served, concurrency=1))) == 3
        assert len(served.asked) == 6
    pauses = [seconds for seconds in waited if seconds]  # the server's own are of 0 seconds
    assert pauses[0] == 7.0
    assert pauses[1] <= 0.01
    assert pauses[2] == endpoint_retries.LONGEST


def test_a_server_that_stays_busy_or_broken_is_an_error_after_all_attempts() -> None:
    with serving(Served(faults=[(500, {})] * 3)) as served:
        with refuses("endpoint-answers-with-error"):
            write(generator(served, concurrency=1, attempts=3))
        assert len(served.asked) == 3
    with (
        serving(Served(faults=[(429, {"Retry-After": "0"})] * 2)) as served,
        refuses("endpoint-busy"),
    ):
        write(generator(served, concurrency=1, attempts=2))


def test_a_slow_answer_says_what_was_waited_for() -> None:
    with (
        serving(Served(delay=1.0)) as served,
        refuses("endpoint-too-slow", value=0.1),
    ):
        write(generator(served, timeout=0.1, attempts=2, concurrency=1))


def test_a_server_that_drips_bytes_is_not_waited_for() -> None:
    """Each byte comes in time, the whole answer does not: it would take fifty seconds at least."""
    began = time.monotonic()
    with (
        serving(Served(drip=0.1)) as served,
        refuses("endpoint-too-slow", value=0.5),
    ):
        write(generator(served, timeout=0.5, attempts=2, concurrency=3))
    assert time.monotonic() - began < 25


def test_an_answer_that_comes_in_pieces_in_time_is_one_answer() -> None:
    with serving(Served(drip=0.0005)) as served:
        assert len(write(generator(served, timeout=20.0))) == 3


def test_a_server_without_completions_names_the_other_form() -> None:
    with serving(Served(routes=("/v1/chat/completions",))) as served:
        with refuses("request-unknown", parameter="generation.prompt"):
            write(generator(served))
        assert write(generator(served), chat=True)


def test_nobody_there_is_said_with_the_address() -> None:
    nobody = Endpoint("http://127.0.0.1:9/v1", "tiny", attempts=1)
    with refuses("endpoint-unreachable"):
        nobody.check()


def test_an_unknown_model_is_told_with_those_there_are() -> None:
    with serving(Served(models=("tiny", "large"))) as served:
        Endpoint(served.url, "large").check()
        with refuses("unknown-model"):
            Endpoint(served.url, "huge").check()


def test_the_key_comes_from_the_environment_and_shows_nowhere(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(Served(key="right-key-1234")) as served:
        with refuses("key-refused", parameter=KEY):
            Endpoint(served.url, "tiny").check()
        monkeypatch.setenv(KEY, "wrong-key-1234")
        with refuses("key-refused", parameter=KEY) as wrong:
            write(generator(served))
        assert "wrong-key-1234" not in str(wrong.value)
        monkeypatch.setenv("OWN_KEY", "right-key-1234")
        own = generator(served, api_key_env="OWN_KEY")
        own.endpoint.check()
        assert write(own)
        assert served.asked[-1][2] == "right-key-1234"
        shown = [repr(own), str(own.endpoint), own.identity, own.endpoint.identity, caplog.text, *capfd.readouterr()]
    assert not [text for text in shown if "key-1234" in text]


@pytest.mark.parametrize("before", [0, 280, 290, 299, 300])
def test_no_part_of_the_key_shows_where_a_server_quotes_it(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where its message is cut inside the key."""
    monkeypatch.setenv(KEY, "sk-SECRET-0123456789")
    said = Endpoint("http://h/v1", "m").message(openai.OpenAIError("x" * before + "sk-SECRET-0123456789 is bad"))
    assert said == ("x" * before + "*** is bad")[:300]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("endpoint:m", "not-an-endpoint"),
        ("endpoint:m@ftp://host/v1", "not-an-endpoint"),
        ("endpoint:m@http://user:secret@host/v1", "address-holds-a-key"),
        ("endpoint:m@http://:secret@host/v1", "address-holds-a-key"),
        ("endpoint:m@http://host/v1?key=secret", "address-holds-a-key"),
        ("endpoint:m@http://host/v1#key=secret", "address-holds-a-key"),
    ],
)
def test_a_source_that_names_no_endpoint_is_refused_without_showing_a_secret(source: str, code: str) -> None:
    with refuses(code) as refused:
        Endpoint.of(source)
    assert "secret" not in str(refused.value)


def test_a_model_s_name_may_hold_an_at_sign_and_colons() -> None:
    assert Endpoint.of("endpoint:owner/m:1b@v2@https://host:8000/v1/") == Endpoint(
        "https://host:8000/v1", "owner/m:1b@v2"
    )


def test_a_node_that_reads_private_data_cannot_ask_an_endpoint(tmp_path: Path) -> None:
    watch = Watch("node 'variations'", reads_private=True, may_read=False, data_root=tmp_path)
    with serving(Served()) as served:
        with (
            watched(watch),
            refuses("side-effect", value="node 'variations'"),
        ):
            write(generator(served))
        assert served.asked == []
        with watched(Watch("node 'variations'", reads_private=False, may_read=False, data_root=tmp_path)):
            assert write(generator(served))


def test_samples_of_a_chat_are_cut_and_measured_in_tokens_of_the_named_tokenizer() -> None:
    import pandas as pd

    prompts = pd.DataFrame({"prompt_id": [0, 1], "prompt": ["x", "y"], "label": [None, None]})
    with serving(Served()) as served:
        own = generator(served)
        texts = sampled_texts(
            own,
            prompts,
            responses=2,
            sampler=conf_base(Sampler, prompt="chat", legible_only=False),
            length=3,
            seed=0,
            label="texts",
        )
    assert len(texts) == 4
    tokenizer = own.length_tokenizer()
    assert all(0 < len(tokenizer(text, add_special_tokens=False)["input_ids"]) <= 3 for text in texts["text"])


@pytest.mark.parametrize("chat", [False, True])
def test_what_a_model_says_to_itself_is_no_part_of_a_text(chat: bool) -> None:
    with serving(Served()) as served:
        plain = write(generator(served), chat=chat)
    with serving(Served(form="<think>The user wants a list.</think>\n\n{}")) as served:
        assert write(generator(served), chat=chat) == plain


def test_a_model_that_only_reasons_is_named_with_the_remedy() -> None:
    with (
        serving(Served(form="<think>The user wants {}")) as served,
        refuses("endpoint-reasons-too-long", value=12),
    ):
        write(generator(served), chat=True)


PAGE = ("text/html", b"<html><body>Sign in to the network</body></html>")
CUT = ("application/json", b'{"id": "x", "choices": [{"index": 0, "message": {"role": "assist')
NOT_UTF8 = ("application/json", b'{"id": "\xff\xfe"}')
NULL = ("application/json", b"null")
NO_CHOICES = ("application/json", b'{"id": "x", "choices": null}')
EMPTY_CHOICE = ("application/json", b'{"id": "x", "choices": [{"index": 0}]}')
A_LIST = ("application/json", b"[1, 2]")
NESTED = ("application/json", b"[" * 100_000)
LONG_NUMBER = ("application/json", b'{"created": ' + b"9" * 5000 + b"}")
NUMBERS = ("application/json", b'{"choices": [{"text": 5, "message": 5}]}')


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("raw", [PAGE, CUT, NOT_UTF8, NULL, NO_CHOICES, EMPTY_CHOICE, A_LIST, NESTED, LONG_NUMBER])
def test_an_answer_of_another_form_is_one_sentence(raw: tuple[str, bytes], chat: bool) -> None:
    with serving(Served(raw=raw)) as served, pytest.raises(EndpointError) as refused:
        write(generator(served), chat=chat)
    assert str(refused.value).startswith(f"endpoint 'tiny' at {served.url}: what came back is")
    assert "correct the address" in str(refused.value)
    assert "Sign in" not in str(refused.value)


def test_numbers_for_texts_are_no_answer() -> None:
    with serving(Served(raw=NUMBERS)) as served:
        with refuses("not-of-the-api"):
            write(generator(served))
        assert write(generator(served), responses=1, chat=True) == [[""], [""], [""]]


@pytest.mark.parametrize("form", ['{"choices": [{"message": {"content": "%s"}}]}', '{"choices": [{"text": "%s"}]}'])
def test_half_an_emoji_is_no_part_of_a_sample_and_of_no_kept_piece(form: str, tmp_path: Path) -> None:
    chat = "message" in form
    raw = ("application/json", (form % r"Hello, my parcel is late \ud83d").encode())
    with serving(Served(raw=raw)) as served, keeping_pieces(tmp_path):
        own = generator(served)
        framing = Framing(chat=chat)
        (texts,) = own.write(["x"], framing=framing, responses=1, sampler=SAMPLER, seed=5, label="texts")
    assert clean_samples(texts, SampleList(), own.length_tokenizer(), 64) == ["Hello, my parcel is late"]
    (kept,) = tmp_path.glob("*.jsonl")
    assert "ud83d" not in kept.read_text("ascii")


def test_a_model_that_the_server_does_not_have_is_no_matter_of_the_prompt() -> None:
    with serving(Served(models=("another",))) as served, refuses("model-not-served", value="tiny"):
        write(generator(served))


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 512 tokens. However, you requested 600 tokens",
        "the request exceeds the available context size. try increasing the context size",
        "Your input exceeds the context window of this model.",
    ],
)
def test_a_request_beyond_the_server_s_context_has_a_remedy(said: str) -> None:
    response = httpx.Response(400, request=httpx.Request("POST", "http://h/v1"))
    error = openai.BadRequestError(said, response=response, body={"message": said})
    with refuses("request-too-long"):
        raise Endpoint("http://h/v1", "m").as_user_error(error)


def test_a_key_that_no_header_can_hold_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "“sk-quoted”")
    with refuses("key-not-ascii", parameter=KEY) as refused:
        Endpoint("http://127.0.0.1:9/v1", "tiny").check()
    assert "sk-quoted" not in str(refused.value)


@pytest.mark.parametrize("raw", [PAGE, CUT, NULL, A_LIST, NESTED, ("application/json", b'{"data": ["tiny"]}')])
def test_a_list_of_models_of_another_form_is_one_sentence(raw: tuple[str, bytes]) -> None:
    with serving(Served(raw_models=raw)) as served, refuses("not-of-the-api"):
        Endpoint(served.url, "tiny").check()


def test_an_endless_answer_names_the_limit_that_the_server_ignores() -> None:
    with serving(Served(form="{}" + "x " * 5000)) as served, refuses("endpoint-ignores-max-tokens"):
        write(generator(served))


def test_null_for_an_answer_s_words_is_an_empty_text() -> None:
    raw = ("application/json", b'{"id": "x", "choices": [{"index": 0, "message": {"role": "a", "content": null}}]}')
    with serving(Served(raw=raw)) as served:
        assert write(generator(served), responses=1, chat=True) == [[""], [""], [""]]


MANY = [f"request {number}" for number in range(12)]
KILLED = """
import sys
from pathlib import Path
from fedtext.system.finished_pieces import keeping_pieces
from tests.generation.generators.test_endpoint import answered

with keeping_pieces(Path(sys.argv[1])):
    answered(sys.argv[2])
"""


def answered(url: str) -> list[list[str]]:
    asked = EndpointGenerator(Endpoint(url, "tiny", concurrency=1), Tokenizer("bundled:generator"))
    return asked.write(MANY, framing=Framing(), responses=2, sampler=SAMPLER, seed=5, label="texts")


def test_after_kill_9_no_answered_request_is_sent_again(tmp_path: Path) -> None:
    """Answers are paid for: of twelve requests, the one that was under way is sent twice, and no other."""
    with serving(Served(delay=0.1)) as served:
        run = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "pieces"), served.url])
        until = time.monotonic() + 300
        while len(served.asked) < 6 and time.monotonic() < until:
            time.sleep(0.01)
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
        before = len(served.asked)
        assert 6 <= before < len(MANY)
        with keeping_pieces(tmp_path / "pieces"):
            texts = answered(served.url)
        assert len(served.asked) <= len(MANY) + 1
        assert {body["prompt"] for _, body, _ in served.asked} == set(MANY)
        assert texts == answered(served.url)
