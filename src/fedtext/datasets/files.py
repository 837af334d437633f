"""Datasets of one file each: text, JSON, tables, figures, arrays and pydantic models.

- Text, Markdown, HTML and JSON files.
- Figures that Kedro-Viz shows.
- Tables.
- NumPy arrays in safetensors: fast, exact, and free of code.
- A JSON list, one member a line, written from an iterator: a snapshot's export need not fit into memory.
- Pydantic models as JSON: ledgers, states, reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from kedro.io import AbstractDataset
from kedro.utils import load_obj
from kedro_datasets import json as kedro_json
from kedro_datasets import pandas, plotly, text
from kedro_datasets._typing import JSONPreview
from pydantic import BaseModel, ValidationError

from fedtext.datasets.atomic import AtomicSave, StorageError
from fedtext.system.atomic import replacing_file, write_members, write_text

_UTF8_SAVE = {"mode": "w", "encoding": "utf-8", "newline": "\n"}
_UTF8_LOAD = {"mode": "r", "encoding": "utf-8"}


class JSONDataset(AtomicSave, kedro_json.JSONDataset):  # type: ignore[misc]
    """A JSON document in UTF-8, saved all-or-nothing."""

    DEFAULT_FS_ARGS: ClassVar[dict[str, Any]] = {"open_args_save": _UTF8_SAVE, "open_args_load": _UTF8_LOAD}


class TextDataset(AtomicSave, text.TextDataset):  # type: ignore[misc]
    """Text in UTF-8 (also Markdown and HTML), saved all-or-nothing."""

    DEFAULT_FS_ARGS: ClassVar[dict[str, Any]] = {"open_args_save": _UTF8_SAVE, "open_args_load": _UTF8_LOAD}


class PlotlyDataset(AtomicSave, plotly.JSONDataset):  # type: ignore[misc]
    """A Plotly figure as JSON, saved all-or-nothing; Kedro-Viz previews it."""


class ParquetDataset(AtomicSave, pandas.ParquetDataset):  # type: ignore[misc]
    """A pandas table in Parquet, saved all-or-nothing."""


class CSVDataset(AtomicSave, pandas.CSVDataset):  # type: ignore[misc]
    """A pandas table as CSV in UTF-8, for people, saved all-or-nothing.

    It begins with a byte order mark. Without one Excel reads the machine's own encoding, and shows "reÃ§u" for "reçu".
    Pandas and this project take the mark off when they read; other programs call the encoding `utf-8-sig`.
    """

    DEFAULT_FS_ARGS: ClassVar[dict[str, Any]] = {"open_args_save": {**_UTF8_SAVE, "encoding": "utf-8-sig"}}


_ONE = "array"


class ArraysDataset(AbstractDataset[np.ndarray | dict[str, np.ndarray], np.ndarray | dict[str, np.ndarray]]):
    """One array, or a dictionary of arrays, saved all-or-nothing and loaded in the same form.

    Args:
        filepath: The `.safetensors` file.
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: np.ndarray | dict[str, np.ndarray]) -> None:
        """Write numbers and booleans of any shape; strings and objects raise an error that names them."""
        from safetensors.numpy import save_file

        arrays = data if isinstance(data, dict) else {_ONE: np.asarray(data)}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
                kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
                raise StorageError(
                    f"{self._filepath}: '{name}' is {kind}; only numeric and boolean arrays are saved",
                    code="array-of-other-kind",
                    value=name,
                )
        contiguous = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
        with replacing_file(self._filepath) as temporary:
            temporary.touch()
            readers = temporary.stat().st_mode
            save_file(contiguous, temporary, metadata={"single": str(not isinstance(data, dict))})
            temporary.chmod(readers)  # safetensors writes a file for its owner alone

    def load(self) -> np.ndarray | dict[str, np.ndarray]:
        """Return the array or the dictionary that was saved."""
        from safetensors import safe_open

        with safe_open(self._filepath, framework="np") as file:
            arrays: dict[str, np.ndarray] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            single = (file.metadata() or {}).get("single") == "True"
        return arrays[_ONE] if single else arrays

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


class JSONListDataset(AbstractDataset[Iterable[Any], list[Any]]):
    """The members of an iterable as a JSON list, saved all-or-nothing.

    Args:
        filepath: The file, UTF-8.
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def load(self) -> list[Any]:
        """Return the whole list."""
        value: list[Any] = json.loads(self._filepath.read_text("utf-8"))
        return value

    def save(self, data: Iterable[Any]) -> None:
        """Write the members one by one, as the iterable yields them."""
        write_members(self._filepath, "[]", (json.dumps(member, ensure_ascii=False) for member in data))

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}


class PydanticJSONDataset(AbstractDataset[BaseModel, BaseModel]):
    """One pydantic model, validated again when it is loaded, saved all-or-nothing.

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
            raise StorageError(
                f"{self._filepath}: model '{self._model_name}' is not a pydantic model class",
                code="not-a-model-class",
                value=self._model_name,
            )
        return found

    def save(self, data: BaseModel) -> None:
        """Write `data`, which must be of the declared class."""
        if not isinstance(data, self._model):
            raise StorageError(
                f"{self._filepath}: got a {type(data).__name__}, the catalog says {self._model_name}",
                code="data-of-another-model",
                value=self._model_name,
            )
        write_text(self._filepath, data.model_dump_json(indent=2) + "\n")

    def load(self) -> BaseModel:
        """Return the model; the error for an invalid file names file and field, never the content."""
        try:
            return self._model.model_validate_json(self._filepath.read_text(encoding="utf-8"))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_input=False)
            )
            raise StorageError(
                f"{self._filepath} does not hold a {self._model_name}: {faults}",
                code="file-of-another-model",
                value=self._model_name,
            ) from None

    def preview(self) -> JSONPreview:
        """Return what Kedro-Viz shows."""
        return JSONPreview(self._filepath.read_text(encoding="utf-8"))

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "model": self._model_name}
