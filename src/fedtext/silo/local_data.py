"""What a silo holds: its table's passages, and their embeddings, which are made once and kept on its own disk."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int64

from fedtext.corpora.clients import folded
from fedtext.corpora.records import sample_records
from fedtext.corpora.table import read_table, validate_texts
from fedtext.evaluation.units import unit_of
from fedtext.federation.private_samples import PrivateSamples, class_index, label_codes
from fedtext.federation.question import Question
from fedtext.federation.units import unit_codes
from fedtext.models.language_model import Tokenizer
from fedtext.params.corpus import Corpus
from fedtext.privacy.spending import Rules
from fedtext.silo.settings import Silo, Table
from fedtext.system.alike import code_digest
from fedtext.system.errors import FedtextError, InputError, MissingFileError
from fedtext.system.folders import own_file
from fedtext.system.missing import nullable

KEPT = "embeddings-{digest}.safetensors"
_OF_TABLE = re.compile(rf"\bcorpus\.({'|'.join(Table.model_fields)})\b")


@dataclass(frozen=True)
class LocalData:
    """A silo's passages.

    Attributes:
        records: The rows of its table.
        samples: The passages that they are cut into.
        embeddings: The passages' embeddings.
        unit: The protected unit of each passage.
        holder: The silo's own code.
        length: Tokens of the longest passage.
        named: Whether a column says whom a row is about.
        digest: Digest of all passages, with whose and of which class each is, in any order.
    """

    records: pd.DataFrame
    samples: pd.DataFrame
    embeddings: Float32[np.ndarray, "sample dim"]
    unit: Int64[np.ndarray, " sample"]
    holder: int
    length: int
    named: bool
    digest: str

    @property
    def people(self) -> set[str]:
        """The ids by which the people are known in other folders too, as they look; none without a column of them."""
        return set(map(folded, self.records["client_id"].astype(str))) if self.named else set()

    def asked(self, question: Question) -> PrivateSamples:
        """Return the passages as the question looks at them."""
        seen = question.seen(self.samples["text"].tolist(), self.embeddings)
        label = class_index(label_codes(nullable(self.samples["label"])), question.classes)
        holder = np.full(len(self.unit), self.holder, dtype=np.int64)
        return PrivateSamples(seen, self.unit, label, np.unique(self.unit), holder)

    def rows_of(self, rows: Callable[[list[str], list[str | None]], tuple[np.ndarray, np.ndarray]]) -> PrivateSamples:
        """Return the passages as rows of tokens, which `rows` makes of texts and labels, with each row's passage."""
        features, passage = rows(self.samples["text"].tolist(), nullable(self.samples["label"]))
        label, holder = np.zeros(len(features), dtype=np.int64), np.full(len(features), self.holder, dtype=np.int64)
        return PrivateSamples(features, self.unit[passage], label, np.unique(self.unit), holder)


def read_local_data(silo: Silo, beside: Path, folder: Path) -> LocalData:
    """Return what the silo holds; embeddings that are kept in `folder` are not made again.

    Raises:
        ValueError: the table is not of the form, or more units hold text than are declared: told here alone.
    """
    corpus = silo.table.corpus(beside)
    with _named_as_in_the_file():
        records = read_table(corpus)
        validate_texts(records, str(corpus.path), corpus.text_column)
    samples = sample_records(records, Tokenizer(silo.models.tokenizer).load(), silo.chunking)
    unit = unit_of(samples, silo.protection.unit)
    if len(np.unique(unit)) > silo.protection.population:
        raise InputError(
            f"protection.population is {silo.protection.population}, and more {silo.protection.unit}s hold text: "
            "declare as many as there are, silent ones included",
            code="silo-population-too-small",
            parameter="protection.population",
            value=silo.protection.population,
        )
    kept = folder / KEPT.format(digest=_digest(samples, silo))
    (holder,) = unit_codes([silo.name]).tolist()
    named = silo.table.client_column is not None
    embeddings, told = _embeddings(samples, silo, kept), _digest_of_all(samples, unit)
    return LocalData(records, samples, embeddings, unit, holder, silo.chunking.length, named, told)


def fingerprint(silo: Silo, beside: Path) -> tuple[object, ...]:
    """Return what tells a table from a later one at the same place, without reading it.

    Raises:
        FileNotFoundError: there is none.
    """
    corpus: Corpus = silo.table.corpus(beside)
    place = Path(str(corpus.path))
    if not place.exists():
        raise MissingFileError(
            f"{place} is not there: name the table of the silo's text in its file (table.path)",
            code="missing-silo-table",
            parameter="table.path",
            value=str(place),
        )
    return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in _files(place))


@contextmanager
def _named_as_in_the_file() -> Iterator[None]:
    """Name the table's parameters in an error as the silo's file does: table.path is corpus.path elsewhere."""
    try:
        yield
    except FedtextError as error:
        error.args = (_OF_TABLE.sub(r"table.\1", str(error)),)
        error.parameter = error.parameter and _OF_TABLE.sub(r"table.\1", error.parameter)
        raise


def unit_rules(silo: Silo) -> Rules:
    """Return how the silo tells its units apart: other rules may mean other people."""
    table = silo.table.model_dump(mode="json", exclude={"path"})
    spans = [silo.chunking.model_dump(mode="json"), silo.models.tokenizer]
    return Rules(split=_short(table), spans=_short(spans))


def _files(place: Path) -> Iterator[Path]:
    yield from sorted(place.iterdir()) if place.is_dir() else [place]


def _embeddings(samples: pd.DataFrame, silo: Silo, kept: Path) -> Float32[np.ndarray, "sample dim"]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file, save_file

    try:
        return np.asarray(load_file(kept)["features"])
    except (FileNotFoundError, SafetensorError):  # not yet made, or damaged
        from fedtext.models.encoder import load_encoder

        encoder = load_encoder(silo.models.encoder)
        embedded = encoder.encode(samples["text"].tolist(), label="own text", undirected_as_zeros=True)
        for old in kept.parent.glob(KEPT.format(digest="*")):
            old.unlink()
        with own_file(kept) as temporary:
            save_file({"features": embedded}, temporary)
        return np.asarray(embedded)


def _digest(samples: pd.DataFrame, silo: Silo) -> str:
    """Digest what embeddings are made of: texts, encoder, and the code of fedtext, for another may embed otherwise."""
    state = hashlib.sha256(f"{code_digest()} {silo.models.encoder}".encode())
    for text in samples["text"]:
        state.update(hashlib.sha256(text.encode()).digest())
    return state.hexdigest()[:16]


def _digest_of_all(samples: pd.DataFrame, unit: Int64[np.ndarray, " sample"]) -> str:
    rows = zip(unit.tolist(), nullable(samples["label"]), samples["text"], strict=True)
    each = sorted(hashlib.sha256(json.dumps(row).encode()).digest() for row in rows)
    return hashlib.sha256(b"".join(each)).hexdigest()


def _short(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
