"""The served generator: weights here, which are trained, and texts from servers that have the same weights, as vLLM's.

Prompts are sent as tokens: a chat's answer can be opened as it is here, and no server puts a first token of its own
before them. All settings of token sampling are sent, for vLLM takes those that are not from the model's own
`generation_config.json`. A trained adapter is loaded by the servers before it writes (`fedtext.models.served`).

As with an endpoint, what is sent is public or released, and texts are not reproducible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from queue import Queue
from threading import Lock
from typing import TYPE_CHECKING, Any

from fedtext.generation.generators.local_weights import LocalWeights, beginnings, prompt_tokens
from fedtext.generation.generators.text_requests import Ask, Send, all_answers, asking, continued, settings_of
from fedtext.models.endpoint import Endpoint, EndpointError
from fedtext.models.generator import Framing
from fedtext.models.served import Servers, interleaved, load_adapter
from fedtext.params import reading
from fedtext.params.generation import Sampler
from fedtext.system.finished_pieces import finished_pieces

if TYPE_CHECKING:
    from openai import OpenAI

ALL_TOKENS = -1  # of top_k: no limit


@dataclass(frozen=True)
class ServedGenerator(LocalWeights):
    """A language model that is trained here and whose texts servers write (a `TrainableGenerator`).

    It takes no word weights: what they favour differs from token to token, and a server's bias does not.

    Attributes:
        servers: Where texts are written; never None.
    """

    servers: Servers | None = None

    @property
    def identity(self) -> str:
        """Source, adapter and temperature, and that servers write."""
        return f"{super().identity}, served"

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
        """Generate as `Generator.write` does, a request's responses together.

        Every server has as many requests under way as it takes; one that is free takes the next. `sampler.batch_size`
        has no effect, and where a sample begins with a letter only (`framing.letter_first`), others are not prevented.
        A request that was answered before the run was killed is not sent again (`fedtext.system.finished_pieces`).

        Raises:
            ValueError: No responses requested, an empty prompt, or weights that are no adapter's.
            EndpointError: A server does not answer, or reports an error, which the message quotes.
        """
        if not requests:
            return []
        own, tokenizer = self.own(sampler), self.tokenizer()
        begun = [framing.before(number) for number in range(len(requests))]
        openings = beginnings(self.source, requests, framing, tokenizer)
        prompts = prompt_tokens([opening + words for opening, words in zip(openings, begun, strict=True)], tokenizer)
        with reading.without_recording():  # what names the pieces shapes no text
            finished = finished_pieces(self.identity, prompts, framing, responses, own, seed)
        endpoints = self._servers.endpoints(self.source)
        with self._asking(endpoints, framing, own) as ask:
            raw = all_answers(
                prompts,
                ask,
                responses=responses,
                seed=seed,
                at_once=sum(endpoint.concurrency for endpoint in endpoints),
                finished=finished,
                label=label,
            )
        return [[words + text for text in texts] for words, texts in zip(begun, raw, strict=True)]

    @property
    def _servers(self) -> Servers:
        assert self.servers is not None
        return self.servers

    @contextmanager
    def _asking(self, endpoints: Sequence[Endpoint], framing: Framing, sampler: Sampler) -> Iterator[Ask[list[int]]]:
        """Yield the function that asks whichever server is free; its connections are closed afterwards."""
        placed = None if self.adapter is None else self._servers.place(self.adapter)
        with ExitStack() as stack:
            clients = {one: stack.enter_context(one.client()) for one in endpoints}
            asks = {
                one: asking(one, sampler, _send(one, client, placed), _settings(one, framing, sampler))
                for one, client in clients.items()
            }
            yield _of_free_ones(asks)


def _of_free_ones(asks: Mapping[Endpoint, Ask[list[int]]]) -> Ask[list[int]]:
    """Return the function that asks a server with fewer requests under way than it takes at once."""
    free = Queue[Endpoint]()
    for endpoint in interleaved(list(asks)):
        free.put(endpoint)

    def ask(prompt: list[int], count: int, seed: int) -> list[str]:
        server = free.get()
        try:
            return asks[server](prompt, count, seed)
        finally:
            free.put(server)

    return ask


def _send(endpoint: Endpoint, client: OpenAI, placed: tuple[str, str] | None) -> Send[list[int]]:
    """Return the function that sends one request to a server, which has loaded the adapter by then.

    A server that was started again has lost the adapter, and is given it once more.
    """
    import openai

    model = _Once(lambda: endpoint.model if placed is None else load_adapter(endpoint, *placed).model)

    def send(prompt: list[int], settings: dict[str, Any]) -> list[str]:
        try:
            return continued(client, prompt, {**settings, "model": model.value()})
        except openai.NotFoundError:
            model.forget()
        try:
            return continued(client, prompt, {**settings, "model": model.value()})
        except openai.NotFoundError as error:
            raise EndpointError(
                f"{endpoint} has lost its model as soon as it was loaded ({endpoint.message(error)}): look whether it "
                "restarts again and again",
                code="served-model-lost",
            ) from None

    return send


class _Once:
    """A value that threads ask for together and one of them makes."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._lock, self._made = Lock(), lru_cache(make)

    def value(self) -> str:
        with self._lock:
            return self._made()

    def forget(self) -> None:
        with self._lock:
            self._made.cache_clear()


def _settings(endpoint: Endpoint, framing: Framing, sampler: Sampler) -> dict[str, Any]:
    settings = settings_of(endpoint, sampler)
    settings["extra_body"] = {
        "min_p": sampler.min_p,
        "top_k": sampler.top_k or ALL_TOKENS,
        "repetition_penalty": sampler.repetition_penalty,
    }
    if framing.stops:
        settings["stop"] = list(framing.stops)
    return settings
