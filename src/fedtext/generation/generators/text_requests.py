"""Requests for texts to servers: many under way, each answer kept as it arrives, none believed unseen.

Whoever asks a server says how one request is sent. What is the same for all of them is here: requests are sent again
while a server is busy, a server that gives few responses is asked for the missing ones, and an answer of another form
or far beyond its limit is an error of one sentence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from fedtext.models.endpoint import UNREADABLE, Endpoint, EndpointError, NotOfTheApiError
from fedtext.models.endpoint_retries import with_retries
from fedtext.params.generation import Sampler
from fedtext.seeding import derived_seed
from fedtext.system.errors import InputError
from fedtext.system.finished_pieces import FinishedPieces
from fedtext.system.progress import progress
from fedtext.system.surrogates import without_lone_surrogates

if TYPE_CHECKING:
    from openai import OpenAI

T = TypeVar("T")
Ask = Callable[[T, int, int], list[str]]  # of a request, a number of responses and a seed: at least one response
Send = Callable[[T, dict[str, Any]], list[str]]  # of a request and its settings: the responses

LONGEST_TOKEN = 128  # characters; those of known tokenizers, runs of spaces included
LARGEST_SEED = 2**31  # servers keep a seed in 32 bits, with a sign


def all_answers(
    requests: Sequence[T],
    ask: Ask[T],
    *,
    responses: int,
    seed: int,
    at_once: int,
    finished: FinishedPieces,
    label: str,
) -> list[list[str]]:
    """Return `responses` raw texts for each request, with `at_once` requests under way; after an error none is sent.

    A request among the `finished` ones is not sent again, for it may have been paid for.

    Raises:
        ValueError: No responses requested.
        EndpointError: As `ask`.
    """
    if responses < 1:
        raise InputError(
            f"{responses} responses a prompt asked: ask for at least 1",
            code="no-responses-asked",
            parameter="responses",
            value=responses,
        )
    failed = threading.Event()

    def answer(number: int) -> list[str]:
        texts: list[str] = finished.get(number) or []
        if texts:
            return texts
        try:
            while len(texts) < responses and not failed.is_set():
                own_seed = derived_seed(seed, "endpoint", number, len(texts)) % LARGEST_SEED
                texts += ask(requests[number], responses - len(texts), own_seed)
        except BaseException:
            failed.set()
            raise
        if len(texts) >= responses:
            finished.keep(number, texts[:responses])
        return texts[:responses]

    with ThreadPoolExecutor(at_once) as pool:
        answers = [pool.submit(answer, number) for number in range(len(requests))]
        try:
            return [one.result() for one in progress(answers, label, unit="prompt", total=len(answers))]
        except BaseException:  # an interruption too: do not wait for the rest
            failed.set()
            raise


def asking(endpoint: Endpoint, sampler: Sampler, send: Send[T], settings: dict[str, Any]) -> Ask[T]:
    """Return the function that asks one server by `send`, which is given these settings, a number and a seed.

    A server that takes no number above one is asked for single responses from then on.
    """
    import openai

    together = threading.Event()  # whether the server takes several responses a request, as far as is known
    together.set()

    def sent(request: T, count: int, seed: int) -> list[str]:
        return with_retries(endpoint, lambda: send(request, {**settings, "n": count, "seed": seed}))

    def ask(request: T, count: int, seed: int) -> list[str]:
        try:
            try:
                texts = sent(request, count if together.is_set() else 1, seed)
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                if count == 1:
                    raise
                texts = sent(request, 1, seed)  # raises again if the number was not the cause
                together.clear()
        except (openai.APIError, *UNREADABLE) as error:
            raise endpoint.as_user_error(error) from None
        _check(texts, endpoint, sampler)
        return [without_lone_surrogates(text) for text in texts]  # JSON holds half an emoji where a limit cut it

    return ask


def settings_of(endpoint: Endpoint, sampler: Sampler) -> dict[str, Any]:
    """Return the settings of a request that every server knows.

    Raises:
        ValueError: repeated runs of tokens are to be forbidden, which no server does.
    """
    if sampler.no_repeat_ngram is not None:
        raise InputError(
            f"no_repeat_ngram is {sampler.no_repeat_ngram}, and the texts of '{endpoint.model}' come from a server, "
            "which forbids no repeated runs of tokens: set it to null, or name a model that writes here",
            code="server-allows-repeats",
            parameter="no_repeat_ngram",
            value=sampler.no_repeat_ngram,
        )
    return {
        "model": endpoint.model,
        "temperature": sampler.temperature,
        "top_p": sampler.top_p,
        "max_tokens": sampler.max_new_tokens,
    }


def continued(client: OpenAI, prompt: str | list[int], settings: dict[str, Any]) -> list[str]:
    """Return the continuations of a prompt, a text or its tokens, in the order of their numbers.

    Raises:
        NotOfTheApiError: The answer is of another form.
    """
    choices = choices_of(client.completions.create(prompt=prompt, **settings), "text")
    if not all(isinstance(choice.text, str) for choice in choices):
        raise NotOfTheApiError
    return [choice.text for choice in choices]


def choices_of(answer: Any, part: str) -> list[Any]:
    """Return the choices of an answer, each of which has the `part`.

    Raises:
        NotOfTheApiError: It is of another form: the client's library takes any page for an answer.
    """
    choices = getattr(answer, "choices", None)
    if not isinstance(choices, list) or any(getattr(choice, part, None) is None for choice in choices):
        raise NotOfTheApiError
    return choices


def _check(texts: Sequence[str], endpoint: Endpoint, sampler: Sampler) -> None:
    if not texts:
        raise EndpointError(f"{endpoint} answers without any text: look into its log", code="endpoint-without-text")
    if any(len(text) > LONGEST_TOKEN * sampler.max_new_tokens for text in texts):
        raise EndpointError(
            f"{endpoint} answers with far more than the {sampler.max_new_tokens} tokens that it was asked "
            "for: it ignores max_tokens; set a limit in the server, or take another one",
            code="endpoint-ignores-max-tokens",
            parameter="sampler.max_new_tokens",
            value=sampler.max_new_tokens,
        )
