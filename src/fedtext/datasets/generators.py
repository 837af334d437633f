"""Catalog entries of generators and of the tokenizer that cuts samples, so that environments can swap them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from fedtext.datasets.atomic import StorageError
from fedtext.datasets.models import PublicModelDataset
from fedtext.models import fit
from fedtext.models.architecture import Architecture
from fedtext.models.endpoint import ENDPOINT, Endpoint
from fedtext.models.language_model import place_of
from fedtext.models.served import SERVED, Servers, split_source, weights_of
from fedtext.models.source import SHIPPED, TOKENIZER_FILES, check_tokenizer_files, fetch, fetch_tokenizer
from fedtext.params.generation import Prompt, Temperature, as_prompt
from fedtext.system.errors import InputError

if TYPE_CHECKING:
    from fedtext.generation.generators.endpoint import EndpointGenerator
    from fedtext.generation.generators.local import LocalGenerator
    from fedtext.generation.generators.served import ServedGenerator
    from fedtext.models.language_model import Tokenizer


class TokenizerDataset(PublicModelDataset):
    """The tokenizer that cuts texts into samples; loading returns a light handle.

    Args:
        source: `bundled:<name>`, `smollm2`, a local directory or a Hugging Face id, of which only the tokenizer is
            read; None: that of `generator`, or, where that is an endpoint and shows none, the bundled generator's.
        generator: Source of the generator.
        metadata: Ignored by Kedro.
    """

    kind, instead, asked = "tokenizer", SHIPPED, fit.TOKENIZER

    def __init__(self, *, source: str | None = None, generator: str, metadata: dict[str, Any] | None = None) -> None:
        shown = SHIPPED if generator.startswith(ENDPOINT) else weights_of(generator)
        super().__init__(source=source or shown, metadata=metadata)

    def load(self) -> Tokenizer:
        """Return the handle; its files are downloaded first, for nodes that read private data have no network."""
        return _tokenizer(self._source)

    @property
    def context(self) -> None:
        """None, for a tokenizer has no limit of its own."""

    def identity(self) -> Path | str:
        """Return the tokenizer's files, or a Hugging Face id with its commit; other weights change nothing."""
        found = super().identity()
        return found if isinstance(found, str) else _digest(found)

    def check_weights(self) -> None:
        """Check nothing, for a tokenizer has no weights."""

    @cached_property
    def _place(self) -> str:
        return place_of(self._source)

    def _exists(self) -> bool:
        check_tokenizer_files(self._place, self.kind, self.instead)
        _check_measure(self._source)
        return True


class GeneratorDataset(PublicModelDataset):
    """A public model that writes text; loading returns a light handle, not the weights.

    It is named by its `source`, or, for a server with OpenAI's API, by `base_url` and `model`. Of a served one, which
    servers write with, everything but its texts is as of its weights alone.

    Args:
        source: `bundled:<name>` (shipped with the package), `smollm2` (from one installed), a local directory, a
            Hugging Face id (`owner/name`, or `owner/name@revision`), `endpoint:MODEL@BASE_URL`, or
            `served:WEIGHTS@BASE_URL`, with `+` between several addresses.
        base_url: Address of a server, as `http://localhost:8000/v1`.
        model: The model's name there.
        measure: Source of the tokenizer by which lengths are counted; None: the model's own, or, for a server, that
            of the bundled generator.
        otherwise: The source if neither `source` nor `base_url` is given.
        temperature: Sampling temperature of this generator; None: the sampler's.
        prompt: The prompt template that the run uses, so that a model without support for it is refused before a run.
        served: For a served one: `adapters`, or `otherwise` where that is null, `seen_as`, `concurrency`, `timeout`,
            `attempts`, `api_key_env` (`fedtext.models.served`).
        metadata: Ignored by Kedro.
        options: For an endpoint: `api_key_env`, `timeout`, `concurrency`, `attempts` (`fedtext.models.endpoint`).
    """

    kind, instead, asked = "language model", SHIPPED, fit.LANGUAGE_MODEL
    model_class = "AutoModelForCausalLM"

    def __init__(
        self,
        *,
        source: str | None = None,
        base_url: str | None = None,
        model: str | None = None,
        otherwise: str | None = None,
        measure: str | None = None,
        temperature: float | None = None,
        prompt: Prompt = "list",
        served: Mapping[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        named = source or ("" if base_url else otherwise or "")
        self._named, self._served = named, dict(served or {})
        super().__init__(source=weights_of(named), metadata=metadata)
        self._base_url, self._model, self._options = base_url, model, options
        self._measure, self._temperature, self._prompt = measure, _temperature(temperature, self._source), prompt
        self._own_prompt: Prompt | None = None

    def load(self) -> LocalGenerator | EndpointGenerator | ServedGenerator:
        """Return the handle; the weights are downloaded first and read at their first use."""
        if self._endpoint is not None:
            from fedtext.generation.generators.endpoint import EndpointGenerator

            measured_by = _tokenizer(self._measure or SHIPPED)
            return EndpointGenerator(self._endpoint, measured_by, self._temperature, self._own_prompt)
        fetch(self._place, self.kind, self.instead)
        measure = None if self._measure is None else _tokenizer(self._measure)
        if self._servers is not None:
            from fedtext.generation.generators.served import ServedGenerator

            return ServedGenerator(
                self._source,
                measure=measure,
                temperature=self._temperature,
                prompt=self._own_prompt,
                servers=self._servers,
            )
        from fedtext.generation.generators.local import LocalGenerator

        return LocalGenerator(self._source, measure=measure, temperature=self._temperature, prompt=self._own_prompt)

    @property
    def context(self) -> int | None:
        """The largest number of tokens that the model reads at once; None for a server."""
        return super().context if self._endpoint is None else None

    @property
    def architecture(self) -> Architecture | None:
        """What the model is built like; None for a server."""
        return super().architecture if self._endpoint is None else None

    @property
    def given_name(self) -> str:
        """The model's name as the configuration gives it; of a server, the model's name there."""
        return self._source if self._endpoint is None else self._endpoint.model

    @property
    def is_server(self) -> bool:
        """Whether a server writes, which can be checked only by a request."""
        return self._endpoint is not None or self._servers is not None

    @property
    def writes_with_adapters_only(self) -> bool:
        """Whether what is trained must be an adapter, for servers load nothing else."""
        return self._servers is not None

    @property
    def training_fault(self) -> str | None:
        """Why no adapter of the model can be trained; None if one can."""
        return None if self._endpoint is None else f"{self._endpoint}, whose weights are not here"

    @property
    def guidance_fault(self) -> str | None:
        """Why the model takes no word weights; None if it does."""
        return None if self._servers is None else f"written with by servers ({', '.join(self._servers.base_urls)})"

    @property
    def chat_fault(self) -> str | None:
        """Why the model cannot be used with chat messages; None if it can."""
        if self._endpoint is not None:
            return None
        reason = fit.chat_fault(_tokenizer(self._source).load())
        return reason and f"'{self._source}', which {reason}"

    def identity(self) -> Path | str:
        """Return what a result depends on: weights by content or commit, a server by its description of its model."""
        return super().identity() if self._endpoint is None else self._endpoint.identity

    def shaping(self) -> dict[str, str]:
        """Return the settings that shape the texts; timeouts and retries of a server do not, nor which servers write.

        Raises:
            EndpointError: A server does not respond, and so does not tell its version.
        """
        told = {"measure": self._measure, "temperature": self._temperature, "prompt": self._own_prompt}
        writer = {} if self._servers is None else {"served": self._servers.versions(self._source)}
        return {name: repr(value) for name, value in (told | writer).items()}

    @cached_property
    def _servers(self) -> Servers | None:
        if not self._named.startswith(SERVED):
            return None
        told = {name: value for name, value in self._served.items() if value is not None}
        otherwise = told.pop("otherwise", None)
        if not (folder := told.pop("adapters", otherwise)):
            raise StorageError(
                f"generator '{SERVED}{self._source}' has no folder for adapters: give its catalog entry "
                "served: {adapters: DIRECTORY}, one that the servers can read",
                code="no-adapters-folder",
                parameter="served.adapters",
            )
        return Servers(base_urls=split_source(self._named)[1], adapters=Path(folder).expanduser(), **told)

    @cached_property
    def _endpoint(self) -> Endpoint | None:
        if self._base_url is None and not self._source.startswith(ENDPOINT):
            return None
        if self._base_url is None:
            return replace(Endpoint.of(self._source), **self._options)
        if not self._model or self._source:
            raise StorageError(
                f"the endpoint at {self._base_url} is told by base_url and model: give both, no source",
                code="endpoint-with-source",
                parameter="source",
                value=self._source,
            )
        return Endpoint(base_url=self._base_url.rstrip("/"), model=self._model, **self._options)

    @cached_property
    def _place(self) -> str:
        if not self._source:
            raise StorageError(
                "a generator needs a source, or the base_url and model of an endpoint: give one",
                code="neither-source-nor-endpoint",
                parameter="source",
            )
        return place_of(self._source)

    def _exists(self) -> bool:
        if self._endpoint is not None:
            self._endpoint.check()
            _check_measure(self._measure or SHIPPED)
            return True
        super()._exists()
        _check_measure(self._measure or self._source)
        if self._servers is not None:
            self._servers.check(self._source, _tokenizer(self._source).load())
        if self._prompt == "chat" and (reason := fit.chat_fault(_tokenizer(self._source).load())):
            from fedtext.generation.generators.local_weights import no_chat_message

            raise StorageError(
                no_chat_message(self._source, reason), code="no-chat-template", parameter="source", value=self._source
            )
        return True

    def check_weights(self) -> None:
        """Check the weights as of any model; an endpoint has none here."""
        if self._endpoint is None:
            super().check_weights()

    def _describe(self) -> dict[str, Any]:
        where = {"source": self._named} if self._named else {"base_url": self._base_url, "model": self._model}
        return {**where, "measure": self._measure, "temperature": self._temperature}


class NamedGeneratorDataset(GeneratorDataset):
    """One of several generators by name, so that the catalog entry `plm_{name}` serves all of `models.plms`.

    Args:
        name: Its name.
        generators: By name, a source or the arguments of a `GeneratorDataset`. A `prompt` among them is the prompt
            template of this generator, and takes precedence over the sampler's.
        measure: As for `GeneratorDataset`, where a generator's own arguments do not set it.
        served: The same.
        metadata: Ignored by Kedro.
    """

    def __init__(
        self,
        *,
        name: str,
        generators: Mapping[str, str | Mapping[str, Any]] | None,
        measure: str | None = None,
        served: Mapping[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        known = generators or {}
        if name not in known:
            raise StorageError(
                f"models.plms has no generator '{name}' (it has: {', '.join(sorted(known)) or 'none'}): add it, or "
                "correct the name",
                code="unknown-generator",
                parameter="models.plms",
                value=name,
            )
        told = known[name]
        settings = {"source": told} if isinstance(told, str) else dict(told)
        super().__init__(**{"measure": measure, "served": served, **settings}, metadata=metadata)
        prompt: Any = settings.get("prompt")
        try:
            self._own_prompt = None if prompt is None else as_prompt(prompt, f"models.plms.{name}.prompt")
        except InputError as error:
            raise StorageError(str(error), code=error.code, parameter=error.parameter, value=error.value) from None


def _temperature(given: float | None, source: str) -> float | None:
    """Return a generator's own temperature after validation, for no parameter model has checked it."""
    try:
        return TypeAdapter(Temperature | None).validate_python(given)
    except ValidationError as error:
        said = str(error.errors()[0]["msg"])
        raise StorageError(
            f"generator '{source}' has temperature {given!r}: {said[:1].lower()}{said[1:]}",
            code="unusable-temperature",
            parameter="temperature",
            value=given,
        ) from None


def _tokenizer(source: str) -> Tokenizer:
    """Return a handle on a language model's tokenizer, whose files are downloaded."""
    from fedtext.models.language_model import Tokenizer

    return Tokenizer(fetch_tokenizer(place_of(source), "tokenizer", SHIPPED))


def _check_measure(source: str) -> None:
    """Raise an error if a tokenizer cannot cut texts; installed ones are known to."""
    if place_of(source) == source:
        fit.check_fit(source, TokenizerDataset.kind, TokenizerDataset.instead, TokenizerDataset.asked)


def _digest(directory: Path) -> str:
    """Return the SHA-256 over the names and contents of a tokenizer's files."""
    found = hashlib.sha256()
    for path in sorted({path for pattern in TOKENIZER_FILES for path in directory.glob(pattern)}):
        found.update(f"{path.name}\x1f{hashlib.sha256(path.read_bytes()).hexdigest()}\x1e".encode())
    return f"tokenizer {found.hexdigest()}"
