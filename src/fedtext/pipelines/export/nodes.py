"""Export of a snapshot in the file format of POPri's authors."""

from collections.abc import Iterable

from fedtext.params.largefedbench import Export
from fedtext.system.refusal import RunRefusedError


def export_snapshot(export: Export, out_dir: str) -> tuple[Iterable[dict[str, str]], ...]:
    """Write train, validation and test clients with the seven fields that the published scraper gave them."""
    from fedtext.largefedbench.exports import seven_fields_by_split
    from fedtext.largefedbench.snapshot import snapshot_directory

    if export.snapshot is None or export.config is None:
        raise RunRefusedError(
            "an export needs a snapshot and one of its configs: kedro run --pipelines largefedbench_export --params "
            "export.snapshot=2025.1,export.config=congress",
            code="export-not-told",
            parameter="export",
        )
    return seven_fields_by_split(snapshot_directory(export.snapshot, out_dir), export.config)
