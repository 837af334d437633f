from __future__ import annotations

import datetime
import json
import os
import unicodedata
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from fedtext.corpora.records import RECORD_COLUMNS
from fedtext.corpora.table import read_public_table, read_table, validate_private_rows
from fedtext.params.corpus import Corpus
from tests.parameters import conf_base
from tests.refusals import refuses

SECRET = "the patient in room seven"
ROWS = {
    "client_id": ["007", "007", "b"],
    "text": [SECRET, 'commas, "quotes"\nand lines', "NA"],
    "label": ["x", None, "y"],
    "date": ["2024-01-02", "2024-01-03", None],
}


def of(path: Path) -> Corpus:
    return conf_base(Corpus, source="table", path=str(path))


def write(path: Path, rows: dict[str, list]) -> Corpus:
    table = pd.DataFrame(rows, dtype=object)
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        table.to_json(path, orient="records", lines=True)
    return of(path)


def shown(public: Corpus, **changes: object) -> Corpus:
    """As a run that shows this file has it."""
    return public.model_copy(update={"public_path": public.path, "path": "mine.csv", **changes})


def raw(path: Path, content: bytes) -> Corpus:
    path.write_bytes(content)
    return of(path)


def refused(corpus: Corpus, code: str, *names: str) -> None:
    """`read_table` fails with one sentence that has all `names`, and nothing of the table's text is kept."""
    with refuses(code) as caught:
        read_table(corpus)
    message = str(caught.value)
    assert [name for name in names if name not in message] == [], message
    assert SECRET not in message + repr(vars(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_every_format_gives_the_same_records(tmp_path, suffix):
    records = read_table(write(tmp_path / f"notes.{suffix}", ROWS))
    assert tuple(records.columns) == RECORD_COLUMNS
    assert records["client_id"].tolist() == ["007", "007", "b"]
    assert records["text"].tolist() == ROWS["text"]
    assert records["label"].tolist() == ["x", None, "y"]
    assert records["date"].tolist() == ["2024-01-02", "2024-01-03", None]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_only_text_is_needed_and_each_row_is_then_a_client(tmp_path, suffix):
    records = read_table(write(tmp_path / f"notes.{suffix}", {"text": ["one", "two", "two"], "other": [1, 2, 3]}))
    assert records["client_id"].is_unique
    assert records["label"].tolist() == records["date"].tolist() == [None, None, None]


def test_column_names_are_parameters(tmp_path):
    corpus = write(tmp_path / "a.csv", {"body": ["one", "two"], "user": [4, 5], "kind": ["k", "k"], "when": ["d", "e"]})
    names = {"text_column": "body", "client_column": "user", "label_column": "kind", "date_column": "when"}
    records = read_table(corpus.model_copy(update=names))
    assert records.to_dict("list") == {
        "client_id": ["4", "5"], "text": ["one", "two"], "label": ["k", "k"], "date": ["d", "e"]
    }  # fmt: skip


def test_a_column_of_silos_says_who_holds_a_record(tmp_path):
    rows = {"text": ["one", "two"], "client_id": ["a", "b"], "silo": [3, 4.0]}
    assert read_table(write(tmp_path / "a.jsonl", rows))["silo"].tolist() == ["3", "4"]
    named = write(tmp_path / "b.csv", {"text": ["one", "two"], "hospital": ["north", "south"]})
    assert "silo" not in read_table(named)
    assert read_table(named.model_copy(update={"silo_column": "hospital"}))["silo"].tolist() == ["north", "south"]
    refused(write(tmp_path / "c.csv", {"text": [SECRET, "b"], "silo": ["north", None]}), "unusable-rows", "'silo'")


def test_a_row_without_an_owner_that_goes_renames_no_equal_one_of_another_silo(tmp_path):
    rows = {"text": ["one", "one", "two"], "silo": ["north", "south", "south"]}
    owners = read_table(write(tmp_path / "a.csv", rows))["client_id"].tolist()
    left = {name: values[1:] for name, values in rows.items()}
    assert read_table(write(tmp_path / "b.csv", left))["client_id"].tolist() == owners[1:]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_ids_that_differ_by_outer_spaces_alone_are_one_client(tmp_path, suffix):
    """Two ids would be two units, and epsilon would protect half a person."""
    rows = {"text": ["one", "two", "three"], "client_id": ["ann", " ann ", "bob"], "silo": ["north", "north ", "south"]}
    records = read_table(write(tmp_path / f"a.{suffix}", rows))
    assert records["client_id"].tolist() == ["ann", "ann", "bob"]
    assert records["silo"].tolist() == ["north", "north", "south"]


def test_numbers_and_dates_become_text(tmp_path):
    rows = {"text": ["one", "two"], "client_id": [10, 11], "label": [1, 2], "date": [datetime.date(2024, 5, 6)] * 2}
    records = read_table(write(tmp_path / "a.parquet", rows))
    assert records["client_id"].tolist() == ["10", "11"]
    assert records["label"].tolist() == ["1", "2"]
    assert records["date"].tolist() == ["2024-05-06"] * 2


def test_whole_numbers_are_the_same_name_however_they_are_written(tmp_path):
    lines = b'{"text":"one","client_id":1}\n{"text":"two","client_id":1.0}\n{"text":"three","client_id":1.5}\n'
    assert read_table(raw(tmp_path / "a.jsonl", lines))["client_id"].tolist() == ["1", "1", "1.5"]
    table = pd.DataFrame({"text": ["one", "two"], "label": pd.array([1, None], dtype="Int64")})
    table.to_parquet(tmp_path / "a.parquet")
    assert read_table(of(tmp_path / "a.parquet"))["label"].tolist() == ["1", None]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_what_reads_as_a_time_becomes_its_iso_date(tmp_path, suffix):
    dates = ["2024-01-02 13:00:00", "2024-01-03T00:00:00+02:00", "2024-01-04", "5 January 2024"]
    records = read_table(write(tmp_path / f"a.{suffix}", {"text": list("abcd"), "date": dates}))
    assert records["date"].tolist() == ["2024-01-02", "2024-01-03", "2024-01-04", "5 January 2024"]


def test_timestamps_become_iso_dates(tmp_path):
    pd.DataFrame({"text": ["a", "b"], "date": pd.to_datetime(["2024-01-02", None])}).to_parquet(tmp_path / "a.parquet")
    assert read_table(of(tmp_path / "a.parquet"))["date"].tolist() == ["2024-01-02", None]


def test_a_pandas_index_is_a_column(tmp_path):
    pd.DataFrame({"text": ["a", "b"], "client_id": ["x", "y"]}).set_index("client_id").to_parquet(
        tmp_path / "i.parquet"
    )
    assert read_table(of(tmp_path / "i.parquet"))["client_id"].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", b"text\none\ntwo\n"), ("a.jsonl", b'{"text":"one"}\n{"text":"two"}')]
)
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path, name, content):
    assert read_table(raw(tmp_path / name, b"\xef\xbb\xbf" + content))["text"].tolist() == ["one", "two"]


def test_capitals_in_the_suffix_and_blank_lines_do_no_harm(tmp_path):
    records = read_table(raw(tmp_path / "A.JSONL", b'{"text":"one"}\n\n{"text":"two"}\n\n'))
    assert records["text"].tolist() == ["one", "two"]


# --- bad input


def test_no_path():
    refused(conf_base(Corpus, source="table"), "table-not-set", "corpus.path")


def test_a_missing_file(tmp_path):
    refused(of(tmp_path / "no.csv"), "missing-table", "no.csv")
    refused(of(tmp_path), "directory-without-parts")


def test_an_unknown_suffix(tmp_path):
    refused(raw(tmp_path / "a.xlsx", b"x"), "unknown-suffix", "a.xlsx", "'.xlsx'")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_an_empty_file(tmp_path, suffix):
    refused(raw(tmp_path / f"a.{suffix}", b""), "empty-table", f"a.{suffix}")


@pytest.mark.parametrize(("name", "content"), [("a.csv", b"text,client_id\n"), ("a.jsonl", b"\n\n")])
def test_a_file_without_rows(tmp_path, name, content):
    refused(raw(tmp_path / name, content), "no-rows", name)


def test_a_csv_of_blank_lines(tmp_path):
    refused(raw(tmp_path / "a.csv", b"\n\n"), "not-csv", "a.csv")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_no_text_column(tmp_path, suffix):
    refused(write(tmp_path / f"a.{suffix}", {"body": [SECRET, "b"]}), "missing-column", "'text'", "corpus.text_column")


def test_a_missing_header_does_not_quote_the_first_row(tmp_path):
    refused(raw(tmp_path / "a.csv", f"{SECRET}\nanother\n".encode()), "missing-column", "'text'")


@pytest.mark.parametrize("field", ["client_column", "label_column", "date_column", "silo_column"])
def test_a_column_that_was_asked_for_must_exist(tmp_path, field):
    """A misspelt client column must not turn every row into a client of its own."""
    corpus = write(tmp_path / "a.csv", {"text": [SECRET, "b"]}).model_copy(update={field: "usr"})
    refused(corpus, "missing-column", "'usr'", f"corpus.{field}")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("name", [" client_id", "Client_ID", "\u200fclient_id", "\uff43lient_id"])
def test_a_client_column_by_almost_its_name_does_not_make_each_row_a_client(tmp_path, suffix, name):
    corpus = write(tmp_path / f"a.{suffix}", {"text": [SECRET, "b", "c"], name: ["x", "x", "y"]})
    refused(corpus, "column-nearly-named", f"a.{suffix}", repr(name), "'client_id'")
    named = corpus.model_copy(update={"client_column": name})
    assert read_table(named)["client_id"].tolist() == ["x", "x", "y"]


OWNERS = (
    "patient_id clientid user_id Client authorID worker ticket_id PersonId id_patient patient_no patient_number PatientNr "
    "customer_code user_uuid user_key patients email account mrn Kundennummer login UserName rater labeler_id client-ids "
    "numéro_client auteur nom_du_client usager Verfasser KundenNr autor número_de_cliente usuário codice_cliente "
    "id_клиента 客户编号 用户ID 患者 顧客番号 고객번호 رقم_العميل"
)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("name", ["User Name", "n° client", "nume\u0301ro client", *OWNERS.split()])
def test_a_column_that_looks_like_the_clients_does_not_make_each_row_a_client(tmp_path, suffix, name):
    """Else epsilon would protect a row where a person was meant, and nobody would hear of it."""
    corpus = write(tmp_path / f"a.{suffix}", {name: ["x", "x", "y"], "text": [SECRET, "b", "c"]})
    refused(corpus, "column-may-name-clients", repr(name), f"corpus.client_column={name}")
    assert read_table(corpus.model_copy(update={"client_column": name}))["client_id"].tolist() == ["x", "x", "y"]
    assert read_table(corpus.model_copy(update={"client_column": None}))["client_id"].is_unique


@pytest.mark.parametrize(
    "name",
    [
        *("id", "ID", "row_id", "text_id", "RecordId", "label_id", "paid", "valid", "grid", "when", "nombre", "编号"),
        *("avis_client", "Kundenfeedback", "mensaje_del_cliente", "客户反馈", "رسالة_العميل"),
    ],
)
def test_a_column_that_numbers_rows_or_classes_does_not_look_like_the_clients(tmp_path, name):
    assert len(read_table(write(tmp_path / "a.csv", {"text": ["one", "two"], name: ["1", "2"]}))) == 2


def test_each_row_is_a_client_where_one_says_so_though_there_is_a_column_of_clients(tmp_path):
    corpus = write(tmp_path / "a.csv", {"text": ["one", "two", "three"], "client_id": ["x", "x", "y"]})
    assert read_table(corpus.model_copy(update={"client_column": None}))["client_id"].is_unique


@pytest.mark.parametrize("header", ["text,text,client_id", "text,client_id,client_id"])
def test_a_csv_column_that_is_there_twice(tmp_path, header):
    refused(raw(tmp_path / "a.csv", f"{header}\n{SECRET},b,c\nd,e,f\n".encode()), "column-twice", "a.csv")


def test_a_parquet_column_that_is_there_twice(tmp_path):
    import pyarrow
    import pyarrow.parquet

    columns = [pyarrow.array(["one", "two"])] * 3
    pyarrow.parquet.write_table(pyarrow.table(columns, ["text", "other", "other"]), tmp_path / "a.parquet")
    assert read_table(of(tmp_path / "a.parquet"))["text"].tolist() == ["one", "two"]
    pyarrow.parquet.write_table(pyarrow.table(columns, ["text", "other", "text"]), tmp_path / "b.parquet")
    refused(of(tmp_path / "b.parquet"), "column-twice", "b.parquet", "'text'")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_not_utf8_names_line_and_byte(tmp_path, suffix):
    content = f"text\n{SECRET}\n".encode() + b"caf\xe9\n"
    refused(
        raw(tmp_path / f"a.{suffix}", content), "line-not-utf8", f"a.{suffix}", "line 3", "byte 4", "iconv -f CP1252"
    )


def test_utf16_is_not_utf8(tmp_path):
    refused(
        raw(tmp_path / "a.csv", f"text\n{SECRET}\n".encode("utf-16")),
        "line-not-utf8",
        "line 1",
        "byte 1",
        "iconv -f UTF-16",
    )


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("encoding", "told"),
    [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"), ("utf-32", "UTF-32"), ("cp1251", "Russian in CP1251")],
)
def test_the_command_that_converts_a_file_names_its_encoding(tmp_path, suffix, encoding, told):
    """Without a mark at its beginning, UTF-16 of plain letters would be valid UTF-8."""
    first = "text" if suffix == "csv" else '{"text": "a"}'
    second = "привет" if encoding == "cp1251" else "b"
    refused(raw(tmp_path / f"a.{suffix}", f"{first}\n{second}\n".encode(encoding)), "line-not-utf8", told)


def test_each_of_several_joined_files_may_begin_with_a_byte_order_mark(tmp_path):
    one = b'\xef\xbb\xbf{"text":"one"}\n'
    assert read_table(raw(tmp_path / "a.jsonl", one + one.replace(b"one", b"two")))["text"].tolist() == ["one", "two"]


@pytest.mark.parametrize(
    ("suffix", "rows"),
    [
        ("csv", "rows 3, 5, 6, 7, 8, ... of the sheet, whose row 1 is the header"),  # as a spreadsheet shows them
        ("parquet", "rows 2, 4, 5, 6, 7, ..."),
        ("jsonl", "lines 2, 4, 5, 6, 7, ..."),
    ],
)
def test_empty_and_missing_texts_name_up_to_five_rows(tmp_path, suffix, rows):
    texts = [SECRET, None, "a", "", " \n", None, None, None, "b"]
    refused(write(tmp_path / f"a.{suffix}", {"text": texts, "client_id": list("abcdefghi")}), "unusable-rows", f"a.{suffix}", "'text'", rows)  # fmt: skip


@pytest.mark.parametrize(("suffix", "rows"), [("parquet", "rows"), ("jsonl", "lines")])
def test_a_text_that_is_no_text(tmp_path, suffix, rows):
    for texts in ([1, 2], [["one"], ["two"]]):  # a remedy that leaves a table
        corpus = write(tmp_path / f"a.{suffix}", {"text": texts})
        refused(corpus, "unusable-rows", f"{rows} 1, 2", "corpus.text_column")


def test_lines_of_json_are_counted_with_blank_ones(tmp_path):
    refused(raw(tmp_path / "a.jsonl", b'{"text":"one"}\n\n{"text":""}\n'), "unusable-rows", "line 3")


def test_a_missing_client_id(tmp_path):
    corpus = write(tmp_path / "a.csv", {"text": [SECRET, "b", "c"], "client_id": ["x", None, "y"]})
    refused(corpus, "unusable-rows", "'client_id'", "row 3", "row 1")


def test_one_client(tmp_path):
    rows = {"text": [SECRET, "b"], "client_id": ["x", "x"]}
    refused(write(tmp_path / "a.csv", rows), "one-client", "a.csv", "corpus.client_column")


def test_one_row_is_not_blamed_on_a_column_that_is_not_there(tmp_path):
    refused(write(tmp_path / "a.csv", {"text": [SECRET]}), "one-row", "a.csv")


@pytest.mark.parametrize("content", ["text,client_id\na,b\nc,d,{secret}\n", "text,client_id\n{secret},b,c\nd,e,f\n"])
def test_ragged_csv(tmp_path, content):
    refused(raw(tmp_path / "a.csv", content.format(secret=SECRET).encode()), "not-csv", "a.csv")


def test_broken_json_lines(tmp_path):
    good = json.dumps({"text": "fine"})
    refused(raw(tmp_path / "a.jsonl", f'{good}\n{{"text": {SECRET}\n'.encode()), "line-not-json", "a.jsonl", "line 2")
    refused(raw(tmp_path / "a.jsonl", f'{good}\n"{SECRET}"\n'.encode()), "line-not-an-object", "a.jsonl", "line 2")
    refused(
        raw(tmp_path / "a.jsonl", f'{good}\n{{"text": "{SECRET} \\ud800"}}\n'.encode()),
        "unusable-rows",
        "surrogate",
        "line 2",
    )
    for endless in ("9" * 5000, "[" * 100_000):
        refused(
            raw(tmp_path / "a.jsonl", f'{good}\n{{"text": {endless}'.encode()), "line-too-deep", "a.jsonl", "line 2"
        )


def test_a_damaged_parquet_file(tmp_path):
    corpus = write(tmp_path / "a.parquet", ROWS)
    whole = (tmp_path / "a.parquet").read_bytes()
    refused(raw(tmp_path / "a.parquet", whole[: len(whole) // 2]), "not-parquet", "a.parquet")
    refused(raw(tmp_path / "a.parquet", SECRET.encode()), "not-parquet", "a.parquet")
    assert corpus.path is not None


def test_a_row_of_its_own_keeps_its_name_whoever_comes_or_goes(tmp_path):
    texts = ["one", "two", "two", "three"]
    whole = read_table(write(tmp_path / "a.csv", {"text": texts, "label": list("abcd")}))
    fewer = read_table(write(tmp_path / "b.csv", {"text": texts[1:], "label": list("bcd")}))
    assert whole["client_id"].tolist()[1:] == fewer["client_id"].tolist()
    equal = read_table(write(tmp_path / "c.csv", {"text": ["same"] * 3 + ["other"]}))["client_id"]
    assert equal.is_unique
    assert read_table(write(tmp_path / "d.csv", {"text": ["same"] * 2 + ["other"]}))["client_id"].isin(equal).all()


def test_a_copy_of_the_private_table_is_no_public_text(tmp_path):
    write(tmp_path / "mine.csv", {"text": [f"{SECRET} {i}" for i in range(10)]})
    copied = write(tmp_path / "copy.jsonl", {"text": [f"{SECRET} {i}" for i in range(2, 10)] + ["public"]})
    private = [f"{SECRET} {i}" for i in range(10)]
    with refuses("public-texts-are-private", parameter="corpus.public_path") as caught:
        validate_private_rows(private, shown(copied))
    assert SECRET not in str(caught.value)
    other = write(tmp_path / "other.csv", {"text": [f"public {i}" for i in range(9)] + [private[0]]})
    validate_private_rows(private, shown(other))
    validate_private_rows(private, of(tmp_path / "mine.csv"))  # none is named


@pytest.mark.parametrize("changed", ["{} ", "\u00a0{}", "\u200b{}", "{}\r\n"])
@pytest.mark.parametrize("form", [str, str.upper, partial(unicodedata.normalize, "NFD")])
def test_a_copy_that_reads_alike_is_none_either(tmp_path, changed, form):
    private = [f"Zoë, {SECRET} {i}" for i in range(10)]
    copied = write(tmp_path / "copy.csv", {"text": [changed.format(form(text)) for text in private]})
    with refuses("public-texts-are-private"):
        validate_private_rows(private, shown(copied))


# --- control codes

REVIEWS = {
    "text": list("abcd"),
    "category": ["food", "food", "spa", None],
    "stars": [1, 5, 5, 2],
    "label": list("wxyz"),
}


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_several_columns_make_one_code_and_an_absent_part_none(tmp_path, suffix):
    corpus = write(tmp_path / f"r.{suffix}", REVIEWS).model_copy(update={"code_columns": ("category", "stars")})
    assert read_table(corpus)["label"].tolist() == ["food\t1", "food\t5", "spa\t5", None]
    assert read_table(corpus.model_copy(update={"code_columns": ("stars",)}))["label"].tolist() == list("1552")


def test_a_tab_within_a_part_is_refused(tmp_path):
    tabbed = {**REVIEWS, "category": ["food", "fo\tod", "spa", "spa"]}
    corpus = write(tmp_path / "r.jsonl", tabbed).model_copy(update={"code_columns": ("category", "stars")})
    refused(corpus, "unusable-rows", "'category'", "line 2")


@pytest.mark.parametrize(
    ("header", "code"),
    [("text,stars", "missing-code-column"), ("text,stars,category,category", "code-column-twice")],
)
def test_code_columns_must_be_there_once(tmp_path, header, code):
    rows = "\n".join([header, *(",".join("ab12"[: header.count(",") + 1]) for _ in range(2))])
    refused(
        raw(tmp_path / "a.csv", rows.encode()).model_copy(update={"code_columns": ("category", "stars")}),
        code,
        "'category'",
    )


def test_public_labels_are_in_the_columns_that_the_private_table_has(tmp_path):
    """Those of a file without them are its column `label`, or there are none."""
    public = write(tmp_path / "public.jsonl", REVIEWS)
    labels = [
        read_public_table(shown(public, **told))["label"].tolist()
        for told in ({}, {"label_column": "stars"}, {"label_column": "gone"}, {"code_columns": ("category", "stars")},
                     {"code_columns": ("gone", "stars")})
    ]  # fmt: skip
    assert labels == [list("wxyz"), list("1552"), list("wxyz"), ["food\t1", "food\t5", "spa\t5", None], list("wxyz")]
    bare = write(tmp_path / "bare.csv", {"text": ["a", "b"]})
    assert read_public_table(shown(bare, label_column="stars"))["label"].tolist() == [None, None]


def test_a_first_row_taken_for_a_header_is_not_told(tmp_path: Path) -> None:
    """One cell that reads as a heading does not make its neighbours names."""
    file = tmp_path / "headless.csv"
    file.write_text("Jane Doe was told that she is ill,question\nanother text,question\n", encoding="utf-8")
    with refuses("missing-column") as caught:
        read_table(conf_base(Corpus, source="table", path=str(file)))
    assert "Jane" not in str(caught.value)


def test_a_silo_that_is_no_unicode_text_is_refused(tmp_path):
    corpus = write(tmp_path / "a.jsonl", {"text": ["one", "two"], "silo": ["north", "south"]})
    content = Path(corpus.path).read_text().replace("south", "\\ud83d")
    Path(corpus.path).write_text(content)
    refused(corpus, "unusable-rows", "line 2")


@pytest.mark.parametrize("nothing", ["\u200b", "\u00a0\u3000", "\u200b \u00a0\u2060", "\ufeff", "\u2800", "\u3164\t"])
def test_a_text_that_shows_nothing_is_empty(tmp_path, nothing):
    refused(write(tmp_path / "a.csv", {"text": ["one", nothing, "two"]}), "unusable-rows", "row 3")
    corpus = write(tmp_path / "b.csv", {"text": ["one", "two"], "client_id": ["x", nothing]})
    refused(corpus, "unusable-rows", "'client_id'", "row 3")
    labelled = write(tmp_path / "c.csv", {"text": ["one", "two"], "label": ["x", nothing]})
    assert read_table(labelled)["label"].tolist() == ["x", None]


@pytest.mark.parametrize("text", ["\u200bone", "👩\u200d🚀", "\u0627\u200c", "\ue000"])
def test_characters_without_a_width_may_be_in_a_text(tmp_path, text):
    assert read_table(write(tmp_path / "a.csv", {"text": ["one", text]}))["text"].tolist() == ["one", text]


def test_joined_files_are_not_a_record_of_column_names(tmp_path):
    one = f"client_id,text\nx,{SECRET}\ny,b\n"
    refused(raw(tmp_path / "a.csv", (one + one).encode()), "header-repeated", "row 4")
    three = one + one + one
    refused(raw(tmp_path / "b.csv", three.encode()), "header-repeated", "rows 4, 7")


@pytest.mark.parametrize(
    "header", ["\ufeffclient_id,text", "Client_ID,Text ", '"client_id", text', "text,client_id", "TEXT,\u200bclient_id"]
)
def test_the_header_of_a_joined_file_is_known_in_other_letters_and_orders(tmp_path, header):
    joined = f"client_id,text\nx,{SECRET}\ny,b\n{header}\n{SECRET} 2,x\n"
    refused(raw(tmp_path / "a.csv", joined.encode()), "header-repeated", "row 4")


def test_a_row_may_hold_a_column_s_name(tmp_path):
    assert len(read_table(raw(tmp_path / "a.csv", b"client_id,text\nx,text\nclient_id,b\n"))) == 2


@pytest.mark.parametrize("before", [0, 1, 7])
def test_a_quote_that_is_never_closed_is_named_by_the_row_of_the_sheet(tmp_path, before):
    rows = "".join(f"{SECRET} {i}\n" for i in range(before))
    refused(raw(tmp_path / "a.csv", f'text\n{rows}"open\nb\nc\n'.encode()), "not-csv", f"row {before + 2}")


@pytest.mark.parametrize(
    "row",
    ['c1,"never closed\nc2,in its text\nc3,"quoted"', 'c1,"24" screen"', 'c1,"He said \\"hello\\""', 'c1,"a" \nc2,b'],
)
def test_a_quote_that_closes_before_its_text_ends_gives_no_row_to_another_client(tmp_path, row):
    refused(raw(tmp_path / "a.csv", f"client_id,text\nx,{SECRET}\n\n{row}\n".encode()), "not-csv", "in row 3")


def test_quotes_that_are_text(tmp_path):
    rows = f'client_id,text\nx,{SECRET}\ny,a 24" screen\nz,"it ""says"" so"\nw,"\n{"long " * 40_000}"\n'
    texts = read_table(raw(tmp_path / "a.csv", rows.encode()))["text"].tolist()
    assert texts[1:3] == ['a 24" screen', 'it "says" so']
    assert len(texts[3]) == 200_001


@pytest.mark.parametrize("first", ["# exported on Monday", "#", "Messages", "# a, b"])
def test_what_stands_before_the_names_of_the_columns_is_to_be_deleted(tmp_path, first):
    refused(raw(tmp_path / "a.csv", f"{first}\nclient_id,text,date\nx,{SECRET},2020\n".encode()), "not-csv")


@pytest.mark.parametrize("ids", [["a"], {"id": "a"}, []])
def test_an_id_is_one_value(tmp_path, ids):
    refused(write(tmp_path / "a.jsonl", {"text": ["one", "two"], "client_id": ["x", ids]}), "unusable-rows", "line 2")


def parts(folder: Path) -> Path:
    """A table of three rows in two parts, as other programs leave them, with their notes."""
    (folder / "day=2").mkdir(parents=True)
    table = pd.DataFrame(ROWS, dtype=object)
    table.iloc[:2].to_parquet(folder / "part-0.parquet", index=False)
    table.iloc[2:].to_parquet(folder / "day=2" / "part-1.PARQUET", index=False)
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet").write_bytes(b"a checksum")
    return folder


def test_a_directory_of_parquet_parts_is_one_table(tmp_path):
    whole = read_table(write(tmp_path / "whole.parquet", ROWS))
    found = read_table(of(parts(tmp_path / "parts.csv")))
    assert sorted(found["text"]) == sorted(whole["text"])
    assert found.set_index("text").loc["NA"].tolist() == whole.set_index("text").loc["NA"].tolist()


def test_faults_of_a_part_name_it(tmp_path):
    folder = parts(tmp_path / "parts")
    pd.DataFrame({"text": [SECRET], "client_id": ["c"]}).to_parquet(folder / "part-9.parquet")
    with refuses("parts-differ", value=str(folder / "part-9.parquet")):
        read_table(of(folder))
    (folder / "part-9.parquet").write_bytes(SECRET.encode())
    with refuses("not-parquet"):
        read_table(of(folder))
    pd.DataFrame({**ROWS, "text": [SECRET, "", "x"]}).to_parquet(folder / "part-9.parquet")
    refused(of(folder), "unusable-rows", "row 5")


def test_columns_that_divide_a_table_into_folders_are_columns(tmp_path):
    rows = pd.DataFrame(
        {"client_id": ["007", "a/b", "007", None], "text": [SECRET, "b", "c", "d"], "day": [1, 1, 2, 2]}
    )
    rows.iloc[:3].to_parquet(tmp_path / "parts", partition_cols=["client_id", "day"])
    found = read_table(of(tmp_path / "parts")).sort_values("text")
    assert found[["client_id", "text"]].to_numpy().tolist() == [["a/b", "b"], ["007", "c"], ["007", SECRET]]
    rows.to_parquet(tmp_path / "nobody", partition_cols=["client_id"])
    refused(of(tmp_path / "nobody"), "unusable-rows", "no id")
    rows.rename(columns={"client_id": "patient"}).to_parquet(tmp_path / "named", partition_cols=["patient"])
    refused(of(tmp_path / "named"), "column-may-name-clients", "'patient'")


@pytest.mark.parametrize("name", [b"pipe.parquet", b"\xff\xfe.parquet", b"gone.parquet"])
def test_a_part_that_is_no_plain_file_is_not_opened(tmp_path, name):
    folder = os.fsencode(parts(tmp_path / "parts"))
    place = os.path.join(folder, name)
    if name.startswith(b"pipe"):
        os.mkfifo(place)
    elif name.startswith(b"gone"):
        os.symlink(b"/nowhere", place)
    else:
        Path(os.fsdecode(place)).write_bytes(b"")
    with refuses("part-not-a-file"):
        read_table(of(tmp_path / "parts"))


def test_a_folder_named_as_a_file_holds_parts(tmp_path):
    pd.DataFrame(ROWS, dtype=object).to_parquet(
        parts(tmp_path / "parts" / "table.parquet") / "more.parquet", index=False
    )
    assert len(read_table(of(tmp_path / "parts"))) == 6


def test_columns_of_inner_objects_are_named_with_a_dot(tmp_path):
    rows = [{"body": {"text": f"text {i}"}, "meta": {"owner": {"client_id": i % 2}}} for i in range(4)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    inner = conf_base(Corpus, source="table", path=str(tmp_path / "a.jsonl"), text_column="body.text")
    refused(inner, "column-may-name-clients", "meta.owner.client_id")
    found = read_table(inner.model_copy(update={"client_column": "meta.owner.client_id"}))
    assert found["text"].tolist() == [f"text {i}" for i in range(4)]
    assert found["client_id"].tolist() == ["0", "1", "0", "1"]


def test_a_name_that_comes_twice_in_an_object_is_refused(tmp_path):
    rows = f'{{"client_id": "a", "text": "{SECRET}"}}\n{{"client_id": "a", "text": "x", "client_id": "b"}}\n'
    refused(raw(tmp_path / "a.jsonl", rows.encode()), "name-twice", "line 2")


@pytest.mark.parametrize(
    "heading", ["text_id", "id", "row_no", "user_agent", "patient_age", "customer_message", "review", "code"]
)
def test_other_columns_do_not_matter(tmp_path, heading):
    assert len(read_table(write(tmp_path / "a.csv", {"text": ["one", "two"], heading: ["x", "x"]}))) == 2


def test_an_owner_s_name_may_be_that_of_the_texts(tmp_path):
    rows = write(tmp_path / "a.csv", {"email": ["one", "two"]})
    assert len(read_table(rows.model_copy(update={"text_column": "email"}))) == 2


def test_a_directory_without_parts(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.csv").write_text("text")
    with refuses("directory-without-parts", parameter="corpus.path"):
        read_table(of(tmp_path / "notes"))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_lines_may_end_as_on_windows(tmp_path, suffix):
    rows = {"text": ["one", "zwei, drei", "三"], "client_id": ["x", "y", "y"]}
    plain = read_table(write(tmp_path / f"plain.{suffix}", rows))
    content = (tmp_path / f"plain.{suffix}").read_bytes().replace(b"\n", b"\r\n")
    pd.testing.assert_frame_equal(read_table(raw(tmp_path / f"windows.{suffix}", content)), plain)


def test_a_row_is_told_as_a_sheet_shows_it_where_lines_end_as_on_windows(tmp_path):
    refused(
        raw(tmp_path / "a.csv", b"text,client_id\r\none,x\r\n,y\r\n"),
        "unusable-rows",
        "row 3 of the sheet",
    )
