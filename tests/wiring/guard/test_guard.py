"""What the guard reads off functions, parameters and the catalog, and what it lets pass."""

from __future__ import annotations

import functools
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import safetensors.numpy
import yaml
from kedro.io import DataCatalog
from kedro.pipeline import node

from fedtext.corpora.clients import listed_ids
from fedtext.params.corpus import Corpus
from fedtext.params.privacy import Privacy
from fedtext.params.task import Task, parts_of
from fedtext.privacy.ledger import open_ledger
from fedtext.privacy.tags import Tag
from fedtext.system.progress import progress
from fedtext.system.refusal import RunRefusedError
from fedtext.wiring.guard import Guard, native
from fedtext.wiring.guard.bound import KnownStrings, bound_values
from fedtext.wiring.guard.catalog import is_logged, is_previewed, place
from fedtext.wiring.guard.native import NativeCall
from fedtext.wiring.guard.output_checks import count_outputs, evaluation_outputs
from fedtext.wiring.guard.parameters import copies, holders, private_files, texts, undeclared
from fedtext.wiring.guard.private_words import PrivateTextIndex
from fedtext.wiring.guard.side_effects import watched
from fedtext.wiring.guard.watch import Watch
from fedtext.wiring.own_run import RunParameters
from tests.parameters import conf_base
from tests.refusals import refuses

TEXT = "a client wrote these words, and nobody else has read them since"
HELD_OUT = {"private_test": pd.DataFrame({"text": [TEXT], "client_id": ["user-0001"], "label": ["user-0001 tea"]})}


def by(function: Any = None, *args: Any, **kwargs: Any) -> tuple[str, ...]:
    return bound_values(functools.partial(function or (lambda *a, **k: None), *args, **kwargs))


def test_settings_may_be_bound_and_data_may_not() -> None:
    assert by(None, 3, 0.5, None, True, "name", Path("/a/b"), conf_base(Corpus), ("a", {"b": [1]}), key=str) == ()
    for data, said in (
        (pd.DataFrame(), "a DataFrame"),
        (np.ones(2), "a ndarray"),
        ("word " * 30, "a text of 150 characters"),
        (["word"] * 201, "201 strings"),
        ({"a": [b"x"]}, "a bytes"),
        (sys.stdout, "a "),
    ):
        assert by(None, data)[0].startswith(said), said
        assert by(functools.partial(lambda *_: None, data))[0].startswith(said), "a partial of a partial"
        assert bound_values(lambda _=data: None)[0].startswith(said), "a default"

        def closed(x: int, data: Any = 1, *, kept: Any = None) -> Any:
            return x

        def enclosing(inside: Any = data) -> Any:
            def function() -> Any:
                return inside

            return function

        assert bound_values(closed) == ()
        assert bound_values(enclosing())[0].startswith(said), "a closure"
        assert bound_values(functools.wraps(print)(enclosing()))[0].startswith(said), "a decorator's closure"
        assert bound_values(functools.lru_cache(enclosing()))[0].startswith(said), "what a decorator decorates"
        closed.kept = data
        assert bound_values(closed)[0].startswith(said), "an attribute"


def test_a_function_that_holds_itself_is_looked_at_once() -> None:
    def around(kept: Any) -> Any:
        def function(depth: int) -> Any:
            return kept, function(depth - 1)

        return function

    assert bound_values(around(3)) == ()
    assert bound_values(around(np.ones(2))) == ("a ndarray ('kept')",)
    assert bound_values(functools.singledispatch(around(3))) == ()


def test_a_long_text_may_be_bound_if_it_is_a_parameters() -> None:
    labels = "beneficiary_not_allowed " * 10
    parameters = {"task": {"labels": labels}, "compare": {"entries": [{"params": {"noun": TEXT}}]}, "seed": 3}
    known = KnownStrings(parameters=frozenset(texts(parameters)))
    assert {labels, TEXT} <= known.parameters
    assert bound_values(functools.partial(print, {"task": {"labels": labels}}), known) == ()
    assert bound_values(functools.partial(print, f"{labels} and a client's words"), known)[0].startswith("a text of")


def test_any_number_of_parameters_may_be_bound_and_a_list_of_other_texts_may_not() -> None:
    parameters = {f"group_{i}": {f"parameter_{i}": f"value {i}"} for i in range(150)}
    known = KnownStrings(parameters=frozenset(texts(parameters)))
    assert bound_values(functools.partial(print, RunParameters(parameters)), known) == ()
    told = [f"a client's word {i}" for i in range(201)]
    for held in (told, dict.fromkeys(told, 1), {"parameter_1": told}):
        for carrier in (RunParameters({"group_1": held}), {**parameters, "group_1": held}):
            assert bound_values(functools.partial(print, carrier), known) == ("201 strings ('argument 1')",)


def test_the_path_of_a_private_file_may_not_be_bound(tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    assert bound_values(functools.partial(print, str(file)), KnownStrings(frozenset({file}))) == (
        "the path of a private file ('argument 1')",
    )


def test_parameters_of_a_run_that_is_started_may_name_a_private_file_and_nothing_else_may(tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    known = KnownStrings(frozenset({file}))
    given = {"corpus": {"path": str(file)}}
    assert bound_values(functools.partial(print, RunParameters(given)), known) == ()
    assert bound_values(functools.partial(print, given), known)[0].startswith("the path of a private file")
    assert bound_values(functools.partial(print, RunParameters({}), str(file)), known) != ()
    long = RunParameters({"corpus": {"description": "word " * 30}})
    assert bound_values(functools.partial(print, long), known)[0].startswith("a text of 150 characters")


def test_who_carries_them_opens_the_file_no_more_than_others(tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text(TEXT)
    table = {"corpus": {"source": "table", "path": str(file)}}
    guard = Guard(DataCatalog.from_config({"{default}": {"type": "MemoryDataset"}}), tmp_path / "data", table)
    started = RunParameters(table)
    reads = node(lambda _: Path(started.values["corpus"]["path"]).read_text(), "asked", "shown", name="reads")
    with refuses("private-file-by-path", value="node 'reads'") as caught:
        guard.around(reads).run({"asked": True})
    assert "notes.csv" in str(caught.value)
    starts = node(lambda _: started.write(tmp_path / "run.yml"), "asked", "shown", name="starts")
    guard.around(starts).run({"asked": True})
    assert yaml.safe_load((tmp_path / "run.yml").read_text()) == {"run": {"params": table}}


def test_parameters_that_name_files_are_declared(tmp_path: Path) -> None:
    file, copy = tmp_path / "notes.csv", tmp_path / "copy.csv"
    for one in (file, copy):
        one.write_text("text\nwords")
    table = {"corpus": {"source": "table", "path": str(file)}}
    assert undeclared(table) == []
    assert private_files(table) == {"corpus.path": file}
    assert private_files({"corpus": {"public_path": str(file)}}) == {}
    assert undeclared({"compare": {"entries": {"a": {"params": table}}}}) == []
    assert undeclared({"popri": {"prompts": str(file)}})[0].startswith("parameter 'popri.prompts' names ")
    corpus = {**table["corpus"], "public_path": str(copy)}
    assert "holds the same bytes as the private file of 'corpus.path'" in copies({"corpus": corpus})[0]
    copy.write_text("text\nother")
    assert copies({"corpus": corpus}) == []
    secret = private_files(table)
    assert list(holders(conf_base(Corpus, table["corpus"]), secret)) == ["Corpus.path"]
    assert list(holders({"a": [str(file)]}, secret)) == [""]
    assert list(holders(conf_base(Corpus, public_path=str(copy)), secret)) == []


def test_a_part_of_a_private_directory_is_a_copy_wherever_it_lies(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder in (mine, other):
        folder.mkdir()
    (mine / "part-0.parquet").write_bytes(b"one")
    (mine / "part-1.parquet").write_bytes(b"two")
    corpus = {"source": "table", "path": str(mine), "public_path": str(mine / "part-1.parquet")}
    assert len(copies({"corpus": corpus})) == 1
    (other / "part-7.parquet").write_bytes(b"two")
    for named in (str(other), f"file://{other}"):
        assert len(copies({"corpus": corpus, "dpprefsyn": {"public_pairs": named}})) == 2
        assert len(copies({"corpus": {**corpus, "public_path": named}})) == 1
    (other / "part-7.parquet").write_bytes(b"owt")
    assert copies({"corpus": {**corpus, "public_path": str(other)}}) == []
    assert private_files({"corpus": corpus}) == {"corpus.path": mine}


def test_a_node_may_know_that_there_is_a_list_of_the_enrolled_and_not_where_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "ids.txt"
    file.write_text("person-1\nperson-2")
    parameters = {"privacy": {"enrolment": str(file)}}
    privacy = conf_base(Privacy, {"epsilon": 1.0, "delta": 1e-6, **parameters["privacy"]})
    assert list(holders(privacy, private_files(parameters))) == ["EnrolmentList.path"]
    guard = Guard(DataCatalog.from_config({"{default}": {"type": "MemoryDataset"}}), tmp_path, parameters)

    def guarded(function: Callable[[Privacy], object], shown: str = "shown") -> Any:
        return guard.around(node(function, "params:privacy", shown, name="tell")).run({"params:privacy": privacy})

    ledger = guarded(lambda told: open_ledger(told, 100, []))["shown"]
    assert str(file) not in ledger.model_dump_json(), "a ledger is public"
    assert guarded(lambda told: told.enrolment is not None) == {"shown": True}
    with pytest.raises(RunRefusedError) as caught:
        guarded(lambda told: len(told.enrolment.path))
    assert "'params:privacy'" in str(caught.value)
    assert guarded(lambda told: listed_ids(told.enrolment.path), "private_ids")["private_ids"][0] == "person-1"


def test_what_is_wrapped_counts() -> None:
    inner = {"type": "kedro_mlflow.io.metrics.MlflowMetricDataset"}
    assert is_logged({"type": "CachedDataset", "dataset": inner})
    assert is_logged({"type": "a.Dataset", "dataset": {"type": "CachedDataset", "dataset": inner["type"]}})
    assert not is_logged({"type": "CachedDataset", "dataset": "a.Dataset"})
    shown = {"metadata": {"kedro-viz": {"preview": True}}}
    assert is_previewed({"metadata": {"kedro-viz": {"preview": False}}, "dataset": shown})
    assert place({"type": "PartitionedDataset", "path": "/a/../b", "dataset": "text"}) == Path("/b")
    assert place({"type": "text", "filepath": "s3://bucket/x"}) is None


def shown(value: Any) -> list[str]:
    """The codes of what is wrong with an evaluation that shows this."""
    return [fault.code for fault in evaluation_outputs(HELD_OUT, {"shown": value})]


def test_numbers_wording_and_figures_leave_an_evaluation() -> None:
    figure = go.Figure(go.Bar(x=["tea", "all others"], y=[0.2, 0.8]), layout={"title": "Words of clients"})
    for value in (1, 0.5, None, np.float32(2), {"top_1": [0.5, (1, 2)], "says": "eps = 1, n = 3 (of 7)"}, figure):
        assert shown(value) == []


def test_a_declared_label_leaves_an_evaluation_whatever_its_characters_and_whoever_has_it() -> None:
    """Banking77 has `reverted_card_payment?`; a run of hours must not end at it, nor where no held-out record has it."""
    for label in ("reverted_card_payment?", "C#", "5 €", "user-0001 tea", "Why? " * 50):
        report = {"shown": {"labels": [label], "parts": {"a": [label]}}}
        assert list(evaluation_outputs(HELD_OUT, report, {label})) == []
    assert shown({"labels": ["reverted_card_payment?"]}) == ["shows-no-numbers"]


def test_labels_are_declared_by_the_parameters_of_the_node_that_shows_them(tmp_path: Path) -> None:
    def compare(test: pd.DataFrame, task: Task) -> dict[str, Any]:
        return {"labels": [*task.labels, *parts_of(task.labels[0])], "records": len(test)}

    catalog = DataCatalog.from_config({"{default}": {"type": "MemoryDataset"}})
    shows = node(compare, ["private_test", "params:task"], "shown", name="show", tags=Tag.HELD_OUT)
    task = conf_base(Task, labels=["where is it?\t5 €", "tea"])
    given = {"private_test": HELD_OUT["private_test"].assign(label="tea"), "params:task": task}
    made = Guard(catalog, tmp_path, {}).around(shows).run(given)
    assert made["shown"] == {"labels": ["where is it?\t5 €", "tea", "where is it?", "5 €"], "records": 1}


@pytest.mark.parametrize(("clients", "leaves"), [(19, False), (20, True)])
def test_a_label_that_nobody_declared_leaves_an_evaluation_if_enough_clients_have_it(
    clients: int, leaves: bool
) -> None:
    label = "ward 7, Dr Tann"
    texts = [f"{TEXT} {one}" for one in range(40)]  # two of each client: it is not counted twice
    ids = [f"user-{one % clients:04d}" for one in range(40)]
    held_out = {"private_test": pd.DataFrame({"text": texts, "client_id": ids, "label": label})}
    faults = list(evaluation_outputs(held_out, {"shown": {"labels": ["tea", label]}}, {"tea"}))
    assert (faults == []) == leaves
    assert leaves or [fault.code for fault in faults] == ["shows-rare-label"]
    assert list(evaluation_outputs(held_out, {"shown": [label]}, {label})) == []


def test_a_rare_label_that_is_a_plain_word_leaves() -> None:
    plain = {"private_test": HELD_OUT["private_test"].assign(label="accuracy")}
    assert list(evaluation_outputs(plain, {"shown": {"measure": "accuracy"}})) == []


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (TEXT, "shows-held-out-text"),
        ({"says": TEXT[5:45]}, "shows-held-out-text"),
        (go.Figure(layout={"title": f"So: {TEXT}"}), "shows-held-out-text"),
        (go.Figure(go.Scatter(x=[1], y=[1], customdata=[[TEXT]])), "shows-held-out-text"),
        (go.Figure(layout={"annotations": [{"text": "of user-0001"}]}), "shows-client-id"),
        ({"user-0001": 1}, "shows-client-id"),
        ({"says": "new\nline"}, "shows-no-numbers"),
        ({TEXT: 1}, "shows-no-numbers"),
        (np.ones(3), "shows-no-numbers"),
        (HELD_OUT["private_test"], "shows-no-numbers"),
        (lambda: TEXT, "shows-no-numbers"),
    ],
)
def test_pieces_of_held_out_text_do_not(value: Any, code: str) -> None:
    assert shown(value) == [code]


PAIRS = pd.DataFrame({"prompt": [TEXT], "chosen": ["yes"], "rejected": ["no"], "client_id": ["anna-77"]}, dtype=object)
HOLDERS = {
    "pairs": PAIRS,
    "a column of its own": PAIRS.rename(columns={"prompt": "sentence"}),
    "a column of categories": PAIRS.astype({"prompt": "category"}),
    "a column's name": pd.DataFrame({TEXT: [1]}),
    "an index": pd.DataFrame({"n": [1]}, index=[TEXT]),
    "a series": pd.Series([TEXT]),
    "an array": np.array([[TEXT]], dtype=object),
    "a list": [TEXT],
    "the keys of a dict": {TEXT: 1},
    "the values of a dict": {"a": ({TEXT},)},
    "a model": conf_base(Task, labels=[TEXT, "tea"]),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_text_is_known_whatever_holds_it(holder: str) -> None:
    for value in (TEXT, TEXT.upper(), f"So: {TEXT[5:45]}"):
        faults = list(evaluation_outputs({"pairs.private_test": HOLDERS[holder]}, {"shown": {"worst": value}}))
        assert [fault.code for fault in faults] == ["shows-held-out-text"]


WORDS = TEXT.split()


@pytest.mark.parametrize(
    "value",
    [
        WORDS,
        WORDS[2:10],
        [f" {word}" for word in WORDS],
        [f"Ġ{word[:2]}" + word[2:] for word in WORDS],
        dict.fromkeys(word.strip(",") for word in TEXT.split()[:8]),
        [{"token": word, "loss": 0.5} for word in WORDS],
        [(word, 0.5) for word in WORDS],
        go.Figure(go.Bar(x=WORDS, y=[0.5] * len(WORDS))),
        go.Figure(go.Bar(y=[0.5], x=[0]), layout={"xaxis": {"ticktext": WORDS}}),
        go.Figure(layout={"title": TEXT.replace(" ", "<br>")}),
    ],
)
def test_a_text_that_was_cut_into_words_is_a_quotation(value: Any) -> None:
    assert "shows-held-out-text" in [one.code for one in evaluation_outputs({"private_test": [TEXT]}, {"shown": value})]


@pytest.mark.parametrize(("clients", "leaves"), [(19, False), (20, True)])
def test_a_short_category_of_many_clients_is_no_text(clients: int, leaves: bool) -> None:
    ids = [f"user-{one % clients:04d}" for one in range(40)]
    table = pd.DataFrame({"prompt": TEXT, "topic": "of tea & cups", "client_id": ids})
    assert (list(evaluation_outputs({"private_test": table}, {"shown": ["of tea & cups"]})) == []) == leaves
    assert list(evaluation_outputs({"private_test": table}, {"shown": [TEXT]})) != [], "a text stays one"


def test_names_of_fields_are_no_texts() -> None:
    counts = {"next_token_accuracy": np.ones(3), "kind": "weighted", "by_client": {"accuracy.synthetic": 1}}
    shown_too = {"next_token_accuracy": 0.5, "accuracy.synthetic": 1, "kind": "weighted"}
    assert list(evaluation_outputs({"private_counts": counts}, {"shown": shown_too})) == []


def test_many_texts_and_a_figure_of_many_strings_are_compared_in_seconds() -> None:
    """Their product is a thousand million."""
    texts = pd.DataFrame({"text": [f"what client {one} wrote of its own days and nights" for one in range(100_000)]})
    figure = go.Figure(go.Scatter(x=[1], y=[1], text=[f"point {one} of ten thousand of them" for one in range(10_000)]))
    begun = time.process_time()
    assert list(evaluation_outputs({"private_test": texts}, {"shown": figure})) == []
    assert time.process_time() - begun < 20


@pytest.mark.parametrize("held", [*HOLDERS.values()], ids=[*HOLDERS])
def test_a_name_made_of_private_text_is_known_whatever_holds_it(held: Any) -> None:
    is_private = PrivateTextIndex([held])
    assert is_private(f"{TEXT[:30]}.txt")
    assert not is_private("report.txt")


def test_a_count_is_whole_numbers_and_a_word() -> None:
    assert list(count_outputs({"population": {"units": 3, "test": None, "source": "declared"}})) == []
    for wrong in ({"units": 3.5}, {"units": "two words"}, {"a": "one", "b": "two"}, [TEXT], True):
        assert list(count_outputs({"population": wrong}))


def private_node(tmp_path: Path, **changed: Any) -> Watch:
    settings = {"who": "node 'n'", "reads_private": True, "may_read": False, "data_root": tmp_path} | changed
    return Watch(**settings)


def test_a_node_that_reads_nothing_private_writes_and_prints_as_it_likes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with watched(private_node(tmp_path, reads_private=False)):
        (tmp_path / "x").write_text("x")
        print("shown")
    assert (tmp_path / "x").read_text() == "x"
    assert "shown" in capsys.readouterr().out


def test_the_watch_ends_with_the_node_and_with_its_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), watched(private_node(tmp_path)):
        _ = 1 / 0
    (tmp_path / "x").write_text("x")
    with watched(private_node(tmp_path)):
        Path(os.devnull).write_text("nothing is kept there")
        assert (tmp_path / "x").read_text() == "x"
        with refuses("writes-itself", value="node 'n'"):
            tempfile.mkstemp()


def test_what_a_node_keeps_of_the_watch_judges_whoever_runs_when_it_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module that is first imported while a node is watched keeps the quiet streams."""
    safetensors.numpy.save_file({"x": np.zeros(2)}, tmp_path / "private_x")
    safetensors.numpy.save_file({"x": np.zeros(2)}, tmp_path / "x")
    with watched(private_node(tmp_path)):
        load_file, handler = safetensors.numpy.load_file, logging.StreamHandler()
    assert {*load_file(tmp_path / "private_x")} == {"x"}
    with watched(private_node(tmp_path, who="node 'open'", reads_private=False)):
        assert {*load_file(tmp_path / "x")} == {"x"}
        handler.emit(logging.makeLogRecord({"msg": "shown"}))
    with watched(private_node(tmp_path, who="node 'later'")):
        with refuses("private-data-set-by-path", value="node 'later'") as caught:
            load_file(tmp_path / "private_x")
        assert "/private_x" in str(caught.value)
        handler.emit(logging.makeLogRecord({"msg": TEXT}))
    assert capsys.readouterr().err == "shown\n"


def test_a_function_is_judged_under_every_name_that_a_module_has_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(source: Path, mode: str = "r") -> str:
        return f"{source.name} {mode}"

    class Reader:
        def __init__(self, source: Path) -> None:
            self.source = source

    library, importer = ModuleType("library"), ModuleType("importer")
    library.read, library.Reader, importer.read_it = read, Reader, read  # type: ignore[attr-defined]
    for module in (library, importer):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    calls = NativeCall("library", "read", 0, "source", (1, "mode")), NativeCall("library", "Reader", 0, "source")
    monkeypatch.setattr(native, "CALLS", calls)
    for _ in range(2):
        with watched(private_node(tmp_path)):
            for refused in (importer.read_it, library.read, library.Reader, Reader):
                with refuses("private-data-set-by-path"):
                    refused(source=tmp_path / "private_x")
            with refuses("writes-itself"):
                importer.read_it(tmp_path / "x", "r+")
            assert importer.read_it(tmp_path / "x") == "x r"
    assert importer.read_it(tmp_path / "private_x", "r+") == "private_x r+"
    assert importer.read_it.__wrapped__ is read, "it is wrapped once"


def test_a_private_file_is_not_opened_to_be_changed_either(tmp_path: Path) -> None:
    (private := tmp_path / "private_x.json").write_text("x")
    with watched(private_node(tmp_path, reads_private=False)), refuses("private-data-set-by-path"):
        private.open("r+")


def test_a_private_file_is_known_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "private_x.json").write_text("x")
    notes = tmp_path / "elsewhere" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("x")
    (tmp_path / "link").symlink_to("private_x.json")
    (tmp_path / "link2").symlink_to(notes)
    watch = private_node(tmp_path, private_files=frozenset({notes}))
    for path, code in (
        ("private_x.json", "private-data-set-by-path"),
        ("link", "private-data-set-by-path"),
        ("link2", "private-file-by-path"),
    ):
        with watched(watch), refuses(code) as refusal:
            (tmp_path / path).read_text()
        assert path in str(refusal.value)
    with watched(private_node(tmp_path, private_files=frozenset({notes}), may_read=True)):
        assert notes.read_text() == "x"


def test_a_private_file_gets_a_second_name_that_is_private_and_no_other(tmp_path: Path) -> None:
    """As a comparison's run does, which starts from the files of another: nothing is read."""
    (private := tmp_path / "private_x.json").write_text("x")
    (variant := tmp_path / "variant").mkdir()
    with watched(private_node(tmp_path, reads_private=False)):
        os.link(private, variant / private.name)
        for shown in (variant / "x.json", tmp_path.parent / "private_x.json"):
            with refuses("private-data-set-by-path"):
                os.link(private, shown)
        with refuses("private-data-set-by-path"):
            (variant / private.name).read_text()
    with watched(private_node(tmp_path)), refuses("side-effect"):
        os.link(private, variant / "private_y.json")


def test_progress_is_shown_where_messages_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEDTEXT_PROGRESS", "1")
    with watched(private_node(tmp_path)):
        print("hidden", file=sys.stderr)
        print("hidden", file=sys.__stderr__)
        os.write(2, b"hidden")
        assert list(progress(range(3), "batches")) == [0, 1, 2]
    shown = capfd.readouterr().err  # a file, to which nobody else could write
    assert "batches" in shown
    assert "hidden" not in shown
