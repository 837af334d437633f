"""Generators as catalog entries, and the tokenizer that cuts samples, so that an environment swaps them; read only."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.io import DatasetError

from fedtext.datasets.models import PublicModelDataset, place_of_language_model
from fedtext.models.source import SHIPPED, TOKENIZER_FILES, check_tokenizer_files, fetch, fetch_tokenizer
from fedtext.params.generation import PromptName

if TYPE_CHECKING:
    from fedtext.generation.local_generator import LocalGenerator
    from fedtext.models.language_model import Tokenizer


class TokenizerDataset(PublicModelDataset):
    """The tokenizer that cuts texts into samples; loading returns a light handle.

    Args:
        source: `bundled:<name>`, a local directory or a Hugging Face id, of which only the tokenizer is read;
            None: that of `generator`.
        generator: Source of the generator.
        metadata: Ignored by Kedro.
    """

    kind, instead = "tokenizer", SHIPPED

    def __init__(self, *, source: str | None = None, generator: str, metadata: dict[str, Any] | None = None) -> None:
        super().__init__(source=source or generator, metadata=metadata)

    def load(self) -> Tokenizer:
        """The handle; its files are here by then, for nodes that read private data have no network."""
        from fedtext.models.language_model import Tokenizer

        return Tokenizer(fetch_tokenizer(self._place, self.kind, self.instead))

    def identity(self) -> Path | str:
        """The files of a tokenizer by content, or a Hugging Face id with its commit: other weights change nothing."""
        found = super().identity()
        return found if isinstance(found, str) else _digest(found)

    @cached_property
    def _place(self) -> str:
        return place_of_language_model(self._source)

    def _exists(self) -> bool:
        check_tokenizer_files(self._place, self.kind, self.instead)
        return True


class GeneratorDataset(PublicModelDataset):
    """A public model that writes; loading returns a light handle, not the weights.

    Args:
        source: `bundled:<name>` (shipped with the package), a local directory, or a Hugging Face id
            (`owner/name`, or `owner/name@revision`).
        measure: Source of the tokenizer in whose tokens lengths are counted; None: the model's own.
        temperature: What this generator draws at, whatever the sampler says; None: as the sampler says.
        prompt: The form that it will be asked in, so that one it cannot serve is refused before a run.
        metadata: Ignored by Kedro.
    """

    kind, instead = "language model", SHIPPED
    trainable = True

    def __init__(
        self,
        *,
        source: str,
        measure: str | None = None,
        temperature: float | None = None,
        prompt: PromptName = "list",
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(source=source, metadata=metadata)
        self._measure, self._temperature, self._prompt = measure, temperature, prompt

    def load(self) -> LocalGenerator:
        """The handle; weights are read where they are used, and are here by then."""
        from fedtext.generation.local_generator import LocalGenerator
        from fedtext.models.language_model import Tokenizer

        fetch(self._place, self.kind, self.instead)
        measure = self._measure and Tokenizer(
            fetch_tokenizer(place_of_language_model(self._measure), "tokenizer", SHIPPED)
        )
        return LocalGenerator(self._source, measure=measure or None, temperature=self._temperature)

    @cached_property
    def _place(self) -> str:
        return place_of_language_model(self._source)

    def _exists(self) -> bool:
        from fedtext.generation.local_generator import no_chat_template
        from fedtext.models.language_model import Tokenizer

        super()._exists()
        if self._prompt == "chat":
            place = fetch_tokenizer(self._place, self.kind, self.instead)
            if Tokenizer(place).load().chat_template is None:
                raise DatasetError(no_chat_template(self._source))
        return True

    def _describe(self) -> dict[str, Any]:
        return {"source": self._source, "measure": self._measure, "temperature": self._temperature}


def _digest(directory: Path) -> str:
    """SHA-256 over the names and contents of a tokenizer's files."""
    found = hashlib.sha256()
    for path in sorted({path for pattern in TOKENIZER_FILES for path in directory.glob(pattern)}):
        found.update(f"{path.name}\x1f{hashlib.sha256(path.read_bytes()).hexdigest()}\x1e".encode())
    return f"tokenizer {found.hexdigest()}"
