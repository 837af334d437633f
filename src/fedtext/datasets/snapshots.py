"""LargeFedBench's snapshots as versioned datasets: the version is the snapshot's name, a directory below `filepath`.

Kedro's own words choose one: `kedro run --load-versions NAME:2025.1`, `catalog.load(NAME, version="2025.1")`,
`dataset.list_versions()`. Snapshots differ from Kedro's versions in two ways. Their names are not times but those that
a benchmark is cited by, so the newest is the last one written. And a directory is a version only with a manifest.
"""

from __future__ import annotations

from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

from kedro.io import AbstractVersionedDataset, Version

from fedtext.datasets.atomic import StorageError
from fedtext.largefedbench.snapshot import MANIFEST, Built, SnapshotError, is_snapshot, publish, read_snapshot

if TYPE_CHECKING:
    import pandas as pd


class VersionedSnapshots(AbstractVersionedDataset[Any, Any]):
    """Snapshots below one directory, each a version.

    Args:
        filepath: The directory.
        version: Kedro's, where the entry is `versioned: true`.
        metadata: Ignored by Kedro.
    """

    def __init__(
        self, *, filepath: str, version: Version | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        super().__init__(PurePosixPath(filepath), version or Version(None, None), is_snapshot)
        self.metadata = metadata

    @property
    def directory(self) -> Path:
        """The snapshot that `load` reads: the version asked for, or the newest.

        Raises:
            SnapshotError: There is none.
        """
        place = Path(self._get_load_path())
        if not is_snapshot(place):
            raise SnapshotError(
                f"{place} is no snapshot: it has no {MANIFEST}; choose one of {', '.join(self._names()) or 'none yet'}",
                code="not-a-snapshot",
                value=str(place),
            )
        return place

    def shaping(self) -> dict[str, str]:
        """Return the settings of the entry that shape what is loaded, beside the snapshot's own content."""
        return {}

    def _names(self) -> list[str]:
        return [PurePath(path).name for path in self._get_versions()]

    def _get_versions(self) -> list[str]:
        """Return the snapshots, the last one written first."""
        found = [path for path in self._glob_function(str(self._filepath / "*")) if self._exists_function(path)]
        return sorted(found, key=lambda path: ((Path(path) / MANIFEST).stat().st_mtime_ns, path), reverse=True)

    def _fetch_latest_load_version(self) -> str:
        names = self._names()
        if not names:
            raise SnapshotError(
                f"{self._filepath} has no snapshots: build one (kedro run --pipelines largefedbench)",
                code="no-snapshots",
                value=str(self._filepath),
            )
        return names[0]

    def _get_versioned_path(self, version: str) -> PurePosixPath:
        super()._get_versioned_path(version)  # refuses a name that leads elsewhere
        return self._filepath / version

    def _get_version_from_path(self, path: str) -> str:
        return PurePath(path).name

    def _exists(self) -> bool:
        try:
            return is_snapshot(Path(self._get_load_path()))
        except SnapshotError:  # no version is asked for, and none was built yet
            return False

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "version": self._version}


class SnapshotDataset(VersionedSnapshots):
    """A snapshot as a whole: a build is saved under its name, and the directory is what is loaded.

    Args:
        filepath: The directory of all snapshots.
        name: The name under which a build is saved (`largefedbench.snapshot`).
        chosen: The snapshot that is read, in place of Kedro's version (`corpus.snapshot`), or a directory anywhere if
            it has a slash.
        version: Kedro's, where the entry is `versioned: true`.
        metadata: Ignored by Kedro.
    """

    def __init__(
        self,
        *,
        filepath: str,
        name: str | float | None = None,
        chosen: str | float | None = None,
        version: Version | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(filepath=filepath, version=version, metadata=metadata)
        self._name, self._chosen = (None if given is None else str(given) for given in (name, chosen))
        self._saved: str | None = None

    def load(self) -> Path:
        """Return the directory of the snapshot; it is not read."""
        return self.directory

    def save(self, data: Built) -> None:
        """Publish the snapshot.

        Raises:
            StorageError: It was built for another place than this entry's.
        """
        place = Path(self._get_versioned_path(str(self._name)))
        if data.target.absolute() != place.absolute():
            raise StorageError(
                f"the snapshot was built for {data.target}, and its catalog entry keeps it as {place}: give both the "
                "same largefedbench.out_dir and largefedbench.snapshot",
                code="snapshot-belongs-elsewhere",
                value=str(data.target),
            )
        publish(data)
        self._saved = self._name

    def resolve_save_version(self) -> str | None:
        """Return the snapshot's name, and not the time of the run."""
        return self._name

    def resolve_load_version(self) -> str | None:
        """Return the version asked for, else the one that was saved, is chosen or will be saved, else the newest."""
        asked = self._version.load if self._version else None
        return asked or self._saved or self._chosen or self._name or self._fetch_latest_load_version()

    def _get_versioned_path(self, version: str) -> PurePosixPath:
        return PurePosixPath(version) if "/" in version else super()._get_versioned_path(version)


class SnapshotRecordsDataset(VersionedSnapshots):
    """The records of one config of a snapshot, verified and then read; never saved. For catalogs of one's own.

    Args:
        filepath: The directory of all snapshots.
        config: The config, such as `congress`.
        split: `train`, `validation` or `test`; None: all, one after the other, in client order.
        version: Kedro's, where the entry is `versioned: true`; None: the newest.
        metadata: Ignored by Kedro.
    """

    def __init__(
        self,
        *,
        filepath: str,
        config: str,
        split: str | None = None,
        version: Version | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(filepath=filepath, version=version, metadata=metadata)
        self._config, self._split = config, split

    def load(self) -> pd.DataFrame:
        """Return the records.

        Raises:
            SnapshotError: The snapshot is not there, was altered, or has no such config or split.
        """
        return read_snapshot(self.directory, self._config, self._split)

    def save(self, data: Any) -> NoReturn:
        """Raise an error: a snapshot is built, and never changed."""
        raise StorageError(
            f"the records of {self._filepath} are read only: kedro run --pipelines largefedbench builds a snapshot",
            code="snapshot-is-read-only",
            value=str(self._filepath),
        )

    def shaping(self) -> dict[str, str]:
        """Return config and split."""
        return {"config": self._config, "split": self._split or ""}

    def _describe(self) -> dict[str, Any]:
        return super()._describe() | {"config": self._config, "split": self._split}
