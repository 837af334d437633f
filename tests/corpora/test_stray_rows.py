"""Rows of CSV files that are no record: headers and rules of joined or printed files, and rows that a quote joins."""

from __future__ import annotations

import pytest

from fedtext.corpora.table import read_table
from tests.corpora.test_table import SECRET, raw, refused

HEADERS = ["client_id,text", "text,client_id,", "label,text", "user_id,message", "KundenNr,Nachricht,Kategorie"]


@pytest.mark.parametrize("header", HEADERS)
def test_the_header_of_a_joined_file_is_known_by_some_of_the_names_and_by_others(tmp_path, header):
    joined = f"client_id,text,label\nx,{SECRET},l\ny,b,m\n{header}\nz,{SECRET} 2\n"
    refused(raw(tmp_path / "a.csv", joined.encode()), "header-repeated", "row 4")


@pytest.mark.parametrize("rule", ["---------,----", "=====,=====", ":---,---:"])
def test_a_line_of_dashes_below_the_header_is_no_record(tmp_path, rule):
    refused(raw(tmp_path / "a.csv", f"client_id,text\n{rule}\nx,{SECRET}\ny,b\n".encode()), "rule-below-header")


def test_rows_may_hold_names_of_columns_and_dashes(tmp_path):
    assert len(read_table(raw(tmp_path / "a.csv", b"client_id,text\nx,text\nclient_id,b\nuser,too\n"))) == 3
    rows = b"text,label\nmessage,account\ndate,date\n--,none\n"  # a bank's short messages, and their classes
    assert len(read_table(raw(tmp_path / "b.csv", rows))) == 3


JOINED = [  # behind a row of `y`
    ("client_id|text", 'x|"{}\ny|b\nz|c"'),
    ("client_id,text", 'x,"{}\ny,b"'),
    ("client_id;text", 'x;"{}\r\ny;b\r\ny;c"'),
    ("client_id,text", '"x,{}\ny,b\nz","c"'),
    ("client_id,text,label", 'x,"{},l\ny,b",m'),
]


@pytest.mark.parametrize(("header", "rows"), JOINED)
def test_a_quote_that_another_row_s_quote_closes_joins_no_rows(tmp_path, header, rows):
    mark = header[len("client_id")]
    first = mark.join(["y", "a", "l"][: header.count(mark) + 1])
    content = f"{header}\n{first}\n{rows.format(SECRET)}\n"
    refused(raw(tmp_path / "a.csv", content.encode()), "rows-joined", "row 3")


def test_a_text_of_several_lines_may_have_as_many_marks_as_a_row(tmp_path):
    rows = 'client_id,text\nx,"Dear Ann,\nthanks, Bob"\ny,"1, 2\n3, 4\n"\nx,"a | b\n--|--"\n'
    assert len(read_table(raw(tmp_path / "a.csv", rows.encode()))) == 3
    labelled = 'client_id,text,label\nx,"Dear Ann,\nthanks, Bob",l\ny,"Dear, Bob\nthanks, Ann",l\nz,c,l\n'
    assert len(read_table(raw(tmp_path / "c.csv", labelled.encode()))) == 3
    bars = 'client_id|text\nx|"a | b\n--- | ---\n1 | 2"\ny|c\n'
    assert len(read_table(raw(tmp_path / "b.csv", bars.encode()))) == 2
