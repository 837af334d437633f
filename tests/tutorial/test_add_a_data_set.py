"""docs/tutorial_add_a_data_set.md: its files, in a copy of the project, are a source of records."""

from __future__ import annotations

from pathlib import Path

from tests.tutorial.pages import files, run

PAGE = "tutorial_add_a_data_set.md"
READ = """
from pathlib import Path

from fedtext.corpora.published.loader import read_published
from fedtext.params.corpus import Corpus
from fedtext.pipelines.report.nodes import CORPORA
from fedtext.system.errors import InputError
from tests.parameters import conf_base

path = Path("train.label")


def read(text):
    path.write_bytes(text.encode("latin-1"))
    return read_published(conf_base(Corpus, source="trec", path=str(path)))


records = read("DESC:manner How did it begin ?\\nLOC:city Where is Malm\\xf6 ?\\nLOC:other Where does it end ?\\n")
assert records["text"].tolist() == ["How did it begin ?", "Where is Malm\\xf6 ?", "Where does it end ?"]
assert records["label"].tolist() == ["DESC", "LOC", "LOC"]
assert records["client_id"].nunique() == 3
again = read("LOC:city Where is Malm\\xf6 ?\\nDESC:manner Why ?\\n")
assert again["client_id"][0] == records["client_id"][1], "another record changed a client's id"
assert not conf_base(Corpus, source="trec", path="x").is_public
assert CORPORA["trec"] == "TREC's questions"
try:
    read("DESC:manner How did it begin ?\\nno class\\n")
except InputError as error:
    assert "line 2: no class and question" in str(error), error
    assert "lines of a class and a question" in str(error), error
else:
    raise AssertionError("a file of another form was read")
print("as the page says")
"""


def test_it_touches_three_files_at_most() -> None:
    assert len(files(PAGE)) <= 3


def test_the_files_read_as_the_project_s_own(project: Path) -> None:
    written = [one.path for one in files(PAGE)]
    run(project, "ruff", "check", *written)
    run(project, "ruff", "format", "--check", *written)


def test_it_is_read_and_a_file_of_another_form_is_refused(project: Path) -> None:
    (project / "read.py").write_text(READ)
    assert "as the page says" in run(project, "read")
