"""Public models as catalog entries, so that an environment swaps them: language models and encoders, read only."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kedro.io import AbstractDataset, DatasetError

from fedtext.model_source import check_model_files

if TYPE_CHECKING:
    from fedtext.embedding.encoder import Encoder
    from fedtext.generation.language_model import LanguageModel
    from fedtext.generation.masked_model import MaskedModel

BUNDLED, OFFLINE, NO_MODEL = "bundled:", "offline", "none"


class LanguageModelDataset(AbstractDataset[Any, Any]):
    """A public language model by its source; loading returns a light handle, not the weights.

    Args:
        source: `bundled:<name>` (shipped with the package), a local directory, or a Hugging Face id.
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, source: str, metadata: dict[str, Any] | None = None) -> None:
        self._source = source
        self.metadata = metadata

    def load(self) -> LanguageModel:
        """The handle; weights are read where they are used."""
        from fedtext.generation.language_model import LanguageModel

        return LanguageModel(self._source)

    def save(self, data: Any) -> NoReturn:
        """Refused: trained adapters and models are saved as a ModelDirectoryDataset."""
        raise DatasetError(f"language model '{self._source}' is public and read only: save to a ModelDirectoryDataset")

    def identity(self) -> Path | str:
        """What a result depends on: the local directory's content, or a Hugging Face id."""
        if self._source.startswith(BUNDLED):
            from fedtext.generation.language_model import bundled

            return Path(bundled(self._source.removeprefix(BUNDLED)))
        path = Path(self._source).expanduser()
        return path if path.is_dir() else self._source

    def _exists(self) -> bool:
        """Always true: what is missing is named by the error that this raises."""
        check_model_files(str(self.identity()), "language model", f"{BUNDLED}generator")
        return True

    def _describe(self) -> dict[str, Any]:
        return {"source": self._source}


class MaskedModelDataset(LanguageModelDataset):
    """A public masked language model by its source, for variation by mask filling; loading returns a light handle.

    Args:
        source: A local directory or a Hugging Face id; `none` where no masked language model is at hand.
        metadata: Ignored by Kedro.
    """

    def load(self) -> MaskedModel:  # type: ignore[override]
        """The handle; weights are read where they are used."""
        from fedtext.generation.masked_model import MaskedModel

        self._refuse_none()
        return MaskedModel(self._source)

    def _exists(self) -> bool:
        """Always true: what is missing is named by the error that this raises."""
        self._refuse_none()
        check_model_files(str(self.identity()), "masked language model", "none, with pe.variation few_shot")
        return True

    def _refuse_none(self) -> None:
        if self._source == NO_MODEL:
            raise DatasetError(
                "mask filling needs a masked language model and models.masked is none: name a local directory or a "
                "Hugging Face id (--params models.masked=roberta-large, or --env hub), or set "
                "pe.variation to few_shot"
            )


class EncoderDataset(AbstractDataset[Any, Any]):
    """A public sentence encoder, loaded once a run and handed to every node that embeds.

    Args:
        source: `offline` (the files of an installed package), a local directory, or a Hugging Face id.
        device: `auto`, `cpu`, `cuda`, ...
        batch_size: Texts a batch; by default what suits the device.
        metadata: Ignored by Kedro.
    """

    def __init__(
        self,
        *,
        source: str,
        device: str = "auto",
        batch_size: int | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self._source, self._device, self._batch_size = source, device, batch_size
        self.metadata = metadata
        self._encoder: Encoder | None = None

    def load(self) -> Encoder:
        """The encoder; its own checks (files there, SHA-256 right) speak for themselves."""
        if self._encoder is None:
            from fedtext.embedding.encoder import load_encoder

            self._encoder = load_encoder(self._source, device=self._device, batch_size=self._batch_size)
        return self._encoder

    def save(self, data: Any) -> NoReturn:
        """Refused: encoders are public and read only."""
        raise DatasetError(f"encoder '{self._source}' is public and read only")

    @cached_property
    def _place(self) -> Path | str:
        if self._source == OFFLINE:
            from fedtext.embedding.offline_encoder import offline_encoder_files

            return offline_encoder_files()
        path = Path(self._source).expanduser()
        return path if path.is_dir() else self._source

    def identity(self) -> Path | str:
        """What a result depends on: a directory's content (the offline one's SHA-256 is checked), or an id."""
        return self._place

    def _exists(self) -> bool:
        """Always true: what is missing is named by the error that this raises."""
        check_model_files(str(self.identity()), "encoder", f"'{OFFLINE}'")
        return True

    def _release(self) -> None:
        self._encoder = None

    def _describe(self) -> dict[str, Any]:
        return {"source": self._source, "device": self._device, "batch_size": self._batch_size}
