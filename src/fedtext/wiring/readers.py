"""Nodes that read what a user named: a pipeline names them by these, and so does what looks at it before a run."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedro.pipeline import Pipeline


class Reader(StrEnum):
    """What each reads is said by its function; a pipeline's namespace may stand before the name."""

    TABLE = "read_private_table"
    PUBLISHED = "read_private_published"
    SNAPSHOT = "read_private_snapshot"
    DOCSTRINGS = "read_private_docstrings"
    PAIRS = "read_private_pairs"
    ENROLMENT = "declare_population"
    PUBLIC = "read_public_records"
    PROMPTS = "read_public_prompts"
    DESCRIPTION = "write_described_texts"


OF_OWN_TEXT = frozenset({Reader.TABLE, Reader.PUBLISHED, Reader.SNAPSHOT})  # private text in a file that is named


def readers(pipeline: Pipeline) -> set[Reader]:
    """Those among a pipeline's nodes."""
    names = {node.name.rpartition(".")[2] for node in pipeline.nodes}
    return {reader for reader in Reader if reader in names}
