"""The endpoint generator: a server that speaks OpenAI's API writes the texts.

A generator behind a network: a server that speaks OpenAI's API writes the texts.

Prompts leave this machine, so they are public or released. Nodes that read private data have no sockets
(`fedtext.wiring.guard`), and there a request is refused before it is sent. Texts of a server cannot be written a second
time: servers batch, round and update as they like, and some ignore the seed.

Answers of models that reason before they answer: what they say to themselves is no part of the answer.

A server may take the reasoning apart (`reasoning_content`), or leave it in the answer between marks, of which the first
may stand in the model's own template. Where the answer's limit of tokens is reached while a model still reasons, there
is no answer.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedtext.models.endpoint import Endpoint, EndpointError
from fedtext.models.endpoint_retries import with_retries
from fedtext.models.generator import Framing
from fedtext.models.language_model import Tokenizer
from fedtext.params.generation import Prompt, Sampler
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError
from fedtext.system.progress import progress

if TYPE_CHECKING:
    from openai import OpenAI
    from transformers import PreTrainedTokenizerBase


ALONE = "<think>"  # reasoning and nothing else, where a server has taken it apart
_WORDS = r"(?:think|thinking|thoughts?|reason|reasoning|reflection|seed:think)"
_OPENS = re.compile(  # the last one is what is left of a channel's marks where they are taken for special tokens
    rf"\s*(?:<{_WORDS}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>(?!final)\w+|analysis(?=[A-Z]))"
)
_CLOSES = re.compile(
    rf"</{_WORDS}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final\s*<\|message\|>|assistantfinal"
)
_AROUND = re.compile(r"</?answer>|<\|(?:begin|end)_of_solution\|>|<\|end\|>|<\|return\|>")


def without_reasoning(answer: str) -> str:
    """What stands behind the reasoning; nothing where that does not end, and all of an answer without any."""
    if closings := list(_CLOSES.finditer(answer)):
        return _AROUND.sub("", answer[closings[-1].end() :]).lstrip()
    return "" if _OPENS.match(answer) else answer


LARGEST_SEED = 2**31  # servers keep a seed in 32 bits, with a sign


@dataclass(frozen=True)
class EndpointGenerator:
    """A model of a server; it writes and cannot be trained (a `Generator`).

    Attributes:
        endpoint: The server and its model.
        measure: The tokenizer in whose tokens lengths are counted; the server shows none of its own.
        temperature: What this generator draws at, whatever the sampler says; None: as the sampler says.
        prompt: The form that it is asked in where it is one of several; None: as the sampler says.
    """

    endpoint: Endpoint
    measure: Tokenizer
    temperature: float | None = None
    prompt: Prompt | None = None

    @property
    def identity(self) -> str:
        """Model, address and temperature, as far as they are set."""
        told = f"{self.endpoint.model} at {self.endpoint.base_url}"
        return told if self.temperature is None else f"{told}, temperature {self.temperature:g}"

    def length_tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer in whose tokens lengths are counted."""
        return self.measure.load()

    def own(self, sampler: Sampler) -> Sampler:
        """The sampler at this generator's own temperature, asking in its own form."""
        return sampler.for_one(self.temperature, self.prompt)

    def write(
        self,
        requests: Sequence[str],
        *,
        framing: Framing,
        responses: int,
        sampler: Sampler,
        seed: int,
        label: str,
    ) -> list[list[str]]:
        """As `Generator.write`: `endpoint.concurrency` requests at once, all responses of a request asked for together.

        `sampler.batch_size` is the server's own affair. A server that gives fewer responses than asked for (llama.cpp
        and Ollama give one) is asked again for the missing ones, with a seed of their own. A server's answer cannot be
        opened, so a message closes with the framing's plea, and the server ends its answer by itself. What a model
        says to itself before it answers is no part of a text.

        Raises:
            ValueError: No responses asked.
            EndpointError: The server does not answer, or refuses; what it said stands in the message. Or its model
                reasons to the last of the tokens that an answer may have, every time.
        """
        if responses < 1:
            raise InputError(f"{responses} responses a prompt asked: ask for at least 1")
        own = self.own(sampler)
        ask = self._asking(framing, own)

        asked = [framing.message(request, number) for number, request in enumerate(requests)]
        if not framing.chat:
            asked = [f"{request}{framing.before(number)}" for number, request in enumerate(requests)]
        failed = threading.Event()  # after an error nothing further is asked

        def respond(number: int) -> list[str]:
            texts: list[str] = []
            try:
                while len(texts) < responses and not failed.is_set():
                    own_seed = derived_seed(seed, "endpoint", number, len(texts)) % LARGEST_SEED
                    texts += ask(asked[number], responses - len(texts), own_seed)
            except BaseException:
                failed.set()
                raise
            return texts[:responses]

        with ThreadPoolExecutor(self.endpoint.concurrency) as pool:
            answers = [pool.submit(respond, number) for number in range(len(requests))]
            try:
                raw = [answer.result() for answer in progress(answers, label, unit="prompt", total=len(answers))]
            except BaseException:  # an interruption too: do not wait for the rest
                failed.set()
                raise
        begun = ["" if framing.chat else framing.before(number) for number in range(len(requests))]
        texts = [
            [words + framing.opened(without_reasoning(answer)) for answer in row]
            for words, row in zip(begun, raw, strict=True)
        ]
        if any(map(any, raw)) and not any(map(any, texts)):
            raise EndpointError(
                f"{self.endpoint} reasons and does not answer within max_new_tokens ({own.max_new_tokens}): switch its "
                "reasoning off in the server, raise the sampler's max_new_tokens, or take a model that does not reason"
            )
        return texts

    def _asking(self, framing: Framing, sampler: Sampler) -> Callable[[str, int, int], list[str]]:
        """A function of request, number of responses and seed; it gives one response at least."""
        import openai

        client = self.endpoint.client()
        send = _answered if framing.chat else _continued
        settings: dict[str, Any] = {
            "model": self.endpoint.model,
            "temperature": sampler.temperature,
            "top_p": sampler.top_p,
            "max_tokens": sampler.max_new_tokens,
        }
        extra = {"min_p": sampler.min_p} if sampler.min_p > 0 else {}
        if sampler.repetition_penalty > 1:
            extra["repetition_penalty"] = sampler.repetition_penalty
        if extra:  # no part of OpenAI's own API; vLLM knows both, llama.cpp the first
            settings["extra_body"] = extra
        if framing.stops and not framing.chat:
            settings["stop"] = list(framing.stops)
        together = threading.Event()  # whether the server takes several responses a request, as far as is known
        together.set()

        def sent(request: str, count: int, seed: int) -> list[str]:
            return with_retries(self.endpoint, lambda: send(client, request, {**settings, "n": count, "seed": seed}))

        def ask(request: str, count: int, seed: int) -> list[str]:
            try:
                try:
                    texts = sent(request, count if together.is_set() else 1, seed)
                except (openai.BadRequestError, openai.UnprocessableEntityError):
                    if count == 1:
                        raise
                    texts = sent(request, 1, seed)  # raises again where the number was not what was wrong
                    together.clear()
            except openai.APIError as error:
                raise self.endpoint.as_user_error(error) from None
            if not texts:
                raise EndpointError(f"{self.endpoint} answers without any text: look into its log")
            return texts

        return ask


def _answered(client: OpenAI, request: str, settings: dict[str, Any]) -> list[str]:
    messages: Any = [{"role": "user", "content": request}]
    answer = client.chat.completions.create(messages=messages, **settings)
    return [_said(choice.message) for choice in answer.choices]


def _said(message: Any) -> str:
    """The answer, or that there is reasoning alone: servers that take it apart call it by one of two names."""
    reasoned = any(getattr(message, name, None) for name in ("reasoning_content", "reasoning"))
    return message.content or (ALONE if reasoned else "")


def _continued(client: OpenAI, request: str, settings: dict[str, Any]) -> list[str]:
    answer = client.completions.create(prompt=request, **settings)
    return [choice.text or "" for choice in answer.choices]
