"""What a dataset tells a user about what it holds."""

from __future__ import annotations

from kedro.io import DatasetError

from fedtext.system.errors import FedtextError


class StorageError(FedtextError, DatasetError):
    """A dataset cannot be loaded or saved as its catalog entry asks; Kedro hands it on as it is."""
