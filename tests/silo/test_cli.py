"""The commands of the person at a silo, from an empty folder to a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fedtext.federation.inquiry import AskedQuery, Inquiry
from fedtext.federation.query import Query
from fedtext.silo.cli import LOCK, holding_folder, main
from fedtext.silo.handler import KEY, MessageHandler
from fedtext.silo.report import page
from fedtext.silo.settings import read_settings
from fedtext.system.held_locks import holding
from fedtext.system.locks import LockHeldError
from fedtext.system.refusal import RunRefusedError
from fedtext.voting.class_means import ClassMeans
from tests.refusals import faults_in, refuses
from tests.silo.examples import CODES, DIM, public_keys, silo, table


def do(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments], standalone_mode=False)


def refused(result: Result) -> str:
    assert isinstance(result.exception, RunRefusedError)
    return faults_in(result.exception)[0].code


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


INIT = ("init", "--name", "north", "--table", "of north.csv", "--population", "10")


def test_init_writes_a_whole_file_that_can_be_read(folder: Path) -> None:
    assert do(*INIT, "--epsilon", "2").exception is None
    declared = read_settings(folder / "silo.yml")
    assert (declared.name, declared.table.path, declared.protection.epsilon) == ("north", "of north.csv", 2.0)
    assert declared.link.private_key is None
    assert declared.folder == "silo-data"
    assert refused(do(*INIT)) == "silo-file-there"


def test_a_name_that_yaml_would_read_otherwise_stays_a_name(folder: Path) -> None:
    assert do("init", "--name", "no", "--table", "a: b.csv", "--population", "10").exception is None
    assert read_settings(folder / "silo.yml").name == "no"
    assert read_settings(folder / "silo.yml").table.path == "a: b.csv"


@pytest.mark.parametrize("bad", [("--epsilon", "-1"), ("--delta", "2"), ("--name", "a/b"), ("--epsilon", "nan")])
def test_init_writes_no_faulty_file(folder: Path, bad: tuple[str, str]) -> None:
    assert isinstance(do(*INIT, *bad).exception, RunRefusedError)
    assert not list(folder.iterdir())
    assert do(*INIT).exception is None


SAID = {
    "epsilon: 1.0": ("epsilon: 1.0\n  epsilon: 9.0", "unreadable-silo-file", "duplicate key epsilon in line 16"),
    'name: "north"': ("name: north\nname: south", "unreadable-silo-file", "duplicate key name in line 3"),
    "delta: 1e-05": ("deltas: 1e-05", "wrong-parameters", "did you mean 'delta'?"),
    "folder: silo-data": ("folder: silo-data\nspare: 1", "unknown-silo-value", "choose one of chunking, folder"),
    "peers: {}": ("peers: &a [*a]", "unreadable-silo-file", "holds itself"),
}


@pytest.mark.parametrize("said", SAID)
def test_a_value_that_stands_twice_or_is_misspelt_is_told(folder: Path, said: str) -> None:
    """Of two values the last counted, and a misspelt one was called its own remedy."""
    assert do(*INIT).exception is None
    other, code, told = SAID[said]
    written = (folder / "silo.yml").read_text()
    assert said in written
    (folder / "silo.yml").write_text(written.replace(said, other))
    result = do("check")
    assert isinstance(result.exception, RunRefusedError)
    assert result.exception.code == code
    assert told in str(result.exception)


NOBODYS, ANYBODYS = "00" * 32, "09" + "00" * 31


@pytest.mark.parametrize(
    ("peers", "code"),
    [
        ({"south": NOBODYS}, "peer-key-without-secret"),
        ({"south": "01" + "00" * 31}, "peer-key-without-secret"),
        ({"south": ANYBODYS, "west": ANYBODYS}, "peer-key-twice"),
        ({"south": ANYBODYS, "west": ANYBODYS[:-2] + "80"}, "peer-key-twice"),  # the same, written otherwise
    ],
)
def test_a_peer_s_key_that_is_none_or_another_s_is_refused_before_anything_is_asked(
    place: Path, monkeypatch: pytest.MonkeyPatch, peers: dict[str, str], code: str
) -> None:
    monkeypatch.chdir(place)
    declared = silo("north").model_dump(mode="json")
    declared["secure_sums"]["peers"] = peers
    Path("silo.yml").write_text(yaml.safe_dump(declared))
    assert refused(do("serve")) == code


def test_faults_of_the_table_have_the_names_of_the_silo_s_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    rows = table("north")
    rows["client_id"] = [["Ann", "ann"][at % 2] for at in range(len(rows))]
    rows.to_csv(place / "north.csv", index=False)
    declared = silo("north").model_dump(mode="json")
    declared["table"]["client_ids"] = None
    Path("silo.yml").write_text(yaml.safe_dump(declared))
    result = do("check")
    assert refused(result) == "client-ids-look-alike"
    assert "table.client_ids=folded" in str(result.exception)
    assert "corpus." not in str(result.exception)


def test_a_key_is_printed_as_the_others_files_need_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A silo may be called what YAML would read as no name."""
    assert do("init", "--name", "no", "--table", "a.csv", "--population", "10").exception is None
    printed: list[str] = []
    monkeypatch.setattr("click.echo", printed.append)
    assert do("key").exception is None
    assert list(yaml.safe_load(printed[0])) == ["no"]


def test_faults_of_the_file_are_told_by_name(folder: Path) -> None:
    with refuses("missing-silo-file"):
        read_settings(folder / "none.yml")
    (folder / "silo.yml").write_text("- a\n")
    assert refused(do("check")) == "unreadable-silo-file"
    declared = silo("north").model_dump(mode="json")
    declared["protection"]["epsilon"] = -1
    (folder / "silo.yml").write_text(yaml.safe_dump(declared))
    result = do("check")
    assert isinstance(result.exception, RunRefusedError)
    assert "epsilon" in str(result.exception)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"table": {"path": "nowhere.csv"}}, "missing-silo-table"),
        ({"folder": "south.csv"}, "silo-place-closed"),
        ({"folder": "south.csv/below"}, "silo-place-closed"),
    ],
)
def test_a_place_that_is_none_is_told_in_a_sentence(
    place: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], code: str
) -> None:
    monkeypatch.chdir(place)
    Path("silo.yml").write_text(yaml.safe_dump(silo("north", **changes).model_dump(mode="json")))
    assert refused(do("check")) == code


def test_a_damaged_secret_is_named_and_not_quoted(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    Path("silo.yml").write_text(yaml.safe_dump(silo("north").model_dump(mode="json")))
    half = (place / "north-own" / KEY).read_text()[:40]
    (place / "north-own" / KEY).write_text(half)
    for command in ("check", "key"):
        told = do(command)
        assert refused(told) == "silo-secret-damaged"
        assert half[20:] not in str(told.exception)


def test_damaged_embeddings_are_made_again(place: Path) -> None:
    handler = MessageHandler(silo("north"), place)
    (kept,) = handler.folder.glob("embeddings-*")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:100])
    assert handler.local_data().embeddings.shape[1] == DIM
    assert kept.read_bytes() == whole


def test_the_report_says_what_was_asked_answered_and_spent(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    Path("north.yml").write_text(yaml.safe_dump(silo("north").model_dump(mode="json")))
    printed: list[str] = []
    monkeypatch.setattr("click.echo", printed.append)
    assert do("report", "--settings", "north.yml").exception is None
    assert "0 of epsilon 4 is spent" in printed.pop()
    handler = MessageHandler(silo("north"), place)
    for noise in (6.0, 6.0, 0.01):
        query = Query("votes", 2, DIM * len(CODES), 1.0, noise)
        handler.reply(Inquiry(AskedQuery.of(query), ClassMeans(labels=CODES)).packed())
    assert do("report", "--settings", "north.yml").exception is None
    (page,) = printed
    assert f"{handler.spent():.4g} of epsilon 4 is spent" in page
    rows = [line for line in page.splitlines() if line.startswith("| 20")]
    assert len(rows) == 3
    assert rows[0].endswith("| answered |")
    assert rows[1].endswith("| the same as before, at no cost |")
    assert "refused" in rows[2]
    for text in table("north")["text"]:
        assert text not in page


def test_the_report_says_which_releases_other_folders_made(place: Path) -> None:
    """As of three silos on one laptop, two of which hold a text of the same person."""
    for name in ("one", "two"):
        handler = MessageHandler(silo("north", folder=name), place)
        handler.local_data()
        query = Query("votes", 2, DIM * len(CODES), 1.0, 6.0 if name == "one" else 0.01)
        handler.reply(Inquiry(AskedQuery.of(query), ClassMeans(labels=CODES)).packed())
    told = f"1 of its 1 releases were made of some of the same people's text in other folders of this user: {place}/one"
    assert told in page(silo("north", folder="two"), place / "two")
    assert "other folders" not in page(silo("north", folder="one"), place / "one")


def test_the_key_that_others_are_told_is_the_silo_s_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    Path("north.yml").write_text(yaml.safe_dump(silo("north").model_dump(mode="json")))
    Path("new.yml").write_text(yaml.safe_dump(silo("north", folder="new").model_dump(mode="json")))
    printed: list[str] = []
    monkeypatch.setattr("click.echo", printed.append)
    with holding_folder(place / "north-own"):  # while the silo answers
        assert do("key", "--settings", "north.yml").exception is None
    assert yaml.safe_load(printed[0]) == {"north": public_keys(place)["north"]}
    for _ in range(2):
        assert do("key", "--settings", "new.yml").exception is None
    assert printed[1] == printed[2] != printed[0]


def test_one_process_a_folder(place: Path) -> None:
    folder = place / "north-own"
    with holding_folder(folder), pytest.raises(LockHeldError), holding(folder / LOCK):
        pass
