"""Pydantic models as JSON: ledgers, states, reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset
from kedro.utils import load_obj
from kedro_datasets._typing import JSONPreview
from pydantic import BaseModel, ValidationError

from fedtext.datasets.errors import StorageError
from fedtext.system.atomic import write_text


class PydanticJSONDataset(AbstractDataset[BaseModel, BaseModel]):
    """One model, checked again when it is loaded, saved all-or-nothing.

    Args:
        filepath: The JSON file.
        model: Dotted name of the class, e.g. `fedtext.privacy.ledger.Ledger`.
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, filepath: str, model: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self._model_name = model
        self.metadata = metadata

    @property
    def _model(self) -> type[BaseModel]:
        found = load_obj(self._model_name)
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            raise StorageError(f"{self._filepath}: model '{self._model_name}' is not a pydantic model class")
        return found

    def save(self, data: BaseModel) -> None:
        """Writes `data`, which must be of the declared class."""
        if not isinstance(data, self._model):
            raise StorageError(f"{self._filepath}: got a {type(data).__name__}, the catalog says {self._model_name}")
        write_text(self._filepath, data.model_dump_json(indent=2) + "\n")

    def load(self) -> BaseModel:
        """The model; a file that does not fit the class is an error naming file and field, never the content."""
        try:
            return self._model.model_validate_json(self._filepath.read_text(encoding="utf-8"))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_input=False)
            )
            raise StorageError(f"{self._filepath} does not hold a {self._model_name}: {faults}") from None

    def preview(self) -> JSONPreview:
        """What Kedro-Viz shows."""
        return JSONPreview(self._filepath.read_text(encoding="utf-8"))

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "model": self._model_name}
