"""Checks of the classes of conditional generation, by what is public about a corpus.

The classes that a private table holds are private: no single client may end a run by its label. So declared classes are
compared with those of the public table, where a near miss is a misspelling.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from itertools import product

from fedtext.corpora.columns import column_names
from fedtext.corpora.published.known import PUBLISHED
from fedtext.corpora.table import existing_table, read_public_table, read_table
from fedtext.params.corpus import DOCSTRING_COLUMNS, DOCSTRING_KINDS, PUBLISHED_NAMES, Corpus
from fedtext.params.task import joined, parts_of
from fedtext.system.errors import InputError, did_you_mean
from fedtext.system.missing import nullable


def check_classes(corpus: Corpus, labels: Sequence[str], declared_by: str) -> None:
    """Raise an error if a class in `labels`, which the parameter `declared_by` declares, cannot be one of the corpus.

    Raises:
        ValueError: The corpus has no labels. A class has not as many parts as there are code columns, or has a TAB
            where there are none. Or it is not among the known classes, or almost equal to one of them.
    """
    if not labels:
        return
    if corpus.source == "table" and corpus.path is not None:
        path = existing_table(corpus.path, "corpus.path")
        for column in corpus.code_columns or (corpus.label_column,):
            if column not in column_names(path):
                of = "corpus.code_columns" if corpus.code_columns else "corpus.label_column"
                raise InputError(
                    f"{declared_by} is '{' '.join(labels)}', but {path} has no column '{column}': name the column of "
                    f"the classes by {of}, or leave {declared_by} out",
                    code="no-column-of-classes",
                    parameter=declared_by,
                    value=column,
                )
    _check_parts(corpus, labels, declared_by)
    if corpus.source in PUBLISHED_NAMES and PUBLISHED[corpus.source].label is None:
        raise InputError(
            f"{declared_by} is '{' '.join(labels)}', but corpus.source '{corpus.source}' has no labels: leave "
            f"{declared_by} out",
            code="source-without-labels",
            parameter=declared_by,
        )
    known, all_are_known = _known_classes(corpus)
    for label in labels:
        near = did_you_mean(label, known, "")
        if label not in known and known and (all_are_known or near.startswith("did")):
            remedy = near or "name one that it has"
            raise InputError(
                f"{declared_by} has {label!r}, which is no class of the corpus: {remedy}",
                code="unknown-class",
                parameter=declared_by,
                value=label,
            )


def _check_parts(corpus: Corpus, labels: Sequence[str], declared_by: str) -> None:
    wanted = max(len(corpus.code_columns), 1)
    columns = ", ".join(corpus.code_columns) or "no columns"
    for label in labels:
        if (held := len(parts_of(label))) != wanted:
            raise InputError(
                f"{declared_by} has {label!r}, a control code of {held} parts, but corpus.code_columns names "
                f"{columns}: write one value a column, TAB between them and none within, or name the columns",
                code="control-code-of-other-parts",
                parameter=declared_by,
                value=label,
            )


def _known_classes(corpus: Corpus) -> tuple[Collection[str], bool]:
    """Return the public names of classes, and whether these are all."""
    if corpus.source == "docstrings":
        values = {"package": sys.stdlib_module_names, "kind": DOCSTRING_KINDS}
        columns = corpus.code_columns or DOCSTRING_COLUMNS[:1]
        return set(map(joined, product(*(values[column] for column in columns)))), True
    if corpus.source == "table" and corpus.is_public:
        return {*nullable(read_table(corpus)["label"])} - {None}, True
    if corpus.public_path is not None:
        return {*nullable(read_public_table(corpus)["label"])} - {None}, False
    return (), False
