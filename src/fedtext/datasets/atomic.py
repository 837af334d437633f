"""What all datasets share: all-or-nothing saves, and errors that name what a file holds.

`AtomicSave` is a mixin for Kedro datasets, because kedro-datasets writes straight into the final file.
"""

from __future__ import annotations

import copy
from pathlib import Path, PurePosixPath
from typing import Any

from kedro.io import DatasetError

from fedtext.system.atomic import replacing_file
from fedtext.system.errors import FedtextError


class StorageError(FedtextError, DatasetError):
    """A dataset cannot be loaded or saved as its catalog entry requires; Kedro passes the error on unchanged."""


class AtomicSave:
    """Mixin for a file-based Kedro dataset: `class ParquetDataset(AtomicSave, pandas.ParquetDataset)`.

    Saving happens on an unversioned copy of the dataset that points at a temporary file beside the target; the file is
    synced and renamed, so a kill or a full disk leaves the previous content. Loading, versions, metadata and previews
    are the wrapped dataset's own.
    """

    _filepath: PurePosixPath
    _version: Any
    _protocol: str

    def save(self, data: Any) -> None:
        """Save `data` all-or-nothing; a remote protocol is refused, because only local files can be renamed."""
        if self._protocol != "file":
            raise StorageError(
                f"{type(self).__name__} saves to local files only, not to '{self._protocol}://' "
                f"({self._filepath}): use the kedro_datasets type for remote storage",
                code="not-a-local-file",
                value=str(self._filepath),
            )
        with replacing_file(Path(self._get_save_path())) as temporary:  # type: ignore[attr-defined]
            writer = copy.copy(self)
            writer._filepath, writer._version = PurePosixPath(temporary), None
            super(AtomicSave, writer).save(data)  # type: ignore[misc]
