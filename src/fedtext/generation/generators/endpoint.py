"""The endpoint generator: a server with OpenAI's API generates the texts.

Prompts leave this machine, so they are public or released. Nodes that read private data have no network access
(`fedtext.wiring.guard`), and there a request fails before it is sent. Texts of a server are not reproducible: servers
batch, round and update as they like, and some ignore the seed.

The reasoning of models that reason before they answer is not part of the answer. A server may separate it
(`reasoning_content`), or leave it in the answer between marks, of which the first may be in the model's own template.
If the token limit is reached while a model still reasons, there is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedtext.generation.generators.text_requests import Send, all_answers, asking, choices_of, continued, settings_of
from fedtext.models.endpoint import Endpoint, EndpointError
from fedtext.models.generator import Framing
from fedtext.models.language_model import Tokenizer
from fedtext.params import reading
from fedtext.params.generation import Prompt, Sampler
from fedtext.system.finished_pieces import finished_pieces

if TYPE_CHECKING:
    from openai import OpenAI
    from transformers import PreTrainedTokenizerBase


ALONE = "<think>"  # reasoning alone, where a server separates it
_WORDS = r"(?:think|thinking|thoughts?|reason|reasoning|reflection|seed:think)"
_OPENS = re.compile(  # the last one is what is left of a channel's marks where they are taken for special tokens
    rf"\s*(?:<{_WORDS}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>(?!final)\w+|analysis(?=[A-Z]))"
)
_CLOSES = re.compile(
    rf"</{_WORDS}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>final\s*<\|message\|>|assistantfinal"
)
_AROUND = re.compile(r"</?answer>|<\|(?:begin|end)_of_solution\|>|<\|end\|>|<\|return\|>")


def without_reasoning(answer: str) -> str:
    """Return the answer behind the reasoning; empty where the reasoning does not end, all where there is none."""
    if closings := list(_CLOSES.finditer(answer)):
        return _AROUND.sub("", answer[closings[-1].end() :]).lstrip()
    return "" if _OPENS.match(answer) else answer


@dataclass(frozen=True)
class EndpointGenerator:
    """A model on a server: it generates texts and cannot be trained (a `Generator`).

    Attributes:
        endpoint: The server and its model.
        measure: The tokenizer that counts lengths; the server does not expose its own.
        temperature: This generator's own temperature; None: the sampler's.
        prompt: This generator's own prompt form; None: the sampler's.
    """

    endpoint: Endpoint
    measure: Tokenizer
    temperature: float | None = None
    prompt: Prompt | None = None

    @property
    def identity(self) -> str:
        """Model, address and temperature, as far as they are set."""
        identity = f"{self.endpoint.model} at {self.endpoint.base_url}"
        return identity if self.temperature is None else f"{identity}, temperature {self.temperature:g}"

    def length_tokenizer(self) -> PreTrainedTokenizerBase:
        """Return the tokenizer that counts lengths."""
        return self.measure.load()

    def own(self, sampler: Sampler) -> Sampler:
        """Return the sampler with this generator's own temperature and prompt form."""
        return sampler.for_generator(self.temperature, self.prompt)

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
        """Generate as `Generator.write` does: `endpoint.concurrency` requests at once, a request's responses together.

        `sampler.batch_size` has no effect on a server. A server that returns fewer responses than requested (llama.cpp
        and Ollama return one) is queried again for the missing ones, with new seeds. A server's answer cannot be
        started for it, so the message ends with the framing's plea, and the server ends its answer by itself. Reasoning
        is left out of the texts. A request that was answered before the run was killed is not sent again
        (`fedtext.system.finished_pieces`).

        Raises:
            ValueError: No responses requested.
            EndpointError: The server does not answer, or reports an error, which the message quotes; or its model
                always reasons up to the token limit.
        """
        own = self.own(sampler)
        asked = [framing.message(request, number) for number, request in enumerate(requests)]
        if not framing.chat:
            asked = [f"{request}{framing.before(number)}" for number, request in enumerate(requests)]
        with reading.without_recording():  # what names the pieces shapes no text
            finished = finished_pieces(self.identity, asked, framing, responses, own, seed)
        with self.endpoint.client() as client:
            raw = all_answers(
                asked,
                asking(self.endpoint, own, _send(client, framing), self._settings(framing, own)),
                responses=responses,
                seed=seed,
                at_once=self.endpoint.concurrency,
                finished=finished,
                label=label,
            )
        begun = ["" if framing.chat else framing.before(number) for number in range(len(requests))]
        texts = [
            [words + framing.opened(without_reasoning(answer)) for answer in row]
            for words, row in zip(begun, raw, strict=True)
        ]
        if any(map(any, raw)) and not any(map(any, texts)):
            raise EndpointError(
                f"{self.endpoint} reasons and does not answer within max_new_tokens ({own.max_new_tokens}): switch its "
                "reasoning off in the server, raise the sampler's max_new_tokens, or take a model that does not reason",
                code="endpoint-reasons-too-long",
                parameter="sampler.max_new_tokens",
                value=own.max_new_tokens,
            )
        return texts

    def _settings(self, framing: Framing, sampler: Sampler) -> dict[str, Any]:
        settings = settings_of(self.endpoint, sampler)
        extra: dict[str, float] = {"min_p": sampler.min_p} if sampler.min_p > 0 else {}
        if sampler.top_k is not None:
            extra["top_k"] = sampler.top_k
        if sampler.repetition_penalty > 1:
            extra["repetition_penalty"] = sampler.repetition_penalty
        if extra:  # not in OpenAI's own API; vLLM has all, llama.cpp the first two
            settings["extra_body"] = extra
        if framing.stops and not framing.chat:
            settings["stop"] = list(framing.stops)
        return settings


def _send(client: OpenAI, framing: Framing) -> Send[str]:
    """Return the function that sends one request."""
    send = _answered if framing.chat else continued
    return lambda request, settings: send(client, request, settings)


def _answered(client: OpenAI, request: str, settings: dict[str, Any]) -> list[str]:
    messages: Any = [{"role": "user", "content": request}]
    answer = client.chat.completions.create(messages=messages, **settings)
    return [_answer_in(choice.message) for choice in choices_of(answer, "message")]


def _answer_in(message: Any) -> str:
    """Return the message's answer, or a mark for reasoning alone, which servers put under one of two names."""
    reasoned = any(getattr(message, name, None) for name in ("reasoning_content", "reasoning"))
    content = getattr(message, "content", None)
    return content if isinstance(content, str) and content else (ALONE if reasoned else "")
