"""Models as catalog entries: public ones, read only, and directories that `save_pretrained` fills.

- Public language models and encoders as catalog entries, so that environments can swap them.
- A directory that a `save_pretrained` method fills: a PEFT adapter, a Transformers or Sentence-Transformers model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

from kedro.io import AbstractDataset

from fedtext.datasets.atomic import StorageError
from fedtext.models import fit
from fedtext.models.architecture import Architecture, architecture_of
from fedtext.models.language_model import place_of
from fedtext.models.reading_limits import Beyond, validate_script
from fedtext.models.source import SHIPPED, check_model_files, context_of, fetch, files_of, model_identity
from fedtext.models.weights import check_saved_weights, check_tensors
from fedtext.system.atomic import replacing_directory, write_text
from fedtext.system.progress import without_library_bars

if TYPE_CHECKING:
    from fedtext.models.encoder import Encoder
    from fedtext.models.language_model import LanguageModel, MaskedModel
    from fedtext.models.tagger import Tagger


OFFLINE, NO_MODEL, RULES = "offline", "none", "rules"


class PublicModelDataset(AbstractDataset[Any, Any]):
    """Base of public models: identified by content or commit, checked before a run, and never saved."""

    kind: ClassVar[str]
    instead: ClassVar[str]  # the replacement that an error suggests
    asked: ClassVar[tuple[fit.TokenizerCheck, ...]] = ()  # checks of its tokenizer
    model_class: ClassVar[str | None] = None  # the class of transformers whose tensors its files must hold
    beyond: ClassVar[Beyond] = Beyond.REFUSED  # what happens to a text that is longer than its `context`

    def __init__(self, *, source: str, metadata: dict[str, Any] | None = None) -> None:
        self._source = source
        self.metadata = metadata

    def save(self, data: Any) -> NoReturn:
        """Raise an error: a trained model is saved as a ModelDirectoryDataset."""
        raise StorageError(
            f"{self.kind} '{self._source}' is public and read only: save to a ModelDirectoryDataset",
            code="model-is-read-only",
            value=self._source,
        )

    def identity(self) -> Path | str:
        """Return what a result depends on: a directory's content, or a Hugging Face id with its commit of today."""
        return model_identity(self._place, self.kind, self.instead)

    @property
    def model_name(self) -> str:
        """The model's name for reports: its source, or its id and commit."""
        source, identity = self._describe().get("source"), str(self.identity())
        return identity if "@" in identity or source is None else str(source)

    @property
    def given_name(self) -> str:
        """The model's name as the configuration gives it."""
        return self._source

    @cached_property
    def _place(self) -> str:
        """The source, or the directory of a model that comes with a package."""
        return self._source

    @property
    def context(self) -> int | None:
        """The largest number of tokens that a local model reads at once; None if unknown or unlimited."""
        return context_of(self._place, self.kind, self.instead)

    @property
    def architecture(self) -> Architecture | None:
        """What the model is built like, known without its weights; None if it does not compute here.

        Raises:
            MissingFileError: It is not known.
        """
        return architecture_of(self._source)

    def _exists(self) -> bool:
        """Return True, so that a missing model gives its own error when it is loaded."""
        check_model_files(self._place, self.kind, self.instead)
        if self._place == self._source:  # a model that comes with a package needs no check
            fit.check_fit(self._place, self.kind, self.instead, self.asked)
            self._check_tensors(Path(self._place).expanduser())
        return True

    def check_weights(self) -> None:
        """Raise an error if a weight is missing, NaN or infinite; a model of the hub is downloaded for that.

        A model may be loaded for the first time after a release, when the budget is spent.

        Raises:
            OSError: The model cannot be downloaded, or is not complete.
            ValueError: A weight is NaN or infinite.
        """
        if self._place != self._source:  # it comes with a package
            return
        directory = files_of(self._place, self.kind, self.instead)
        if not Path(self._place).expanduser().is_dir():  # it was not here before
            check_model_files(str(directory), self.kind, self.instead)
            self._check_tensors(directory)
        check_saved_weights(directory, f"{self.kind} '{self._source}'", "get its files again")

    def _check_tensors(self, directory: Path) -> None:
        if self.model_class is not None and directory.is_dir():
            check_tensors(directory, self.model_class, self._source, self.kind, self.instead)

    def _describe(self) -> dict[str, Any]:
        return {"source": self._source}


class LanguageModelDataset(PublicModelDataset):
    """A public language model by its source; loading returns a light handle, not the weights.

    Args:
        source: `bundled:<name>` (shipped with the package), `smollm2` (from one installed), a local directory, or a
            Hugging Face id (`owner/name`, or `owner/name@revision`).
        metadata: Ignored by Kedro.
    """

    kind, instead, asked = "language model", SHIPPED, fit.LANGUAGE_MODEL
    model_class = "AutoModelForCausalLM"

    def load(self) -> LanguageModel:
        """Return the handle; the weights are downloaded first and read at their first use."""
        from fedtext.models.language_model import LanguageModel

        fetch(self._place, self.kind, self.instead)
        return LanguageModel(self._source)

    @cached_property
    def _place(self) -> str:
        return place_of(self._source)


class MaskedModelDataset(PublicModelDataset):
    """A public masked language model by its source, for variation by mask filling; loading returns a light handle.

    Args:
        source: A local directory or a Hugging Face id; `none` where no masked language model is at hand.
        metadata: Ignored by Kedro.
    """

    kind, instead, asked = "masked language model", "none, with pe.variation few_shot", fit.MASKED_MODEL
    model_class = "AutoModelForMaskedLM"

    def load(self) -> MaskedModel:
        """Return the handle; the weights are read at their first use."""
        from fedtext.models.language_model import MaskedModel

        return MaskedModel(self._place)

    @cached_property
    def _place(self) -> str:
        if self._source == NO_MODEL:
            raise StorageError(
                "mask filling needs a masked language model and models.masked is none: name a local directory or a "
                "Hugging Face id (--params models.masked=roberta-large, or --env hub), or set "
                "pe.variation to few_shot",
                code="no-masked-model",
                parameter="models.masked",
            )
        return self._source


class TaggerDataset(PublicModelDataset):
    """A model or rules that find entities in texts, by source; loading returns a light handle.

    Args:
        source: `rules` (patterns, which ship with the package), a local directory, or a Hugging Face id of a token
            classifier.
        metadata: Ignored by Kedro.
    """

    kind, instead, asked = "tagger", f"'{RULES}'", fit.TAGGER
    model_class = "AutoModelForTokenClassification"

    def load(self) -> Tagger:
        """Return the rules, or the classifier's handle."""
        from fedtext.models.rule_tagger import RuleTagger
        from fedtext.models.tagger import TokenClassifier

        return RuleTagger() if self._source == RULES else TokenClassifier(self._place)

    @cached_property
    def _place(self) -> str:
        if self._source != RULES:
            return self._source
        from fedtext.models import rule_tagger

        return str(Path(rule_tagger.__file__))

    @property
    def context(self) -> int | None:
        """The largest number of tokens that the classifier reads at once; None for rules."""
        return None if self._source == RULES else super().context

    def identity(self) -> Path | str:
        """Return the file of the rules, or the classifier's content or commit."""
        return Path(self._place) if self._source == RULES else super().identity()

    @property
    def architecture(self) -> Architecture | None:
        """What the classifier is built like; None for rules."""
        return None if self._source == RULES else super().architecture

    def _exists(self) -> bool:
        return self._source == RULES or super()._exists()


class EncoderDataset(PublicModelDataset):
    """A public sentence encoder, loaded once a run and passed to every node that embeds.

    Args:
        source: `offline` (the files of an installed package, whose SHA-256 is checked), a local directory, or a
            Hugging Face id (`owner/name`, or `owner/name@revision`).
        device: `auto`, `cpu`, `cuda`, ...
        batch_tokens: Tokens a batch; by default what suits a CPU.
        metadata: Ignored by Kedro.
    """

    kind, instead, asked, beyond = "encoder", f"'{OFFLINE}'", fit.ENCODER, Beyond.WINDOWS

    def __init__(
        self,
        *,
        source: str,
        device: str = "auto",
        batch_tokens: int | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(source=source, metadata=metadata)
        self._device, self._batch_tokens = device, batch_tokens
        self._encoder: Encoder | None = None

    def load(self) -> Encoder:
        """Return the encoder; its own checks (files exist, SHA-256 is right) raise errors for users."""
        if self._encoder is None:
            from fedtext.models.encoder import load_encoder

            self._encoder = load_encoder(self._source, device=self._device, batch_tokens=self._batch_tokens)
        return self._encoder

    def validate_script(self, texts: Sequence[str], named: str) -> None:
        """Raise ValueError if the encoder does not know the script of public texts, which messages call `named`.

        Only its tokenizer is read, and only if the texts have more than plain Latin letters, which every encoder knows.
        """
        from fedtext.models.encoder import encoder_tokenizer, unknown_share

        if not all(text.isascii() for text in texts):
            validate_script(unknown_share(encoder_tokenizer(self._source), texts), self._source, named)

    @cached_property
    def _place(self) -> str:
        if self._source != OFFLINE:
            return self._source
        from fedtext.models.offline_encoder import offline_encoder_files

        return str(offline_encoder_files())

    def _release(self) -> None:
        self._encoder = None

    def _describe(self) -> dict[str, Any]:
        return {"source": self._source, "device": self._device, "batch_tokens": self._batch_tokens}


MARKER = "SHA256SUMS.json"


class Saveable(Protocol):
    """Interface of objects that write themselves into a directory: a model, a tokenizer, an adapter."""

    def save_pretrained(self, path: str, /) -> Any:
        """Write all files below `path`."""


class ModelDirectoryDataset(AbstractDataset[Saveable | tuple[Saveable, ...], Path]):
    """Saves one or several objects into one directory by `save_pretrained`, and loads the verified path.

    The directory is filled under a temporary name, sealed by a marker file with every file's SHA-256, and renamed. A
    directory without its marker counts as missing. Loading returns the path: models are not copied between nodes.

    Args:
        filepath: The directory.
        metadata: Ignored by Kedro; see docs/privacy/checks.md for the keys below `fedtext`.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: Saveable | tuple[Saveable, ...]) -> None:
        """Write `data` and the marker; the old directory stays until the new one is complete."""
        parts = data if isinstance(data, tuple | list) else (data,)
        for part in parts:
            if not callable(getattr(part, "save_pretrained", None)):
                raise StorageError(
                    f"{self._filepath}: cannot save a {type(part).__name__}, which has no save_pretrained(path)",
                    code="not-a-model",
                    value=type(part).__name__,
                )
        with replacing_directory(self._filepath) as directory, without_library_bars():
            for part in parts:
                part.save_pretrained(str(directory))
            digests = file_digests(directory)
            if not digests:
                raise StorageError(
                    f"{self._filepath}: save_pretrained of {type(data).__name__} wrote no file",
                    code="model-wrote-no-file",
                    value=type(data).__name__,
                )
            write_text(directory / MARKER, json.dumps(digests, indent=1, sort_keys=True))

    def load(self) -> Path:
        """Return the directory's path, after every file was checked against the marker.

        Raises:
            DatasetError: A file is missing, changed or unexpected; it is named.
        """
        if not self._exists():
            raise StorageError(
                f"{self._filepath} holds no complete model: its {MARKER} is missing. Run its node again",
                code="incomplete-model",
                value=str(self._filepath),
            )
        expected = json.loads((self._filepath / MARKER).read_text(encoding="utf-8"))
        found = file_digests(self._filepath)
        for name in sorted(expected.keys() | found.keys()):
            if expected.get(name) != found.get(name):
                state = "missing" if name not in found else "not listed" if name not in expected else "changed"
                raise StorageError(
                    f"{self._filepath / name} is {state}: delete {self._filepath} and run again",
                    code="model-file-changed",
                    value=name,
                )
        return self._filepath

    def _exists(self) -> bool:
        return (self._filepath / MARKER).is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


def file_digests(directory: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below `directory` by its relative path, the marker left out."""
    digests = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name != MARKER:
            with path.open("rb") as file:
                digests[path.relative_to(directory).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests
