"""A team's history in a real PostgreSQL: who is let in, who waits for whom, and what a lost connection leaves."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from fedtext.privacy import team_registry
from fedtext.privacy.history import HISTORY_ROOT, History, release_history
from fedtext.privacy.team_registry import TeamRegistry
from fedtext.system.refusal import RunRefusedError
from tests.postgres_server import OWNER, PASSWORD, Cutting, Server, postgres, team_database
from tests.privacy.histories import release, spent
from tests.privacy.test_data_set_budget import account, opened, run
from tests.refusals import refuses

__all__ = ["postgres", "team_database"]
ONE, TWO = (spent(release(round=t), f"receipt {t}") for t in (1, 2))
TEXTS = [f"what person number {i} wrote to somebody" for i in range(40)]
OTHERS = [text.replace("person", "client") for text in TEXTS]
KEY_FILES = team_registry.KEYS


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HISTORY_ROOT, raising=False)


@contextmanager
def as_member(state: Path) -> Iterator[None]:
    """Another member of the team, on a machine of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDTEXT_STATE", str(state))
        yield


def read(root: Path, address: str, host: str = "here", texts: list[str] = TEXTS) -> History:
    """The history of a data root in which `texts` were read."""
    history = History(root, registry=TeamRegistry(address, host))
    history.register_units([], texts)
    return history


def database_of(address: str) -> str:
    return address.rpartition("/")[2].partition("?")[0]


def test_a_member_needs_the_team_s_key_and_then_shares_its_budget(
    tmp_path: Path, team_database: str, registry_of_the_test: Path
) -> None:
    read(tmp_path / "data", team_database).add(ONE)
    elsewhere = tmp_path / "other" / "data"
    with as_member(tmp_path / "member"):
        with refuses("team-key-missing", parameter="privacy.history") as refused:
            read(elsewhere, team_database, "there")
        file = Path(str(refused.value.value))
        assert file.is_relative_to(tmp_path / "member")
        file.parent.mkdir(parents=True)
        file.write_text("00" * 32)
        with refuses("team-key-missing"):
            read(elsewhere, team_database, "there")
        (own,) = (registry_of_the_test / KEY_FILES).iterdir()
        assert own.stat().st_mode & 0o077 == 0
        shutil.copy(own, file)
        (entry,) = read(elsewhere, team_database, "there").entries()
        assert entry.elsewhere == f"here:{tmp_path / 'data'}"


def test_one_path_on_two_machines_is_two_data_roots(tmp_path: Path, team_database: str) -> None:
    read(tmp_path / "one" / "data", team_database, "here").add(ONE)
    shutil.move(tmp_path / "one", tmp_path / "gone")
    there = read(tmp_path / "one" / "data", team_database, "there")
    assert there.own() == ()
    assert [entry.elsewhere for entry in there.entries()] == [f"here:{tmp_path / 'one' / 'data'}"]


def test_one_data_root_that_two_machines_mount_is_counted_once(tmp_path: Path, team_database: str) -> None:
    read(tmp_path / "data", team_database, "here").add(ONE)
    (tmp_path / "mounted").symlink_to(tmp_path)
    there = read(tmp_path / "mounted" / "data", team_database, "there")
    there.add(TWO)
    assert [(entry.round, entry.elsewhere) for entry in there.entries()] == [(1, ""), (2, "")]
    assert len(read(tmp_path / "data", team_database, "here").entries()) == 2


def test_two_who_begin_at_the_same_time_make_one_team(tmp_path: Path, team_database: str) -> None:
    ready, made = threading.Barrier(4), []

    def begin(_: int) -> None:
        ready.wait(30)
        TeamRegistry(team_database).check()
        made.append(True)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(begin, range(4)))
    assert len(made) == 4


def test_the_database_holds_no_text_and_no_id(tmp_path: Path, postgres: Server, team_database: str) -> None:
    history = History(tmp_path, registry=TeamRegistry(team_database, "here"))
    history.register_units(["a person's own name"], TEXTS)
    history.add(ONE)
    name = database_of(team_database)
    tables = [
        table for (table,) in postgres.execute("SELECT tablename FROM pg_tables WHERE schemaname='fedtext'", name)
    ]
    assert len(tables) == 6
    rows = {table: postgres.execute(f"SELECT * FROM fedtext.{table}", name) for table in tables}
    assert [len(rows[table]) for table in ("data_set", "data_root", "data_read", "release")] == [1, 1, 1, 1]
    ((_, sketch),) = rows["data_set"]
    held = repr(rows) + bytes(sketch).decode("latin-1")
    assert not any(word in held for word in ("person", "wrote", PASSWORD))
    (key,) = (Path(os.environ["FEDTEXT_STATE"]) / KEY_FILES).iterdir()
    assert key.read_text() not in held


def test_who_waits_for_whom(tmp_path: Path, team_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge waits for those of the same people, and for nobody else's; a new data set waits for all."""
    monkeypatch.setattr(team_registry, "SETTINGS", team_registry.SETTINGS.replace("120s", "300ms"))
    mine, same = (read(tmp_path / name, team_database) for name in ("mine", "same"))
    others = read(tmp_path / "others", team_database, texts=OTHERS)
    with TeamRegistry(team_database, "here").locked([tmp_path / "mine"]):
        assert others.add(ONE)
        for asks in (lambda: same.add(ONE), lambda: read(tmp_path / "new", team_database, texts=OTHERS)):
            with refuses("team-history-busy"):
                asks()
        assert same.own() == (), "nothing of it is charged"
    assert mine.add(ONE)
    assert same.add(TWO)


def test_a_charge_is_on_the_disk_and_sees_all_before_it_whatever_the_database_s_defaults(team_database: str) -> None:
    with TeamRegistry(team_database)._transaction() as cursor:
        shown = {name: cursor.execute(f"SHOW {name}").fetchone()[0] for name in (
            "transaction_isolation", "synchronous_commit", "lock_timeout", "idle_in_transaction_session_timeout")}  # fmt: skip
    assert list(shown.values()) == ["read committed", "on", "2min", "1min"]


@pytest.mark.parametrize(
    ("statement", "arrives", "in_the_database"),
    [(b"INSERT INTO fedtext.release", False, 0), (b"COMMIT\0", False, 0), (b"COMMIT\0", True, 1)],
)
def test_a_charge_whose_connection_is_lost_counts_and_says_so(
    tmp_path: Path, postgres: Server, team_database: str, statement: bytes, arrives: bool, in_the_database: int
) -> None:
    read(tmp_path, team_database)
    cable = Cutting(postgres.port, statement, arrives=arrives)
    address = postgres.address(database_of(team_database), port=cable.port)
    history = History(tmp_path, registry=TeamRegistry(address, "here"))
    with refuses("charge-not-confirmed", parameter="privacy.history") as refused:
        history.add(ONE)
    cable.close()
    assert cable.cut.is_set()
    assert "counts as made, though nothing was released" in str(refused.value)
    assert release_history(tmp_path) == (ONE,), "charged where the run is, whatever the database has"
    count = "SELECT count(*) FROM fedtext.release"
    assert postgres.execute(count, database_of(team_database)) == [(in_the_database,)]
    again = History(tmp_path, registry=TeamRegistry(team_database, "here"))
    assert again.entries() == (ONE,)
    assert not again.add(ONE), "made again it is the same release"
    assert postgres.execute(count, database_of(team_database)) == [(1,)]


def test_what_a_colleague_spends_after_a_lost_connection_is_not_spent_twice(
    tmp_path: Path, postgres: Server, team_database: str
) -> None:
    read(tmp_path / "mine", team_database, "here")
    cable = Cutting(postgres.port, b"COMMIT\0", arrives=False)
    address = postgres.address(database_of(team_database), port=cable.port)
    with refuses("charge-not-confirmed"):
        History(tmp_path / "mine", registry=TeamRegistry(address, "here")).add(ONE)
    cable.close()
    theirs = account(tmp_path / "theirs", history=read(tmp_path / "theirs", team_database, "there"))
    run(theirs, opened())
    mine = account(tmp_path / "mine", history=read(tmp_path / "mine", team_database, "here"))
    gate = mine.guard_of("node", releases=True)
    with refuses("charge-overtaken", value=ONE.name):
        gate.admit(ONE.release, opened(), ONE.draw)
    assert [entry.elsewhere for entry in theirs.history.entries()] == [""], "what was not released is not theirs to pay"


def test_a_connection_lost_before_the_charge_charges_nothing(
    tmp_path: Path, postgres: Server, team_database: str
) -> None:
    read(tmp_path, team_database)
    cable = Cutting(postgres.port, b"pg_advisory_xact_lock", arrives=False)
    address = postgres.address(database_of(team_database), port=cable.port)
    with refuses("team-history-lost"):
        History(tmp_path, registry=TeamRegistry(address, "here")).add(ONE)
    cable.close()
    assert release_history(tmp_path) == ()


@pytest.mark.parametrize("fault", ["no server", "wrong password", "no such database"])
def test_what_is_wrong_with_a_database_is_one_sentence(
    postgres: Server, team_database: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = {
        "no server": postgres.address(port=1),
        "wrong password": team_database,
        "no such database": postgres.address("nowhere"),
    }[fault]
    if fault == "wrong password":
        monkeypatch.setenv("PGPASSWORD", "wrong-secret")
    with refuses("team-history-lost", parameter="privacy.history") as refused:
        TeamRegistry(address).check()
    assert not any(secret in str(refused.value) for secret in (PASSWORD, "wrong-secret"))
    assert "\n" not in str(refused.value)


def test_tables_and_entries_of_another_version_are_refused(
    tmp_path: Path, postgres: Server, team_database: str
) -> None:
    history = read(tmp_path, team_database)
    history.add(ONE)
    name = database_of(team_database)
    postgres.execute("UPDATE fedtext.release SET entry = '{\"later\": 1}'", name)
    with refuses("team-history-unreadable"):
        history.entries()
    postgres.execute("UPDATE fedtext.registry SET version = 2", name)
    with refuses("team-history-version", value=2):
        TeamRegistry(team_database).check()


RIGHTS = """
GRANT USAGE ON SCHEMA fedtext TO member;
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA fedtext TO member;
GRANT UPDATE (removed) ON fedtext.data_root TO member;
"""


def test_a_member_with_the_rights_that_the_docs_name_charges_and_takes_nothing_back(
    tmp_path: Path, postgres: Server, team_database: str
) -> None:
    assert RIGHTS.strip() in (Path(__file__).parents[2] / "docs/privacy/team_history.md").read_text()
    TeamRegistry(team_database).check()
    name = database_of(team_database)
    if not postgres.execute("SELECT 1 FROM pg_roles WHERE rolname = 'member'"):
        postgres.execute(f"CREATE ROLE member LOGIN PASSWORD '{PASSWORD}'")
    postgres.execute(RIGHTS, name)
    address = team_database.replace(f"{OWNER}@", "member@")
    read(tmp_path / "data", address).add(ONE)
    shutil.rmtree(tmp_path / "data")
    read(tmp_path / "data", address, texts=OTHERS)  # other people's text in its place
    assert [entry.round for entry in read(tmp_path / "second", address).entries()] == [1]
    for taken in (
        "DELETE FROM fedtext.release",
        "UPDATE fedtext.release SET entry = '{}'",
        "DROP SCHEMA fedtext CASCADE",
    ):
        with refuses("team-history-lost"), TeamRegistry(address)._transaction() as cursor:
            cursor.execute(taken)
    with refuses("team-history-lost"):
        TeamRegistry(postgres.address("postgres", "member")).check()  # may make no tables


def test_over_a_network_the_connection_is_encrypted_unless_the_address_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def mode(address: str) -> object:
        return TeamRegistry(address)._settings().get("sslmode")

    monkeypatch.delenv("PGSSLMODE", raising=False)
    assert mode("postgresql://me@db.example.org/team") == mode("postgresql://me@/team?hostaddr=10.0.0.9") == "require"
    assert mode("postgresql://me@db.example.org/team?sslmode=verify-full") == "verify-full"
    for here in ("me@localhost/team", "me@127.0.0.1:5433/team", "/team?host=/run/postgresql", "me@[::1]/team"):
        assert mode(f"postgresql://{here}") is None
    monkeypatch.setenv("PGSSLMODE", "verify-ca")
    assert mode("postgresql://me@db.example.org/team") is None


def test_a_refusal_by_who_judges_leaves_nothing(tmp_path: Path, postgres: Server, team_database: str) -> None:
    history = read(tmp_path, team_database)

    def judge() -> None:
        raise RunRefusedError("no more", code="no-more")

    with refuses("no-more"):
        history.add(ONE, judge)
    assert history.entries() == ()
    assert postgres.execute("SELECT count(*) FROM fedtext.release", database_of(team_database)) == [(0,)]
