"""What changed between two snapshots."""

from typing import Any

from fedtext.params.largefedbench import LargeFedBench
from fedtext.system.refusal import RunRefusedError


def compare_snapshots(
    old: str | float | None, new: str | float | None, largefedbench: LargeFedBench
) -> tuple[dict[str, Any], str]:
    """Clients added, removed and altered from snapshot `old` to `new` (names, or directories), as JSON and Markdown."""
    from fedtext.largefedbench.diff import compare, render_diff
    from fedtext.largefedbench.snapshot import snapshot_directory

    if old is None or new is None:
        raise RunRefusedError(
            "name two snapshots: kedro run --pipelines largefedbench_diff --params old=2025.1,new=2025.2"
        )
    difference = compare(*(snapshot_directory(str(one), largefedbench.out_dir) for one in (old, new)))
    return difference, render_diff(difference)
