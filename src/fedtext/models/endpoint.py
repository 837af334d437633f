"""A server with OpenAI's API (vLLM, llama.cpp, Ollama, hosted ones): its address, and the model that it serves.

The key is read from an environment variable when a request is sent. It is in no file, record, fingerprint or error.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fedtext.models.answer_deadline import LateAnswerError, bound_answers
from fedtext.system.errors import FedtextError, InputError
from fedtext.system.refusal import RunRefusedError
from fedtext.system.surrogates import without_lone_surrogates

if TYPE_CHECKING:
    from openai import OpenAI

ENDPOINT = "endpoint:"  # before MODEL@URL in the source of a generator
KEY = "FEDTEXT_ENDPOINT_KEY"  # environment variable of the key, if the server needs one
NO_KEY = "none"  # the client requires a key, a local server rarely does
SOURCE = re.compile(r"endpoint:(?P<model>.+)@(?P<base_url>https?://.+)")
TELLING = (
    "root",
    "meta",
    "max_model_len",
)  # parts of a model's description that stay the same when the server restarts
LISTED = 10
HIDDEN = "***"
LONGEST_MESSAGE = 300  # characters of it that an error quotes
TOO_LONG = re.compile(r"context[ _](?:length|window|size)", re.I)  # in the words of OpenAI, vLLM and llama.cpp


class EndpointError(FedtextError, OSError):
    """An endpoint that does not serve the model; the message is one sentence with its address and a remedy."""


class NotOfTheApiError(ValueError):
    """An answer that arrived whole and is not of OpenAI's API, such as a web page."""


# What the client's library raises for an answer that it cannot read: it tests neither form nor type.
UNREADABLE = (ValueError, RecursionError)  # no JSON, another encoding, a number too long, nesting too deep


@dataclass(frozen=True)
class Endpoint:
    """One model of one server.

    Attributes:
        base_url: Address up to the version, as `http://localhost:8000/v1`.
        model: Name of the model there.
        api_key_env: Environment variable that holds the key; an unset one sends none.
        timeout: Seconds for one whole answer.
        concurrency: Requests under way at once.
        attempts: How often a request is sent, the first time included, while the server is busy or away.
    """

    base_url: str
    model: str
    api_key_env: str = KEY
    timeout: float = 120.0
    concurrency: int = 8
    attempts: int = 6

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"endpoint '{self.model}': its base_url is no web address: write http://HOST:PORT/v1",
                code="not-a-web-address",
                parameter="base_url",
            )
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise InputError(
                f"the address of endpoint '{self.model}' at {parts.hostname} holds more than a place, perhaps a key: "
                f"write http://HOST:PORT/v1 and put the key into the environment variable {self.api_key_env}",
                code="address-holds-a-key",
                parameter="base_url",
            )
        for name in ("timeout", "concurrency", "attempts"):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"{self}: {name} is {getattr(self, name)}: it must be above 0",
                    code="setting-out-of-range",
                    parameter=name,
                    value=getattr(self, name),
                )

    def __str__(self) -> str:
        return f"endpoint '{self.model}' at {self.base_url}"

    @classmethod
    def of(cls, source: str) -> Endpoint:
        """Return the endpoint that `endpoint:MODEL@BASE_URL` names.

        Raises:
            ValueError: It is not of that form.
        """
        found = SOURCE.fullmatch(source)
        if found is None:
            shown = source.partition("@")[0]  # an address may hold a secret
            raise InputError(
                f"generator '{shown}': an endpoint is written {ENDPOINT}MODEL@http://HOST:PORT/v1",
                code="not-an-endpoint",
                value=shown,
            )
        return cls(base_url=found["base_url"].rstrip("/"), model=found["model"])

    @property
    def key(self) -> str | None:
        """The key that the environment holds now."""
        return os.environ.get(self.api_key_env) or None

    def client(self) -> OpenAI:
        """Return the client, which sends every request once; `fedtext.models.endpoint_retries` repeats requests.

        Raises:
            EndpointError: The client's library is not installed, or the key cannot be sent.
        """
        try:
            from openai import OpenAI
        except ImportError:
            raise EndpointError(
                f"{self} needs the package openai: pip install 'fedtext[endpoint]'", code="no-openai-package"
            ) from None
        if self.key and not self.key.isascii():  # no header of a request can hold it
            raise EndpointError(
                f"{self}: the key in {self.api_key_env} has letters or quotes that no key has: export it again",
                code="key-not-ascii",
                parameter=self.api_key_env,
            )
        made = OpenAI(base_url=self.base_url, api_key=self.key or NO_KEY, timeout=self.timeout, max_retries=0)
        bound_answers(made._client, self.timeout)
        return made

    def check(self) -> None:
        """Check that the server serves the model.

        Raises:
            EndpointError: It does not respond, refuses the key, or has no model of that name.
        """
        _described(self)

    @property
    def identity(self) -> str:
        """The values that results depend on: address, model, and what is constant in the server's description of it.

        Raises:
            EndpointError: As `check`.
        """
        return f"{ENDPOINT}{self.model}@{self.base_url} {_described(self)}".strip()

    def as_user_error(self, error: Exception) -> Exception:
        """Return the error as one sentence with a remedy; an error of fedtext's own is returned unchanged."""
        import openai

        if (refusal := own_refusal(error)) is not None:
            return refusal
        if isinstance(error, FedtextError):
            return error
        if isinstance(error, UNREADABLE):
            what = "is no answer of OpenAI's API" if isinstance(error, NotOfTheApiError) else "is cut off or damaged"
            return EndpointError(
                f"{self}: what came back {what}: correct the address, which mostly ends in /v1, or look into the "
                "log of the server and of what stands before it",
                code="not-of-the-api",
            )
        said = self.message(error)
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            what = f"the key in {self.api_key_env}" if self.key else f"requests without a key in {self.api_key_env}"
            return EndpointError(
                f"{self} refuses {what}: export {self.api_key_env}=KEY with a valid one",
                code="key-refused",
                parameter=self.api_key_env,
            )
        if isinstance(error, openai.APITimeoutError) or isinstance(error.__cause__, LateAnswerError):
            return EndpointError(
                f"{self} gave no whole answer within {self.timeout:g} s: raise its timeout, lower its concurrency "
                f"({self.concurrency}), or look whether it is overloaded",
                code="endpoint-too-slow",
                parameter="timeout",
                value=self.timeout,
            )
        if isinstance(error, openai.APIConnectionError):
            return EndpointError(
                f"{self} cannot be reached ({said}): start the server, or correct the address",
                code="endpoint-unreachable",
            )
        if isinstance(error, openai.RateLimitError):
            return EndpointError(
                f"{self} is still busy after {self.attempts} attempts ({said}): lower its concurrency",
                code="endpoint-busy",
                parameter="concurrency",
                value=self.concurrency,
            )
        if isinstance(error, openai.NotFoundError) and _is_about(self.model, said):
            return EndpointError(
                f"{self} has no model of that name ({said}): correct the name, or have the server load the model",
                code="model-not-served",
                parameter="model",
                value=self.model,
            )
        if isinstance(error, openai.BadRequestError) and TOO_LONG.search(said):
            return EndpointError(
                f"{self} reads no request of this length ({said}): lower the sampler's max_new_tokens, put fewer or "
                "shorter examples into a prompt, or have the server read more tokens at once",
                code="request-too-long",
                parameter="sampler.max_new_tokens",
            )
        if isinstance(error, openai.NotFoundError):
            return EndpointError(
                f"{self} knows no such request ({said}): set generation.prompt to chat, which asks in messages, or to "
                "list, which continues text, whichever it serves",
                code="request-unknown",
                parameter="generation.prompt",
            )
        return EndpointError(f"{self} answers with an error: {said}", code="endpoint-answers-with-error")

    def message(self, error: Exception) -> str:
        """Return the message of the server or the network, in one line without the key."""
        body = getattr(error, "body", None)
        inner = body.get("message") if isinstance(body, dict) else None
        told = without_lone_surrogates(str(inner or error.__cause__ or error))
        masked = told.replace(self.key, HIDDEN) if self.key else told  # before the cut, which may go through the key
        return " ".join(masked.split())[:LONGEST_MESSAGE].rstrip(".")


def _is_about(model: str, said: str) -> bool:
    """Return whether a server's message quotes the model's name; one about a route it does not know does not."""
    return re.search(rf"[`'\"]{re.escape(model)}[`'\"]", said) is not None


def own_refusal(error: BaseException) -> RunRefusedError | None:
    """Return fedtext's own refusal among the causes of a library's error, if there is one.

    A node that reads private data has no network, which the client's library reports as an error of its own.
    """
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, RunRefusedError):
            return link
        link = link.__cause__ or link.__context__
    return None


@cache
def _described(endpoint: Endpoint) -> str:
    """Return the server's description of the model, queried once a process; empty if the server lists no models."""
    listed = listed_models(endpoint)
    if listed is None:
        return ""
    found = next((model for model in listed if model.id == endpoint.model), None)
    if found is None:
        raise unknown_model(endpoint, sorted(model.id for model in listed))
    told = {name: value for name in TELLING if (value := getattr(found, name, None)) is not None}
    return json.dumps(told, sort_keys=True, default=str) if told else ""


def listed_models(endpoint: Endpoint) -> list[Any] | None:
    """Return the models that the server lists, each with its `id`; None if it has no such list.

    Raises:
        EndpointError: It does not respond, or with something else.
    """
    import openai

    try:
        with endpoint.client() as client:
            listed: list[Any] = list(client.models.list())
        if not all(isinstance(getattr(model, "id", None), str) for model in listed):
            raise NotOfTheApiError
    except openai.NotFoundError:
        return None
    except (AttributeError, TypeError):  # of a page that the library took for a list of models
        raise endpoint.as_user_error(NotOfTheApiError()) from None
    except (openai.APIError, *UNREADABLE) as error:
        raise endpoint.as_user_error(error) from None
    return listed


def unknown_model(endpoint: Endpoint, names: list[str]) -> EndpointError:
    """Return the error that the endpoint's model is none of these."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    listed = without_lone_surrogates(", ".join(names[:LISTED]))
    return EndpointError(
        f"{endpoint}: no model of that name there, but {listed or 'none at all'}{more}: choose one of these",
        code="unknown-model",
        parameter="model",
        value=endpoint.model,
    )
