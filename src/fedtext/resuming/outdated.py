"""Which results of a data root were made from others that have been replaced since, by the records of its nodes.

A run that was stopped, or a part of a pipeline, may leave new texts beside the report of earlier ones.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from fedtext.resuming.fingerprint import FileDigests
from fedtext.resuming.records import NodeRecord, Store

Content = tuple[str, str]  # the name of a data set and the digest of what it held


def outdated(data_root: Path, files: Collection[Path]) -> list[Path]:
    """Return those of the files that were made, over any number of nodes, from earlier contents of the others."""
    makers = Store(data_root).makers()
    records = {id(one): one for made in makers.values() for one in made}.values()
    digests = FileDigests({key: digest for one in records for key, digest in one.files.items()})
    within = {folder for path in files for folder in path.relative_to(data_root).parents if len(folder.parts) > 1}
    present = {path: digests.of(path) for path in (*files, *(data_root / folder for folder in within))}
    saved = {content for one in records for content in one.outputs.items()}
    results = {(name, digest) for name, digest in saved if digest in present.values()}
    follow = results | _made_from(records, results)
    names, shown = ({name for name, _ in contents} for contents in (follow, results))
    current = results | {content for content in saved if content[0] not in shown}
    replaced = {content for one in records for content in one.parts.items() if content[0] in names} - current
    behind = _made_from(records, replaced)
    old = {digest for _, digest in behind} - {digest for _, digest in saved - behind}
    return [path for path in files if any(present.get(one) in old for one in (path, *path.parents))]


def _made_from(records: Collection[NodeRecord], contents: set[Content]) -> set[Content]:
    """Return what was made from the contents, and from what was made from them."""
    made = set[Content]()
    while True:
        inputs = contents | made
        more = {content for one in records if inputs & one.parts.items() for content in one.outputs.items()}
        if more <= made:
            return made
        made |= more
