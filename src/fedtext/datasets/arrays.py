"""NumPy arrays in safetensors: fast, exact, and free of code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset

from fedtext.datasets.errors import StorageError
from fedtext.system.atomic import replacing_file

_ONE = "array"


class ArraysDataset(AbstractDataset[np.ndarray | dict[str, np.ndarray], np.ndarray | dict[str, np.ndarray]]):
    """One array, or a dictionary of arrays, saved all-or-nothing; what was saved is what is loaded.

    Args:
        filepath: The `.safetensors` file.
        metadata: Ignored by Kedro.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        self.metadata = metadata

    def save(self, data: np.ndarray | dict[str, np.ndarray]) -> None:
        """Writes numbers and booleans of any shape; strings and objects are refused by name."""
        from safetensors.numpy import save_file

        arrays = data if isinstance(data, dict) else {_ONE: np.asarray(data)}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
                kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
                raise StorageError(f"{self._filepath}: '{name}' is {kind}; only numeric and boolean arrays are saved")
        contiguous = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
        with replacing_file(self._filepath) as temporary:
            save_file(contiguous, temporary, metadata={"single": str(not isinstance(data, dict))})

    def load(self) -> np.ndarray | dict[str, np.ndarray]:
        """The array or the dictionary that was saved."""
        from safetensors import safe_open

        with safe_open(self._filepath, framework="np") as file:
            arrays: dict[str, np.ndarray] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            single = (file.metadata() or {}).get("single") == "True"
        return arrays[_ONE] if single else arrays

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath)}
