"""Parameters that name files: which do, and which of these files are private.

A string that names a file gives a node the file's content. Only parameters that are declared here may do so, so that no
file is read by accident; a private file may be read by nodes that write private data sets only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from filecmp import cmp
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from fedtext.corpora.columns import parquet_parts
from fedtext.params import Parameters
from fedtext.resuming.fingerprint import named_paths
from fedtext.wiring.config import corpus_is_public

# Also below another name: a compared run's own parameters are compare.entries.NAME.params.corpus.path, and so on.
DECLARED = (
    "corpus.path",
    "corpus.public_path",
    "corpus.snapshot",
    "export.snapshot",
    "contamination.snapshot",
    "privacy.enrolment",
    "ingest.raw_dir",
    "largefedbench.raw_dir",
    "largefedbench.out_dir",
    "largefedbench.snapshot",
    "largefedbench.tokenizer",
    "largefedbench.takedown",
    "release.out_dir",
    "release.previous",
    "calendar.previous",
    "dpprefsyn.public_pairs",
    "federation.flwr",
    "federation.root_certificates",
    "models.generator",
    "models.downstream",
    "models.describer",
    "models.on_device",
    "models.encoder",
    "models.classifier",
    "models.features",
    "models.tagger",
    "models.masked",
    "models.judge",
    "models.chunk_tokenizer",
    "served.adapters",
    "served.seen_as",
    "old",  # largefedbench_diff
    "new",
    "data_root",
)
NAMED_GENERATORS = "models.plms"  # declared too, by whatever names below it
ENROLMENT, TABLE, PUBLIC_TABLE = "privacy.enrolment", "corpus.path", "corpus.public_path"


def private_files(parameters: Mapping[str, Any]) -> dict[str, Path]:
    """Return the resolved paths of the private files that parameters name, by the parameter's dotted name."""
    names = (ENROLMENT,) if corpus_is_public(parameters) else (ENROLMENT, TABLE)
    return {name: path.resolve() for name, path in named_files(parameters).items() if name in names}


def named_files(parameters: Mapping[str, Any]) -> dict[str, Path]:
    """Return the existing local files and directories that parameters name, by the parameter's dotted name."""
    return dict(named_paths(parameters))


def texts(value: Any) -> Iterator[str]:
    """Yield every string in a parameter's value, and the names of the parameters in a group."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in [*value.keys(), *value.values()] if isinstance(value, Mapping) else value:
            yield from texts(inner)


def undeclared(parameters: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each parameter that names a file without being declared to."""
    return [
        f"parameter '{name}' names {path}, but is not declared to name a file: give the file to the catalog as a "
        "data set with a class, or add the parameter to fedtext.wiring.guard.parameters.DECLARED"
        for name, path in named_files(parameters).items()
        if not any(f".{name}".endswith(f".{one}") for one in DECLARED) and f".{NAMED_GENERATORS}." not in f".{name}"
    ]


def copies(parameters: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each private file of which another parameter names a copy, or a part of it.

    What lies in the data root was made by runs.
    """
    private, named = private_files(parameters), named_files(parameters)
    return [
        f"'{name}' names {path}, which holds the same bytes as the private file of '{secret}', {file}: name another"
        for secret, file in private.items()
        for name, path in named.items()
        if name not in (*private, "data_root") and _share_bytes(file, path)
    ]


def _share_bytes(one: Path, other: Path) -> bool:
    """Return whether two tables, files or directories of Parquet parts, have a part in common."""
    pairs = product(parquet_parts(one), parquet_parts(other))
    return any(a.stat().st_size == b.stat().st_size and cmp(a, b, shallow=False) for a, b in pairs)


def holders(value: Any, files: Mapping[str, Path]) -> Iterator[str]:
    """Yield where a node's value holds the path of one of `files`: a model's field (`Corpus.path`), or itself ('')."""
    if isinstance(value, BaseModel):
        held = object.__getattribute__(value, "__dict__")  # this look at a field is not the node's (params.reading)
        for field in type(value).model_fields:
            inner = held[field]
            where = f"{type(value).__qualname__}.{field}" if isinstance(value, Parameters) else ""
            yield from (where if found == "" else found for found in holders(inner, files))
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from holders(inner, files)
    elif isinstance(value, str | Path) and value and Path(value).expanduser().resolve() in files.values():
        yield ""
