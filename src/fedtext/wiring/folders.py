"""Which folders of a data root hold private data, by the catalog."""

from __future__ import annotations

from pathlib import Path

from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from fedtext.wiring.guard.catalog import dataset_classes, entry, place


def private_folders(pipeline: Pipeline, catalog: DataCatalog, data_root: Path) -> set[Path]:
    """The data root's own folders, as `03_primary`, below which a private data set of the pipeline lies."""
    root, resolver = data_root.resolve(), catalog.config_resolver
    classes = dataset_classes(pipeline.datasets(), resolver)
    places = (place(entry(name, resolver)) for name, privacy in classes.items() if privacy == "private")
    inside = [path.relative_to(root).parts for path in places if path is not None and path.is_relative_to(root)]
    return {data_root / parts[0] for parts in inside if len(parts) > 1}
