"""Tables with semicolons or tabs between their columns, and gzipped ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from fedtext.corpora.columns import column_names
from fedtext.corpora.table import read_table
from fedtext.params.corpus import Corpus
from tests.corpora.test_table import SECRET, raw, refused

MESSAGE = 'Bonjour ; « ma commande », 3,50\xa0€ "express"'
SEPARATED = [("a.csv", ";"), ("a.csv", "|"), ("a.csv", "\t"), ("a.tsv", "\t"), ("a.tsv.gz", "\t"), ("A.CSV.GZ", ","), ("a.csv.gz", ";")]  # fmt: skip


def packed(path: Path, content: bytes) -> Corpus:
    return raw(path, gzip.compress(content) if path.suffix.lower() == ".gz" else content)


@pytest.mark.parametrize(("name", "mark"), SEPARATED)
def test_the_header_says_what_separates_the_columns(tmp_path, name, mark):
    """Excel writes semicolons on a French machine, and nothing else; it offers no CSV with commas there."""
    table = pd.DataFrame({"client_id": ["007", "b"], "montant, TTC": ["3,5", ""], "text": [MESSAGE, f"a\n{mark}b"]})
    text = table.to_csv(sep=mark, index=False)
    if mark == "\t":
        text = text.replace("\n\tb", "\n b")  # the rows of a program that quotes nothing look so
    records = read_table(packed(tmp_path / name, b"\xef\xbb\xbf" + text.encode()))
    assert records["client_id"].tolist() == ["007", "b"]
    assert records["text"].tolist() == [MESSAGE, "a\n b" if mark == "\t" else f"a\n{mark}b"]
    assert column_names(tmp_path / name) == ["client_id", "montant, TTC", "text"]


def test_commas_separate_columns_where_a_header_has_as_many_of_them(tmp_path):
    table = read_table(raw(tmp_path / "a.csv", b"text,a;b\none; two; three,x\nfour,y\n"))
    assert table["text"].tolist() == ["one; two; three", "four"]


def test_a_row_with_another_number_of_semicolons_is_refused(tmp_path):
    refused(raw(tmp_path / "a.csv", f"client_id;text\nx;{SECRET}; and more\n".encode()), "not-csv", "hold semicolons")


def test_a_quote_of_a_program_that_quotes_nothing_joins_no_rows(tmp_path):
    """Else the texts of rows 2 to 4 would all be the first client's."""
    rows = f'client_id\ttext\nx\t"{SECRET}\ny\tb\nz\tc"\n'
    refused(raw(tmp_path / "a.tsv", rows.encode()), "not-csv", "row 2", "tabs and line ends")
    several_lines = 'client_id\ttext\nx\t"one\ntwo"\ny\t"a\tb"\n'
    assert read_table(raw(tmp_path / "b.tsv", several_lines.encode()))["text"].tolist() == ["one\ntwo", "a\tb"]


def test_lines_that_end_as_on_an_old_machine_are_told_by_their_header(tmp_path):
    table = read_table(raw(tmp_path / "a.csv", b"client_id;text\rx;one, two, three\ry;four, five, six\r"))
    assert table["text"].tolist() == ["one, two, three", "four, five, six"]


def test_json_lines_may_be_gzipped(tmp_path):
    rows = b'{"text":"one","client_id":"x"}\n{"text":"two","client_id":"y"}\n'
    records = read_table(packed(tmp_path / "a.jsonl.gz", rows))
    assert records["client_id"].tolist() == ["x", "y"]


@pytest.mark.parametrize("name", ["a.csv.gz", "a.tsv.gz", "a.jsonl.gz"])
def test_gzip_that_is_damaged(tmp_path, name):
    content = gzip.compress(f"text\n{SECRET}\n".encode() * 400)
    for damaged in (content[:-20], content[:40] + b"....." + content[45:], b"text\none\ntwo\n"):
        refused(raw(tmp_path / name, damaged), "damaged-gzip", name)
    refused(raw(tmp_path / name, gzip.compress(b"PK\x03\x04")), "another-kind-of-file", "workbook")
