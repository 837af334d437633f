"""Checks, before a run, of files that parameters name: private ones exist, and public ones can be read.

Of a private file only the names of its columns are read here, where classes are declared; the node that reads its rows
runs under guard (fedtext.wiring.guard).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from kedro.pipeline import Pipeline

from fedtext.corpora.classes import check_classes
from fedtext.corpora.clients import declared_number, existing_list
from fedtext.corpora.preferences import existing_pairs, read_public_pairs
from fedtext.corpora.public import public_prompts
from fedtext.corpora.published.loader import existing_published
from fedtext.corpora.table import existing_table, read_public_table, validate_header
from fedtext.largefedbench.snapshot import is_snapshot, snapshot_directory
from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy
from fedtext.params.task import as_labels
from fedtext.system.errors import InputError, MissingFileError, did_you_mean
from fedtext.wiring.readers import OF_OWN_TEXT, Reader, readers

SNAPSHOT = "largefedbench_snapshot"  # the data set whose versions are snapshots


def check_named_files(pipeline: Pipeline, parameters: Mapping[str, Any], versions: Collection[str] = ()) -> None:
    """Check the files that the pipeline's own nodes will read; `versions`: data sets whose version Kedro was told.

    Raises:
        FedtextError: one is not there, not of a kind that is read, or a public one cannot be read.
    """
    found = readers(pipeline) - {Reader.DESCRIPTION}
    if not found:
        return
    corpus, privacy = Corpus.model_validate(parameters["corpus"]), Privacy.model_validate(parameters["privacy"])
    if found & OF_OWN_TEXT:
        _check_private(corpus)
        _check_snapshot(corpus, str(parameters["largefedbench"]["out_dir"]), by_version=SNAPSHOT in versions)
        if not corpus.is_public:
            _check_declaration(corpus, privacy)
    if Reader.PAIRS in found:
        existing_pairs(corpus)
    if Reader.PROMPTS in found and corpus.public_path is not None:
        public_prompts(corpus, 1, 0)
    if Reader.PUBLIC_PAIRS in found:
        read_public_pairs(str(parameters["dpprefsyn"]["public_pairs"]))
    if Reader.ENROLMENT in found and privacy.enrolment is not None:
        existing_list(privacy.enrolment.path)
    if Reader.PUBLIC in found and corpus.public_path is not None:
        read_public_table(corpus)
    if found & {*OF_OWN_TEXT, Reader.DOCSTRINGS}:
        for group in sorted(name.removeprefix("params:") for name in pipeline.inputs() if name.startswith("params:")):
            declared = parameters.get(group)
            labels = as_labels(declared.get("labels") or ()) if isinstance(declared, Mapping) else ()
            check_classes(corpus, cast(Sequence[str], labels), f"{group}.labels")


def _check_declaration(corpus: Corpus, privacy: Privacy) -> None:
    """Check what a private corpus must declare, before a row of it is read."""
    if privacy.enrolment is None:
        declared_number(corpus, privacy)
    if privacy.total_epsilon is not None and privacy.total_epsilon < privacy.epsilon:
        raise InputError(
            f"privacy.total_epsilon is {privacy.total_epsilon:g}, below privacy.epsilon {privacy.epsilon:g}: all "
            "releases together may cost less than this run alone; raise the one, or lower the other",
            code="total-below-epsilon",
            parameter="privacy.total_epsilon",
            value=privacy.total_epsilon,
        )


def _check_private(corpus: Corpus) -> None:
    if corpus.source == "table":
        if corpus.path is None:
            raise InputError(
                "corpus.path is not set: corpus.source 'table' needs corpus.path=FILE, CSV, Parquet or JSON Lines",
                code="table-not-set",
                parameter="corpus.path",
            )
        validate_header(corpus, existing_table(corpus.path, "corpus.path"))
    elif corpus.has_path:
        existing_published(corpus)


def _check_snapshot(corpus: Corpus, out_dir: str, *, by_version: bool) -> None:
    if corpus.source != "snapshot":
        return
    if by_version and corpus.snapshot is not None:
        raise InputError(
            f"corpus.snapshot={corpus.snapshot} and --load-versions {SNAPSHOT} both name a snapshot: leave one out",
            code="snapshot-told-twice",
            parameter="corpus.snapshot",
            value=corpus.snapshot,
        )
    if (corpus.snapshot is None and not by_version) or corpus.config is None:
        raise InputError(
            "corpus.source 'snapshot' needs a snapshot (corpus.snapshot: a name below largefedbench.out_dir, or a "
            f"directory; or --load-versions {SNAPSHOT}:NAME) and corpus.config, for example "
            "corpus.snapshot=2025.1,corpus.config=congress",
            code="snapshot-not-set",
            parameter="corpus.snapshot" if corpus.config is not None else "corpus.config",
        )
    if corpus.snapshot is None or is_snapshot(place := snapshot_directory(corpus.snapshot, out_dir)):
        return
    known = sorted(path.name for path in place.parent.glob("*") if is_snapshot(path))
    raise MissingFileError(
        f"corpus.snapshot={corpus.snapshot}: {place} is no finished snapshot; "
        f"{did_you_mean(place.name, known, 'build one: kedro run --pipelines largefedbench')}",
        code="no-such-snapshot",
        parameter="corpus.snapshot",
        value=corpus.snapshot,
    )
