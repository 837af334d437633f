"""Servers that write with weights which are here too, as vLLM's do: `served:WEIGHTS@http://HOST:PORT/v1`.

Training and tokens need the weights, so they are on this machine; texts are written where the servers are. A server
reads adapters from a folder that it and this machine share. An adapter is named there, and on the server, by its
content: vLLM keeps what it has computed of a prompt under the adapter's name, so that other weights under an old name
would go on from the old ones' work (vllm-project/vllm issue 42125).
"""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from fedtext.models.endpoint import KEY, UNREADABLE, Endpoint, EndpointError, listed_models, unknown_model
from fedtext.models.endpoint_retries import with_retries
from fedtext.models.language_model import ADAPTER_WEIGHTS, ALL_WEIGHTS, place_of
from fedtext.system.atomic import replacing_directory
from fedtext.system.errors import InputError
from fedtext.system.locks import locked

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

LOG = logging.getLogger(__name__)
SERVED = "served:"  # before WEIGHTS@URL in the source of a generator
SOURCE = re.compile(r"served:(?P<weights>.+?)@(?P<base_urls>https?://.+)")
BETWEEN = re.compile(r"\+(?=https?://)")  # of two servers' addresses
ADAPTER_FILES = ("adapter_config.json", ADAPTER_WEIGHTS)
PREFIX = "fedtext-"
LOCK = "adapters.lock"
DIGITS = 16  # of a digest in an adapter's name
PROBE = "The kettle is on: 2 cups, 85 °C.\n\nWer hört – où ça?"  # tokenizers differ in what they make of it


@dataclass(frozen=True)
class Servers:
    """Servers of one model, which share the requests.

    Attributes:
        base_urls: Their addresses, as `http://localhost:8000/v1`.
        adapters: The folder that they read adapters from.
        seen_as: The same folder as the servers see it; None: the same path.
        concurrency: Requests under way at once, at each server.
        timeout: Seconds for one whole answer.
        attempts: How often a request is sent, the first time included, while a server is busy or away.
        api_key_env: Environment variable that holds the key.
    """

    base_urls: tuple[str, ...]
    adapters: Path
    seen_as: str | None = None
    concurrency: int = 256
    timeout: float = 600.0
    attempts: int = 6
    api_key_env: str = KEY

    def endpoints(self, source: str) -> list[Endpoint]:
        """Return each server with its name of the model whose weights are at `source`.

        Raises:
            EndpointError: One does not respond, or has no model.
        """
        return [_with_own_name(self._endpoint(url, source)) for url in self.base_urls]

    def check(self, source: str, tokenizer: PreTrainedTokenizerBase) -> None:
        """Check that every server serves a model with this tokenizer, for prompts are sent as its tokens.

        Raises:
            EndpointError: One does not respond, has no model, or takes the tokens for another text.
        """
        for endpoint in self.endpoints(source):
            _check_tokens(endpoint, tokenizer)

    def versions(self, source: str) -> list[str]:
        """Return the versions of the programs that write, each once."""
        return sorted({_version(self._endpoint(url, source)) for url in self.base_urls})

    def place(self, adapter: Path) -> tuple[str, str]:
        """Copy an adapter into the shared folder, and return its name and the path that the servers find it at.

        Raises:
            ValueError: It is no adapter, but all weights of a model, which a server loads at its start only.
        """
        check_is_adapter(adapter)
        name = adapter_name(adapter)
        self.adapters.mkdir(parents=True, exist_ok=True)
        with locked(self.adapters / LOCK, wait=True):  # another run may write with it too
            if not (folder := self.adapters / name).is_dir():
                with replacing_directory(folder) as filled:
                    for file in ADAPTER_FILES:
                        shutil.copyfile(adapter / file, filled / file)
        return name, str(PurePosixPath(self.seen_as or self.adapters.as_posix()) / name)

    def _endpoint(self, base_url: str, source: str) -> Endpoint:
        return Endpoint(
            base_url=base_url.rstrip("/"),
            model=source,
            api_key_env=self.api_key_env,
            timeout=self.timeout,
            concurrency=self.concurrency,
            attempts=self.attempts,
        )


def split_source(source: str) -> tuple[str, tuple[str, ...]]:
    """Return the weights' source and the servers' addresses of `served:WEIGHTS@URL`, where `+` parts addresses.

    Raises:
        ValueError: It is not of that form.
    """
    found = SOURCE.fullmatch(source)
    if found is None:
        shown = source.partition("@")[0]  # an address may hold a secret
        raise InputError(
            f"generator '{shown}': a served one is written {SERVED}WEIGHTS@http://HOST:PORT/v1, where WEIGHTS is a "
            "directory, a Hugging Face id or a model that comes with a package",
            code="not-served",
            value=shown,
        )
    return found["weights"], tuple(BETWEEN.split(found["base_urls"]))


def weights_of(source: str) -> str:
    """Return where a generator's weights are: the source itself, or the part of it that names them."""
    return split_source(source)[0] if source.startswith(SERVED) else source


def adapter_name(adapter: Path) -> str:
    """Return the name of an adapter, which its content determines."""
    digest = hashlib.sha256()
    for file in ADAPTER_FILES:
        digest.update(hashlib.sha256((adapter / file).read_bytes()).digest())
    return f"{PREFIX}{digest.hexdigest()[:DIGITS]}"


def check_is_adapter(directory: Path) -> None:
    """Raise `ValueError` if the directory holds all weights of a model in place of an adapter."""
    if (directory / ALL_WEIGHTS).is_file():
        raise InputError(
            f"{directory.name} holds all weights of a model, and a server loads adapters: train one (set the "
            "algorithm's lora), or write here, with models.generator naming the weights alone",
            code="served-without-adapter",
            parameter="models.generator",
            value=directory.name,
        )


def load_adapter(endpoint: Endpoint, name: str, path: str) -> Endpoint:
    """Have the server load the adapter at `path`, unless it has, and return the endpoint of the adapted model.

    Raises:
        EndpointError: It loads no adapters, or not this one.
    """
    import openai

    if name in {model.id for model in listed_models(endpoint) or []}:
        return replace(endpoint, model=name)
    asked = {"lora_name": name, "lora_path": path}
    try:
        with endpoint.client() as client:
            with_retries(endpoint, lambda: client.post("/load_lora_adapter", cast_to=str, body=asked))
    except openai.APIStatusError as error:
        if "already been loaded" not in str(error):  # by another run, since we asked
            raise _not_loaded(endpoint, path, error) from None
    except (openai.APIError, *UNREADABLE) as error:
        raise endpoint.as_user_error(error) from None
    return replace(endpoint, model=name)


def _not_loaded(endpoint: Endpoint, path: str, error: Any) -> EndpointError:
    if error.status_code in (401, 403):
        refused: EndpointError = endpoint.as_user_error(error)  # type: ignore[assignment]
        return refused
    if error.status_code in (404, 405) and "adapter" not in str(error):
        return EndpointError(
            f"{endpoint} loads no adapters: start it with --enable-lora, and in an environment with "
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True",
            code="server-loads-no-adapters",
        )
    return EndpointError(
        f"{endpoint} does not load the adapter in {path} ({endpoint.message(error)}): it must see that folder "
        "(served.adapters, served.seen_as), and take adapters of that rank (--max-lora-rank)",
        code="adapter-not-loaded",
        parameter="served.adapters",
        value=path,
    )


@cache
def _with_own_name(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint with the server's own name of its model; adapters are listed with a `parent`."""
    models = [one for one in listed_models(endpoint) or [] if getattr(one, "parent", None) is None]
    if not models:
        raise unknown_model(endpoint, [])
    ours = {_last(endpoint.model), _last(place_of(endpoint.model))}
    same = [one.id for one in models if ours & {_last(one.id), _last(str(getattr(one, "root", None) or one.id))}]
    if not same:
        LOG.warning("%s serves %s: are these the weights of %s?", endpoint.base_url, models[0].id, endpoint.model)
    return replace(endpoint, model=(same or [models[0].id])[0])


def _last(source: str) -> str:
    """Return the last part of a directory or an id, without a revision, in lower case."""
    return PurePosixPath(source.partition("@")[0]).name.lower()


def _check_tokens(endpoint: Endpoint, tokenizer: PreTrainedTokenizerBase) -> None:
    """Check by the server's route /detokenize, which is beside /v1, that our tokens are its own."""
    tokens = tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    told = _beside_v1(endpoint, "/detokenize", {"model": endpoint.model, "tokens": tokens})
    text = None if told is None else told.get("prompt", told.get("content"))
    if not isinstance(text, str):
        LOG.warning("%s does not show its tokenizer, so nobody checks that prompts arrive as they are sent", endpoint)
    elif "".join(text.split()) != "".join(tokenizer.decode(tokens).split()):
        raise EndpointError(
            f"{endpoint} has another tokenizer than the weights that are trained here, and reads other prompts than "
            "are sent: serve the same model",
            code="other-tokenizer",
            value=endpoint.model,
        )


@cache
def _version(endpoint: Endpoint) -> str:
    told = _beside_v1(endpoint, "/version", None)
    return str((told or {}).get("version", ""))


def _beside_v1(endpoint: Endpoint, route: str, body: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the answer of a route that lies beside /v1; None if the server has none.

    Raises:
        EndpointError: The server does not respond.
    """
    import openai

    url = f"{endpoint.base_url.removesuffix('/v1')}{route}"
    try:
        with endpoint.client() as client:
            told = client.get(url, cast_to=object) if body is None else client.post(url, cast_to=object, body=body)
    except (openai.AuthenticationError, openai.PermissionDeniedError, openai.APIConnectionError) as error:
        raise endpoint.as_user_error(error) from None
    except (openai.APIError, *UNREADABLE):
        return None
    return told if isinstance(told, dict) else None


def interleaved(endpoints: Sequence[Endpoint]) -> list[Endpoint]:
    """Return every endpoint once for each request that it takes at once, in turn."""
    return [one for _ in range(endpoints[0].concurrency) for one in endpoints]
