"""The one loader of published data sets: a file becomes the project's records, or one sentence explains its fault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from fedtext.corpora.clients import named_owners
from fedtext.corpora.columns import USUAL
from fedtext.corpora.formats import JsonError
from fedtext.corpora.published.known import PUBLISHED, FormError
from fedtext.corpora.published.readers import CODED, READERS, Reader
from fedtext.corpora.row_values import digest_names, record_table, validate_values
from fedtext.params.corpus import PUBLISHED_NAMES, Corpus, PublishedName
from fedtext.system.errors import InputError, MissingFileError
from fedtext.system.missing import is_blank

OWN_COLUMNS = ("client_column", "label_column", "date_column", "silo_column")  # a published form has columns of its own

OTHERWISE = "a table of your own by corpus.source=table"


def read_published(params: Corpus, readers: Mapping[PublishedName, Reader] = READERS) -> pd.DataFrame:
    """Read the records of the published data set in `params.path` (`client_id`, `text`, `label`, `date`), in order.

    `PUBLISHED` describes each data set's clients, labels and format. Rows without an owner are named by a digest of
    their content.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is of another format, damaged or empty; a text is empty; or there is only one client.
    """
    path, name = existing_published(params), _name(params)
    try:
        rows = list(CODED[name](path, params.code_columns) if params.code_columns else readers[name](path))
        if not rows:
            raise FormError("no records", code="no-records")
    except (FormError, JsonError) as error:
        raise format_error(path, error, f"corpus.source={name}", PUBLISHED[name].form) from None
    owners, texts, labels, dates = (list(column) for column in zip(*rows, strict=True))
    numbers = pd.RangeIndex(1, len(rows) + 1, name="records")
    validate_values(pd.Series(texts, numbers), lambda text: is_blank(str(text)), str(path), "empty text")
    owners = named_owners(owners, digest_names(texts, labels, dates), params.client_ids, str(path))
    if len(set(owners)) < 2:
        raise InputError(
            f"{path} has the texts of one client ({PUBLISHED[name].unit}) only: give a file of more",
            code="texts-of-one-client",
        )
    return record_table(owners, {"text": texts, "label": labels, "date": dates}, path, numbers)


def existing_published(params: Corpus) -> Path:
    """Return the path of the file or directory `params.path` without reading it.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: No path is given, it is of another kind or empty, or a column is named that the format lacks.
    """
    name = _name(params)
    known = PUBLISHED[name]
    if params.path is None:
        raise InputError(
            f"corpus.path is not set: corpus.source '{name}' needs corpus.path=PLACE of {known.form}",
            code="place-not-set",
            parameter="corpus.path",
        )
    for field in OWN_COLUMNS:
        if getattr(params, field) != USUAL[field]:
            raise InputError(
                f"corpus.{field} is '{getattr(params, field)}', but corpus.source '{name}' has columns of its own: "
                "leave it out, or read the file as corpus.source=table",
                code="source-has-own-columns",
                parameter=f"corpus.{field}",
                value=getattr(params, field),
            )
    path = Path(params.path).expanduser()
    if not path.exists():
        raise MissingFileError(
            f"corpus.path {path} is not there: check the path (relative to {Path.cwd()})",
            code="missing-place",
            parameter="corpus.path",
            value=str(path),
        )
    if path.is_dir() and not known.directory:
        raise format_error(path, FormError("a directory", code="a-directory"), f"corpus.source={name}", known.form)
    if path.is_file() and not path.name.lower().endswith(known.suffixes):
        problem = FormError(f"no name in {' or '.join(known.suffixes)}", code="another-suffix", value=path.suffix)
        raise format_error(path, problem, f"corpus.source={name}", known.form)
    if not os.access(path, os.R_OK):
        raise InputError(
            f"corpus.path {path} cannot be read: change its rights",
            code="place-unreadable",
            parameter="corpus.path",
            value=str(path),
        )
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path} is empty: give a file with texts", code="empty-place", value=str(path))
    return path


def format_error(
    path: Path, found: FormError | JsonError, asked: str, form: str, otherwise: str = OTHERWISE
) -> InputError:
    """Return the error for a file of another format: what was missing, what `asked` for the format, and a remedy."""
    problem = found.found if isinstance(found, JsonError) else found
    return InputError(
        f"{path} is of another form ({problem}): {asked} reads {form}; give that, or {otherwise}",
        code=found.code,
        value=found.value,
    )


def _name(params: Corpus) -> PublishedName:
    for name in PUBLISHED_NAMES:
        if params.source == name:
            return name
    raise InputError(
        f"corpus.source '{params.source}' is no published data set: use {', '.join(PUBLISHED_NAMES)}",
        code="unknown-published-source",
        parameter="corpus.source",
        value=params.source,
    )
