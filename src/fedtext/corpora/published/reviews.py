"""Reviews and questions of one writer each: Yelp, IMDb, Banking77.

The forms: Yelp's as its dataset documentation lists the fields of a review; IMDb's as the README of Maas et al.'s
aclImdb describes the directory, and as its copies in CSV have the columns; Banking77's as PolyAI publishes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fedtext.corpora.formats import json_lines, read_csv
from fedtext.corpora.published.rows import FormError, Row, columns_named, text_of, value_of
from fedtext.corpora.rows import day, name_of

_BREAK = re.compile(r"\s*<br\s*/?>\s*<br\s*/?>\s*|\s*<br\s*/?>\s*")
_SENTIMENTS = {"pos": "positive", "neg": "negative"}


def yelp(path: Path) -> Iterator[Row]:
    """One row a review."""
    for number, review in json_lines(path):
        where = f"line {number}"
        user, text, date = (text_of(review, name, where) for name in ("user_id", "text", "date"))
        yield Row(user, text, name_of(value_of(review, "stars", where)), day(date))


def imdb(path: Path) -> Iterator[Row]:
    """One row a review, of the directory or of the CSV; line breaks in HTML become those of text."""
    return _imdb_directory(path) if path.is_dir() else _imdb_table(path)


def _imdb_directory(path: Path) -> Iterator[Row]:
    for split in ("train", "test"):
        for folder, label in _SENTIMENTS.items():
            files = sorted((path / split / folder).glob("*.txt"))
            if not files:
                raise FormError(f"no {split}/{folder}/*.txt")
            for file in files:
                name = f"{split}/{folder}/{file.stem}"
                try:
                    yield Row(name, _plain(file.read_text("utf-8")), label)
                except UnicodeDecodeError:
                    raise FormError(f"{name}.txt: not UTF-8") from None


def _imdb_table(path: Path) -> Iterator[Row]:
    table = read_csv(path, columns_named("review", "sentiment"))
    for number, (text, label) in enumerate(table.itertuples(index=False), start=1):
        if label not in _SENTIMENTS.values():
            raise FormError(f"row {number}: 'sentiment' is neither positive nor negative")
        yield Row(None, _plain(text), label)


def _plain(review: str) -> str:
    return _BREAK.sub(lambda found: "\n" * found[0].count("<"), review)


def banking77(path: Path) -> Iterator[Row]:
    """One row a question."""
    for text, label in read_csv(path, columns_named("text", "category")).itertuples(index=False):
        yield Row(None, text, label)
